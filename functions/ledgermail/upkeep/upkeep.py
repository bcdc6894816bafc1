"""The upkeep's queries and its one bulk write. Both indexes are (shard, time): each shard is read in order, by cursor."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter

from ledgermail.errors import LedgerUnavailable
from ledgermail.ledger.delivery import Status
from ledgermail.ledger.ledger import DELIVERIES
from ledgermail.planning.book import RUNS
from ledgermail.store import TROUBLE, Snapshot, call, ledger_errors

PAGE = 200  # documents a query, and deletes a commit
PRUNES = "prunes"
NAME = re.compile(r"(?!__|\.{1,2}$)[\w.%~:-]{1,500}", re.ASCII)  # of a mailing, a status, a run
COMMIT_TRIES = 4


@dataclass(frozen=True)
class Position:
    """Where a pass over a shard stands: the time and the id of the last document read."""

    at: datetime
    delivery_id: str

    @classmethod
    def of(cls, page: Sequence[Snapshot], field: str) -> "Position | None":
        """Behind the last document of a page that was read in the order of this field."""
        return cls((page[-1].to_dict() or {})[field], page[-1].id) if page else None


class Upkeep:
    """What sweep, prune and status read of the ledger. Every method raises LedgerUnavailable."""

    def __init__(self, client: firestore.Client) -> None:
        self._client = client
        self._deliveries = client.collection(DELIVERIES)

    def overdue(
        self, shard: int, now: datetime, after: Position | None, *, only: Status | None = None
    ) -> list[Snapshot]:
        """A page of unfinished deliveries whose wake_at has come."""
        query = self._shard(shard)
        if only is not None:
            query = query.where(filter=FieldFilter("status", "==", only))
        return self._page(query, "wake_at", now, after)

    def prunable(self, shard: int, now: datetime, after: Position | None) -> list[Snapshot]:
        """A page of finished deliveries whose prune_at has come."""
        return self._page(self._shard(shard), "prune_at", now, after)

    def delete(self, prune_id: str, page: Sequence[Snapshot]) -> int:
        """Delete a page in one commit with its audit and the runs' `pruned` counts, and return how many that were.

        A document that was written since it was read stays, and the rest goes. The audit is exact; the returned count leaves
        out a commit whose answer was lost.
        """
        for _ in range(COMMIT_TRIES):
            if not page:
                return 0
            try:
                self._commit(prune_id, page)
            except TROUBLE:
                page = self._unchanged(page)  # none is left where the commit was applied and only its answer lost
            else:
                return len(page)
        raise LedgerUnavailable(f"prune: no commit came through in {COMMIT_TRIES} tries")

    def _commit(self, prune_id: str, page: Sequence[Snapshot]) -> None:
        batch = self._client.batch()
        for snapshot in page:
            batch.delete(snapshot.reference, option=self._client.write_option(last_update_time=snapshot.update_time))
        for run_key, count in Counter(field(snapshot, "run_key") for snapshot in page).items():
            counts = {"pruned": firestore.Increment(count), "pruning_at": firestore.SERVER_TIMESTAMP}
            batch.set(self._client.collection(RUNS).document(run_key), counts, merge=True)
        batch.set(self._client.collection(PRUNES).document(prune_id), audit(page), merge=True)
        batch.commit(**call())

    def _unchanged(self, page: Sequence[Snapshot]) -> list[Snapshot]:
        read = {snapshot.id: snapshot for snapshot in page}
        with ledger_errors("read again"):
            now = self._client.get_all([s.reference for s in page], field_paths=["status"], **call())
            return [read[s.id] for s in now if s.exists and s.update_time == read[s.id].update_time]

    def _shard(self, shard: int) -> firestore.Query:
        return self._deliveries.where(filter=FieldFilter("shard", "==", shard))

    def _page(self, query: firestore.Query, field: str, now: datetime, after: Position | None) -> list[Snapshot]:
        query = query.where(filter=FieldFilter(field, "<=", now)).order_by(field).order_by("__name__").limit(PAGE)
        if after is not None:
            query = query.start_after({field: after.at, "__name__": self._deliveries.document(after.delivery_id)})
        with ledger_errors(f"read by {field}"):
            return list(query.stream(**call()))


def audit(page: Sequence[Snapshot]) -> dict[str, Any]:
    """What a page of deleted deliveries adds to the audit: counts by mailing and status."""
    counts: dict[str, dict[str, Any]] = {}
    for (mailing, status), count in count_by(page).items():
        counts.setdefault(mailing, {})[status] = firestore.Increment(count)
    return {"deleted": firestore.Increment(len(page)), "counts": counts, "last_at": firestore.SERVER_TIMESTAMP}


def count_by(page: Sequence[Snapshot]) -> Mapping[tuple[str, str], int]:
    """How many of these there are by (mailing, status)."""
    return Counter((field(snapshot, "mailing"), field(snapshot, "status")) for snapshot in page)


def field(snapshot: Snapshot, name: str) -> str:
    """A field that names something; "invalid" for what a broken document has there, which may fit no field and no id."""
    value = (snapshot.to_dict() or {}).get(name)
    return value if isinstance(value, str) and NAME.fullmatch(value) else "invalid"
