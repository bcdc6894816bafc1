"""Read `matches`, which the adopter's matcher writes, in the order (matched_at, id)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter

from ledgermail.ledger import ids
from ledgermail.store import Snapshot, call, count_of, ledger_errors

MATCHES = "matches"
PAGE = 200  # matches a page and so a commit: about 200 KB, and two writes of overhead for 200
NEWEST = 200  # of a user's matches are looked through where a job cannot be asked for

Document = tuple[str, Mapping[str, Any]]


class Matches:
    """The collection. Both methods raise LedgerUnavailable when Firestore gives no usable answer."""

    def __init__(self, client: firestore.Client) -> None:
        self._matches = client.collection(MATCHES)

    def after(self, at: datetime, match_id: str, *, before: datetime, limit: int = PAGE) -> list[Document]:
        """Up to a page of (id, document) after this position and before that time; without an id, from `at` on."""
        ordered = self._between(at, before).order_by("matched_at").order_by("__name__").limit(limit)
        if match_id:
            ordered = ordered.start_after({"matched_at": at, "__name__": self._matches.document(match_id)})
        with ledger_errors("read matches"):
            return [(snapshot.id, snapshot.to_dict() or {}) for snapshot in ordered.stream(**call())]

    def count(self, start: datetime, before: datetime) -> int:
        """How many there are from `start` on and before that time; one billed read per thousand."""
        with ledger_errors("count matches"):
            return count_of(self._between(start, before).count().get(**call()))

    def _between(self, start: datetime, before: datetime) -> firestore.Query:
        late_enough = self._matches.where(filter=FieldFilter("matched_at", ">=", start))
        return late_enough.where(filter=FieldFilter("matched_at", "<", before))


def of_job(client: firestore.Client, user_id: str, job_id: str, limit: int) -> list[Snapshot]:
    """What may be a user's matches with this job; as many reads. The caller looks at their job: its id may be too long to be
    asked for, and then these are the user's newest. Raises LedgerUnavailable.
    """
    query = client.collection(MATCHES).where(filter=FieldFilter("user_id", "==", user_id))
    if ids.can_be_asked_for(job_id):
        query = query.where(filter=FieldFilter("job_id", "==", job_id)).limit(limit)
    else:
        query = query.order_by("matched_at", direction=firestore.Query.DESCENDING).limit(NEWEST)
    with ledger_errors("read a job's matches"):
        return list(query.stream(**call()))
