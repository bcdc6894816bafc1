"""Runs: what was intended, and what became of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter

from ledgermail.book import RUNS
from ledgermail.delivery import Status
from ledgermail.ledger import DELIVERIES
from ledgermail.log import log
from ledgermail.run import State
from ledgermail.store import TROUBLE, Snapshot, call, count_of, ledger_errors, read_at

FILLING = timedelta(days=2)  # a book that was opened less than this ago may still get deliveries
MISSED_KEPT = timedelta(days=30)  # a run that was never made is all that says so


@dataclass(frozen=True)
class RunCounts:
    """One run at one moment. `intended` and `pruned` are the run's own account, `statuses` a count of the ledger."""

    run_key: str
    mailing: str
    state: str | None  # of a digest's run; a book of alerts is open for a day, and has none
    opened_at: datetime
    intended: int
    pruned: int
    duplicates: int  # matches of deliveries that existed already
    statuses: Mapping[Status, int]

    @property
    def holds(self) -> bool:
        """The identity: intended = pending + in_flight + accepted + terminal others + pruned.

        What a run under planning intends is not fixed yet.
        """
        accounted = sum(self.statuses.values()) + self.pruned
        return self.state == State.PLANNING or self.intended == accounted


class Runs:
    """The runs in Firestore. Every method raises LedgerUnavailable."""

    def __init__(self, client: firestore.Client) -> None:
        self._client = client
        self._runs = client.collection(RUNS)

    def since(self, opened_at: datetime, limit: int) -> list[RunCounts]:
        """The runs opened since then, newest first, each counted at one moment: one read and nine counts a run."""
        query = self._runs.where(filter=FieldFilter("opened_at", ">=", opened_at))
        with ledger_errors("read runs"):
            newest = query.order_by("opened_at", direction=firestore.Query.DESCENDING).limit(limit).stream(**call())
            return [self._count(run) for run in newest]

    def count(self, run_key: str, status: Status, *, at: datetime | None = None) -> int:
        """How many deliveries of a run have this status, now or at that time; one read per thousand."""
        query = self._client.collection(DELIVERIES).where(filter=FieldFilter("run_key", "==", run_key))
        query = query.where(filter=FieldFilter("status", "==", status))
        with ledger_errors("count a run's deliveries"):
            return count_of(query.count().get(read_time=at, **call()))

    def delete_emptied(self, now: datetime) -> int:
        """Delete the runs of past days whose deliveries were all pruned; how many.

        Looks only at runs that a prune has touched, so that one whose pruner died is found by the next.
        """
        with ledger_errors("read pruned runs"):
            pruned = list(self._runs.order_by("pruning_at").stream(**call()))
        return sum(self._delete(run) for run in pruned if _is_emptied(run, now))

    def _delete(self, run: Snapshot) -> bool:
        option = self._client.write_option(last_update_time=run.update_time)
        try:
            run.reference.delete(option=option, **call())
        except TROUBLE as error:
            log("run.not_deleted", severity="WARNING", run_key=run.id, error=type(error).__name__)
            return False
        return True

    def _count(self, run: Snapshot) -> RunCounts:
        statuses = {status: self._of_status(run, status) for status in Status}
        return RunCounts(
            run_key=run.id,
            mailing=str((run.to_dict() or {}).get("mailing")),
            state=(run.to_dict() or {}).get("state"),
            opened_at=(run.to_dict() or {})["opened_at"],
            intended=_number(run, "intended"),
            pruned=_number(run, "pruned"),
            duplicates=_number(run, "duplicates"),
            statuses=statuses,
        )

    def _of_status(self, run: Snapshot, status: Status) -> int:
        """Counted as of the moment the run was read: deliveries on their way would else be seen twice, or not at all."""
        return self.count(run.id, status, at=read_at(run))


def _is_emptied(run: Snapshot, now: datetime) -> bool:
    """Whether all that it intended is gone. One that was never opened was only counted for: its delivery is gone, too."""
    opened_at: datetime | None = (run.to_dict() or {}).get("opened_at")
    kept = MISSED_KEPT if (run.to_dict() or {}).get("state") == State.MISSED else FILLING
    filling = opened_at is not None and opened_at >= now - kept
    return _number(run, "pruned") >= _number(run, "intended") and not filling


def _number(run: Snapshot, name: str) -> int:
    value: Any = (run.to_dict() or {}).get(name, 0)
    return int(value)
