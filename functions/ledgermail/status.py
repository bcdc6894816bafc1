"""Status: what became of every obligation of late, and whether the promise is kept."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter

from ledgermail.book import Books
from ledgermail.clock import Clock
from ledgermail.gate import Gates
from ledgermail.ledger import DELIVERIES
from ledgermail.mailing import Mailing
from ledgermail.matches import Matches
from ledgermail.run import State
from ledgermail.runs import RunCounts, Runs
from ledgermail.store import call, ledger_errors

SHOWN_RUNS = 8  # the newest: nine counts each
MOST_IN = 30  # values of one `in`, by Firestore
SHOWN_DAYS = timedelta(days=2)


@dataclass(frozen=True, kw_only=True)
class Statuses:
    """What a status report is read from."""

    client: firestore.Client
    runs: Runs
    books: Books
    matches: Matches
    gates: Gates
    mailings: Mapping[str, Mailing]
    clock: Clock
    shards: int

    def report(self, shown_runs: int = SHOWN_RUNS) -> tuple[dict[str, Any], bool]:
        """The report as JSON can hold it, and whether all is well. Raises LedgerUnavailable.

        Not well is: an identity that does not hold, or an unfinished delivery, or a match that no scan has read, older than
        its mailing promises. Without runs it costs a read a mailing, two a scan and one, and the identity is not looked at.
        """
        now = self.clock.now()
        runs = self.runs.since(now - SHOWN_DAYS, shown_runs) if shown_runs else []
        ages = {name: self._oldest_age(name, now) for name in self.mailings}
        late = [name for name, age in ages.items() if age is not None and age > self.mailings[name].promise]
        unread = {
            name: age for name, mailing in self.mailings.items() if (age := self._unread_age(mailing, now)) is not None
        }
        waiting = [name for name, age in unread.items() if age > self.mailings[name].promise]
        gate = self.gates.read()
        problems = [f"{run.run_key}: the identity does not hold" for run in runs if not run.holds]
        problems += [
            f"{name}: the oldest unfinished delivery is older than {self.mailings[name].promise}" for name in late
        ]
        problems += [f"{run.run_key}: is still being planned" for run in runs if self._is_stuck(run, now)]
        problems += [f"{name}: the oldest match that no scan has read is older than that" for name in waiting]
        return {
            "healthy": not problems,
            "problems": problems,
            "identity": _identity(runs) if shown_runs else "not counted",
            "held_back": {"paused": gate.paused, "until": _text(gate.open_until), "reason": gate.reason},
            "oldest_unfinished_seconds": {
                name: None if age is None else age.total_seconds() for name, age in ages.items()
            },
            "oldest_unread_match_seconds": {name: age.total_seconds() for name, age in unread.items()},
            "runs": [_run(run) for run in runs],
        }, not problems

    def _oldest_age(self, mailing: str, now: datetime) -> timedelta | None:
        """How long ago the oldest unfinished delivery of a mailing was due: one read."""
        asked = [range(first, min(first + MOST_IN, self.shards)) for first in range(0, self.shards, MOST_IN)]
        dues = [due for shards in asked if (due := self.oldest_due(mailing, *shards)) is not None]
        return max(now - min(dues), timedelta()) if dues else None

    def _is_stuck(self, run: RunCounts, now: datetime) -> bool:
        """Whether planning a run takes longer than its mailing promises, or nobody plans it any more."""
        mailing = self.mailings.get(run.mailing)
        promise = mailing.promise if mailing else timedelta()
        return run.state == State.PLANNING and now - run.opened_at > promise

    def _unread_age(self, mailing: Mailing, now: datetime) -> timedelta | None:
        """How old the first match after the scan's cursor is; two reads. None where there is none, or nothing is scanned."""
        if mailing.schedule is not None:
            return None
        book = self.books.read(f"scan:{mailing.name}")
        after = self.matches.after(book.at or now - mailing.max_age, book.match_id, before=now, limit=1)
        return now - after[0][1]["matched_at"] if after else None

    def oldest_due(self, mailing: str, *shards: int) -> datetime | None:
        """When the oldest unfinished delivery of a mailing in these shards was due, at most 30 of them; one read."""
        query = self.client.collection(DELIVERIES).where(filter=FieldFilter("mailing", "==", mailing))
        query = query.where(filter=FieldFilter("shard", "in", shards)).order_by("unfinished_since").limit(1)
        with ledger_errors("read the oldest"):
            for snapshot in query.stream(**call()):
                due: datetime = (snapshot.to_dict() or {})["unfinished_since"]
                return due
        return None


def _run(run: RunCounts) -> dict[str, Any]:
    return {
        "run_key": run.run_key,
        "mailing": run.mailing,
        "state": run.state,
        "intended": run.intended,
        **{str(status): count for status, count in run.statuses.items()},
        "pruned": run.pruned,
        "duplicates_suppressed": run.duplicates,
        "identity": _identity([run]),
    }


def _identity(runs: Iterable[RunCounts]) -> str:
    return "holds" if all(run.holds for run in runs) else "broken"


def _text(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
