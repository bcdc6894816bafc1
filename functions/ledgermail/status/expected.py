"""Runs that should exist, and do not: a due time that nothing has planned, or a planned run whose document is gone.

The coordinator remembers until when it has dealt with each cohort (`state/plan:<mailing>`, one read a mailing, however many
schedules there are). A due time after that, older than the mailing's promise, is one that it has not dealt with.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

from google.cloud import firestore

from ledgermail.mailing import Mailing, Source
from ledgermail.planning.audience import OWN, Cohort, cohort_named, planned_name
from ledgermail.planning.book import RUNS, STATE
from ledgermail.planning.reports import Reports
from ledgermail.planning.run import Run, key_before, run_of
from ledgermail.planning.schedules import Due, Schedule, last_due, parsed
from ledgermail.status.bill import Bill
from ledgermail.store import call, ledger_errors

Planned = Mapping[str, datetime]  # until when each cohort of a mailing has been dealt with, by its name
MOST_LOOKED_UP = 2  # runs, or reports, of a mailing that are asked for by name
TURN = timedelta(minutes=5)  # after which it is others' turn, where there are more
Turned = TypeVar("Turned")


@dataclass(frozen=True)
class Owed:
    """A run that a cohort has or should have, and the key of the one before it."""

    run: Run
    before_key: str


def unplanned(mailing: Mailing, planned: Planned, now: datetime) -> Iterator[Owed]:
    """The last run of each cohort that was due longer ago than the mailing promises and that nothing has dealt with."""
    for name, cohort, schedule in _cohorts(mailing, planned):
        due = last_due(schedule, now - mailing.promise)
        if name not in planned or planned[name] < due.at:
            yield _owed(cohort, schedule, due, now)


def made(mailing: Mailing, planned: Planned, since: datetime, now: datetime) -> Iterator[Owed]:
    """The last run of each cohort that was dealt with, where it was due since then."""
    for name, cohort, schedule in _cohorts(mailing, planned):
        until = planned.get(name, since)
        due = last_due(schedule, until)
        if due.at == until and until > since:  # else nothing was due: it is only known that far
            yield _owed(cohort, schedule, due, now)


def in_turn(found: Sequence[Turned], now: datetime) -> Sequence[Turned]:
    """So many as are looked up at once; later the next ones: reports that are waited for must not hide one that is missing."""
    if len(found) <= MOST_LOOKED_UP:
        return found
    first = int(now.timestamp() // TURN.total_seconds()) * MOST_LOOKED_UP
    return [found[(first + position) % len(found)] for position in range(MOST_LOOKED_UP)]


def _cohorts(mailing: Mailing, planned: Planned) -> Iterator[tuple[str, Cohort, Schedule]]:
    """Those that the coordinator knows; and of matches those without a schedule of their own, whom it always knows."""
    assert mailing.schedule is not None
    names = dict.fromkeys([*([OWN] if mailing.source is Source.MATCHES else []), *planned])
    for name in names:
        cohort = cohort_named(mailing.name, name)
        if cohort is not None:
            yield name, cohort, parsed(cohort.schedule, mailing.schedule)


def _owed(cohort: Cohort, schedule: Schedule, due: Due, now: datetime) -> Owed:
    return Owed(run_of(cohort, schedule, due, now=now), key_before(cohort, schedule, due))


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What is asked for runs that should exist. Every method raises LedgerUnavailable."""

    client: firestore.Client
    reports: Reports

    def planned(self, mailing: Mailing, bill: Bill) -> tuple[Mailing, Planned]:
        """What the coordinator remembers of a mailing with a schedule, and the mailing by the one that it went by; one read.

        Another schedule is what is owed only from its next tick on: in a rollout `status` is new before `plan` is.
        """
        assert mailing.schedule is not None
        bill.one()
        with ledger_errors("read what was planned"):
            state = self.client.collection(STATE).document(planned_name(mailing.name)).get(**call())
        remembered = state.to_dict() or {}
        schedule = parsed(remembered.get("schedule"), mailing.schedule)
        return replace(mailing, schedule=schedule), remembered.get("planned", {})

    def never_made(self, mailing: Mailing, planned: Planned, now: datetime, bill: Bill) -> Sequence[Run]:
        """The runs that are overdue. That of a report costs up to two reads: without a new version it is not owed yet."""
        overdue = list(unplanned(mailing, planned, now))
        if mailing.source is Source.MATCHES:
            return [owed.run for owed in overdue]
        return [owed.run for owed in in_turn(overdue, now) if self._is_published(owed, now, bill)]

    def gone(
        self,
        mailing: Mailing,
        planned: Planned,
        seen: Collection[str],
        since: datetime,
        now: datetime,
        bill: Bill,
    ) -> Sequence[Run]:
        """The runs that were planned and are not there: neither among those `seen` since then nor, by name, at a read each."""
        unseen = [owed.run for owed in made(mailing, planned, since, now) if owed.run.key not in seen]
        return [run for run in in_turn(unseen, now) if not self._run(run.key, bill)]

    def _is_published(self, owed: Owed, now: datetime, bill: Bill) -> bool:
        """Whether there is a version for this run, and not the one that the run before it has taken."""
        assert owed.run.topic is not None
        version = self.reports.newest(owed.run.topic, owed.run.period_start, now)
        bill.one()
        return version is not None and version != (self._run(owed.before_key, bill) or {}).get("version")

    def _run(self, run_key: str, bill: Bill) -> Mapping[str, object] | None:
        bill.one()
        with ledger_errors("read a run"):
            document: Mapping[str, object] | None = (
                self.client.collection(RUNS).document(run_key).get(**call()).to_dict()
            )
        return document
