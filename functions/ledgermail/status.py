"""Status: what became of every obligation of late, and whether the promise is kept."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter

from ledgermail.clock import Clock
from ledgermail.gate import Gates
from ledgermail.ledger import DELIVERIES
from ledgermail.mailing import Mailing
from ledgermail.runs import RunCounts, Runs
from ledgermail.store import call, ledger_errors

SHOWN_RUNS = 8  # the newest: nine counts each
SHOWN_DAYS = timedelta(days=2)


@dataclass(frozen=True, kw_only=True)
class Statuses:
    """What a status report is read from."""

    client: firestore.Client
    runs: Runs
    gates: Gates
    mailings: Mapping[str, Mailing]
    clock: Clock
    shards: int

    def report(self) -> tuple[dict[str, Any], bool]:
        """The report as JSON can hold it, and whether all is well. Raises LedgerUnavailable.

        Not well is: an identity that does not hold, or an unfinished delivery older than its mailing promises.
        """
        now = self.clock.now()
        runs = self.runs.since(now - SHOWN_DAYS, SHOWN_RUNS)
        ages = {name: self._oldest_age(name, now) for name in self.mailings}
        late = [name for name, age in ages.items() if age is not None and age > self.mailings[name].promise]
        gate = self.gates.read()
        problems = [f"{run.run_key}: the identity does not hold" for run in runs if not run.holds]
        problems += [
            f"{name}: the oldest unfinished delivery is older than {self.mailings[name].promise}" for name in late
        ]
        return {
            "healthy": not problems,
            "problems": problems,
            "held_back": {"paused": gate.paused, "until": _text(gate.open_until), "reason": gate.reason},
            "oldest_unfinished_seconds": {
                name: None if age is None else age.total_seconds() for name, age in ages.items()
            },
            "runs": [_run(run) for run in runs],
        }, not problems

    def _oldest_age(self, mailing: str, now: datetime) -> timedelta | None:
        """How long ago the oldest unfinished delivery of a mailing was due: one read a shard."""
        dues = [due for shard in range(self.shards) if (due := self._oldest_due(mailing, shard)) is not None]
        return max(now - min(dues), timedelta()) if dues else None

    def _oldest_due(self, mailing: str, shard: int) -> datetime | None:
        query = self.client.collection(DELIVERIES).where(filter=FieldFilter("mailing", "==", mailing))
        query = query.where(filter=FieldFilter("shard", "==", shard)).order_by("unfinished_since").limit(1)
        with ledger_errors("read the oldest"):
            for snapshot in query.stream(**call()):
                due: datetime = (snapshot.to_dict() or {})["unfinished_since"]
                return due
        return None


def _run(run: RunCounts) -> dict[str, Any]:
    return {
        "run_key": run.run_key,
        "mailing": run.mailing,
        "intended": run.intended,
        **{str(status): count for status, count in run.statuses.items()},
        "pruned": run.pruned,
        "duplicates_suppressed": run.duplicates,
        "identity": "holds" if run.holds else "broken",
    }


def _text(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
