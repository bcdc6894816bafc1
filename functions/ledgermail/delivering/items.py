"""What a mail is about: an alert's job, a digest's matches of its period, a report's rows. Read once, then frozen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate
from typing import Any

from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter

from ledgermail.errors import ContentChanged, ContentError, InvalidDocument
from ledgermail.ledger.delivery import Content, Delivery
from ledgermail.planning.matches import MATCHES, Document, of_job
from ledgermail.planning.page import as_json, content_hash, read_matches
from ledgermail.planning.reports import Reports
from ledgermail.store import call, count_of, ledger_errors

MOST_FROZEN = 200  # matches of a digest that are kept with it, the newest; of more only the number
FROZEN_CHARS = 300_000  # of them as JSON: in Firestore it may be nearly three times as much, of 1 MiB


@dataclass(frozen=True)
class Found:
    """The content to render, the order of its columns if it names one, and what of it is to be frozen with the claim."""

    content: Content
    columns: Sequence[str] = ()
    frozen: Content | None = None


class Items:
    """Items in Firestore. Raises LedgerUnavailable."""

    def __init__(self, client: firestore.Client, reports: Reports) -> None:
        self._client = client
        self._matches = client.collection(MATCHES)
        self._reports = reports

    def of(self, delivery: Delivery) -> Found | None:
        """The items of a delivery; None when there is nothing to say. Frozen ones are not read again.

        Raises ContentError when a report is not the one that was frozen, or is none.
        """
        if delivery.content is not None and delivery.content.items:
            return Found(delivery.content, frozen=delivery.content)
        if delivery.topic is not None and delivery.version is not None:
            return self._report(delivery, delivery.topic, delivery.version)
        return self._digest(delivery) if delivery.period_end else self._alert(delivery)

    def newest(self, user_id: str, start: datetime | None, before: datetime | None) -> tuple[list[Document], int]:
        """A user's newest matches from `start` on and before that time, by id, and where there may be more, how many."""
        query = self._matches.where(filter=FieldFilter("user_id", "==", user_id))
        query = query.where(filter=FieldFilter("matched_at", ">=", start))
        query = query.where(filter=FieldFilter("matched_at", "<", before))
        query = query.order_by("matched_at", direction=firestore.Query.DESCENDING)
        with ledger_errors("read the period's matches"):
            found: list[Document] = [(s.id, s.to_dict() or {}) for s in query.limit(MOST_FROZEN).stream(**call())]
            return found, count_of(query.count().get(**call())) if len(found) == MOST_FROZEN else 0

    def _report(self, delivery: Delivery, topic: str, version: str) -> Found | None:
        """A version is immutable, and so is not copied: its hash alone is frozen, and holds it to that."""
        document = self._reports.version(topic, version)
        rows = (document or {}).get("rows")
        if document is None or not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise ContentError(f"reports/{topic}/versions/{version}: rows: must be a list of maps")
        if not rows:
            return None
        try:
            content = Content(hash=content_hash(rows), items=tuple(rows), total=len(rows))
        except InvalidDocument as error:
            raise ContentError(f"reports/{topic}/versions/{version}: rows: {error}") from error
        if delivery.content is not None and delivery.content.hash != content.hash:
            raise ContentChanged(
                f"reports/{topic}/versions/{version}: content.hash: is not the version that was frozen"
            )
        return Found(content, _columns(document), Content(hash=content.hash, total=content.total))

    def _alert(self, delivery: Delivery) -> Found | None:
        """The job of an alert that was opened again: what was frozen went when it ended. None when its match went, too."""
        found = of_job(self._client, delivery.user_id, delivery.subject, limit=1)
        matches, _ = read_matches([(s.id, s.to_dict() or {}) for s in found])
        match = next((match for match in matches if match.job_id == delivery.subject), None)
        if match is None:
            return None
        items = ({**match.job, "job_id": match.job_id},)
        content = Content(hash=content_hash(items), items=items)
        return Found(content, frozen=content)

    def _digest(self, delivery: Delivery) -> Found | None:
        """The user's matches in [period_start, period_end), the newest first, each job once."""
        found, total = self.newest(delivery.user_id, delivery.period_start, delivery.period_end)
        matches, _ = read_matches(found)
        jobs = {match.job_id: {**match.job, "job_id": match.job_id} for match in reversed(matches)}
        items = _fitting(tuple(reversed(jobs.values())))
        if not items:
            return None
        content = Content(hash=content_hash(items), items=items, total=max(total, len(jobs)))
        return Found(content, frozen=content)


def _fitting(items: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """The first of them, as many as a document can hold; one always fits (JOB_CHARS)."""
    sizes = accumulate(len(as_json(item)) for item in items)
    return tuple(item for item, size in zip(items, sizes, strict=True) if size <= FROZEN_CHARS)


def _columns(document: Mapping[str, Any]) -> Sequence[str]:
    columns = document.get("columns")
    return [str(column) for column in columns] if isinstance(columns, list) else ()
