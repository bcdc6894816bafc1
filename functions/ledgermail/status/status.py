"""Status: what became of every obligation of late, whether the promise is kept, and what it cost to find out.

A whole report costs a bounded number of reads (at most `MOST_READS`) and one for each thousand deliveries that it counts:
the runs since yesterday, newest first, and the run of each mailing's oldest unfinished delivery, whenever that was opened.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from ledgermail.clock import Clock
from ledgermail.delivering.gate import Gates
from ledgermail.mailing import Mailing
from ledgermail.planning.run import Run
from ledgermail.planning.runs import Account, RunCounts, Runs
from ledgermail.status.ages import Ages
from ledgermail.status.bill import Bill
from ledgermail.status.expected import Expected, Planned
from ledgermail.status.health import Problem, Seen, problems
from ledgermail.status.samples import Figures, Samples, figures

SHOWN_RUNS = 20  # the newest; of many small cohorts there may be more
COUNTS_A_RUN = 3  # on average: many take two, and what they leave goes to the others; when all are used, one a run
MOST_RUNS = 1_000  # that may be asked for
MOST_READS = 200  # with SHOWN_RUNS, six mailings and all well; each thousand deliveries that are counted is one more
IDENTITY_GRACE = timedelta(minutes=10)  # within the hour for which Firestore still knows how things were
MOST_RECOUNTED = 3  # runs whose identity does not hold that are looked at as they were then: one is enough to say so


@dataclass(frozen=True, kw_only=True)
class StatusReport:
    """A report. Without runs the identity is not looked at, nothing is counted, and there are no figures."""

    seen: Seen
    problems: Sequence[Problem]
    reads: int
    since: datetime | None = None  # runs opened since then
    shown_all: bool = True  # whether these are all, and all were counted by status
    older: Mapping[str, int] = field(default_factory=dict)  # unfinished deliveries due before that, by mailing
    figures: Mapping[str, Figures] = field(default_factory=dict)  # by mailing, of what was finished of late

    @property
    def healthy(self) -> bool:
        """Whether the promise is kept."""
        return not self.problems

    @property
    def identity(self) -> str:
        """Either "holds", "broken" for longer than the grace, "unsettled" if it may be a moment's, or "not counted"."""
        if self.since is None:
            return "not counted"
        if self.seen.broken:
            return "broken"
        return "holds" if all(counts.holds for counts in self.seen.counts) else "unsettled"


@dataclass(frozen=True, kw_only=True)
class Statuses:
    """What a status report is read from."""

    runs: Runs
    ages: Ages
    expected: Expected
    samples: Samples
    gates: Gates
    mailings: Mapping[str, Mailing]
    clock: Clock

    def report(self, shown_runs: int = SHOWN_RUNS) -> StatusReport:
        """Read and judge. Raises LedgerUnavailable.

        Without runs it costs a read a mailing, two a scan, one a mailing with a schedule, and one.
        """
        now, bill = self.clock.now(), Bill()
        planned = [self.expected.planned(mailing, bill) for mailing in self._scheduled()]
        seen = self._seen(now, planned, bill)
        if not shown_runs:
            return StatusReport(seen=seen, problems=problems(seen, self.mailings), reads=bill.reads)
        since = _yesterday(now)
        accounts = self._accounts(since, shown_runs, seen, bill)
        counts = self._counted(accounts, COUNTS_A_RUN * shown_runs, bill)
        seen = replace(
            seen,
            gone=self._gone(planned, accounts, since, now, bill),
            counts=counts,
            broken=self._broken(counts, bill),
        )
        return StatusReport(
            seen=seen,
            problems=problems(seen, self.mailings),
            since=since,
            shown_all=len(accounts) < shown_runs and all(run.statuses for run in counts),
            older=self._older(since, seen, bill),
            figures=self._figures(now, bill),
            reads=bill.reads,
        )

    def _scheduled(self) -> list[Mailing]:
        return [mailing for mailing in self.mailings.values() if mailing.schedule is not None]

    def _seen(self, now: datetime, planned: Sequence[tuple[Mailing, Planned]], bill: Bill) -> Seen:
        """What is worth a look every few minutes."""
        bill.one()
        gate = self.gates.fetch()
        unread = {name: self.ages.unread(mailing, now, bill) for name, mailing in self.mailings.items()}
        overdue = [self.expected.never_made(mailing, known, now, bill) for mailing, known in planned]
        return Seen(
            now=now,
            gate=gate,
            oldest={name: self.ages.oldest(name, bill) for name in self.mailings},
            unread={name: age for name, age in unread.items() if age is not None},
            never_made=[run for runs in overdue for run in runs],
        )

    def _accounts(self, since: datetime, shown_runs: int, seen: Seen, bill: Bill) -> list[Account]:
        """The newest runs, and before them those of the oldest unfinished deliveries, where these were opened earlier."""
        newest = self.runs.accounts(since, shown_runs, bill)
        known = {account.run_key for account in newest}
        at = newest[0].read_at if newest else None
        older = {oldest.run_key for oldest in seen.oldest.values() if oldest is not None} - known
        found = [self.runs.account(run_key, bill, at=at) for run_key in sorted(older)]
        return [*(account for account in found if account is not None), *newest]

    def _counted(self, accounts: Sequence[Account], questions: int, bill: Bill) -> list[RunCounts]:
        """Count the runs by status until so many questions have been asked, of each mailing in turn; the others only in all."""
        places = Counter[str]()
        turns = []
        for position, account in enumerate(accounts):
            turns.append((places[account.mailing], position))
            places[account.mailing] += 1
        counted, last = {}, bill.questions + questions
        for _, position in sorted(turns):
            count = self.runs.counted if bill.questions < last else self.runs.totalled
            counted[position] = count(accounts[position], bill)
        return [counted[position] for position in sorted(counted)]

    def _broken(self, counts: Sequence[RunCounts], bill: Bill) -> list[str]:
        """The keys of runs whose identity has not held for longer than the grace, by counting them as they were then."""
        doubtful = [run.account for run in counts if not run.holds][:MOST_RECOUNTED]
        then = [self.runs.account(a.run_key, bill, at=a.read_at - IDENTITY_GRACE) for a in doubtful]
        return [a.run_key for a in then if a is not None and not self.runs.totalled(a, bill).holds]

    def _gone(
        self,
        planned: Sequence[tuple[Mailing, Planned]],
        accounts: Sequence[Account],
        since: datetime,
        now: datetime,
        bill: Bill,
    ) -> list[Run]:
        seen = {account.run_key for account in accounts}
        found = [self.expected.gone(mailing, known, seen, since, now, bill) for mailing, known in planned]
        return [run for runs in found for run in runs]

    def _older(self, since: datetime, seen: Seen, bill: Bill) -> Mapping[str, int]:
        """How many unfinished deliveries each mailing has that were due before: looked at only where the oldest was."""
        oldest = {name: oldest for name, oldest in seen.oldest.items() if oldest is not None}
        return {
            name: self.ages.due_before(name, since, bill) if name in oldest and oldest[name].due_at < since else 0
            for name in self.mailings
        }

    def _figures(self, now: datetime, bill: Bill) -> Mapping[str, Figures]:
        sample = self.samples.read(now, bill)
        found = {name: figures([d for d in sample if d.mailing == name]) for name in self.mailings}
        return {name: of_mailing for name, of_mailing in found.items() if of_mailing is not None}


def _yesterday(now: datetime) -> datetime:
    """When yesterday began in UTC: no book of alerts is cut in two, and a daily digest has run."""
    return (now.astimezone(UTC) - timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
