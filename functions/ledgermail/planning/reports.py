"""Reports, which the adopter writes: `reports/{topic}/versions/{version}`, immutable, with `published_at` and `rows`."""

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter

from ledgermail.store import call, ledger_errors

REPORTS = "reports"
VERSIONS = "versions"
KEPT = 32  # versions an instance keeps: a run's deliveries come together, and all read the same one


class Reports:
    """Reports in Firestore. Every method raises LedgerUnavailable."""

    def __init__(self, client: firestore.Client) -> None:
        self._reports = client.collection(REPORTS)
        self.version = lru_cache(maxsize=KEPT)(self._version)

    def topics(self) -> list[str]:
        """Every topic that has a report, also where only its versions exist; one read each."""
        with ledger_errors("read topics"):
            return sorted(reference.id for reference in self._reports.list_documents(**call()))

    def newest(self, topic: str, start: datetime, before: datetime) -> str | None:
        """The version that was published last from `start` on and before that time; one read."""
        query = (
            self._reports.document(topic).collection(VERSIONS).where(filter=FieldFilter("published_at", ">=", start))
        )
        query = query.where(filter=FieldFilter("published_at", "<=", before))
        newest = query.order_by("published_at", direction=firestore.Query.DESCENDING).limit(1).select([])
        with ledger_errors("read the newest version"):
            return next((snapshot.id for snapshot in newest.stream(**call())), None)

    def _version(self, topic: str, version: str) -> Mapping[str, Any] | None:
        """A version's document, read once an instance; None where there is none."""
        with ledger_errors("read a version"):
            document: Mapping[str, Any] | None = (
                self._reports.document(topic).collection(VERSIONS).document(version).get(**call()).to_dict()
            )
            return document
