"""Find the runs that are due and plan them: digests and reports.

A tick looks at each mailing with a schedule, at each cohort of its users, and opens the runs whose time has come since the
last one it knows of. It may come late, twice, or several at once: a run's key is derived from what it is, and it is created
once; a delivery likewise. What a tick remembers (`state/plan:<mailing>`) only spares it work.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import dropwhile
from typing import Any

from google.cloud import firestore

from ledgermail.clock import Clock
from ledgermail.delivering.tasks import Tasks, wake_of
from ledgermail.errors import FenceLost, InvalidDocument
from ledgermail.log import log
from ledgermail.mailing import Mailing, Source
from ledgermail.planning.audience import PAGE, Audience, Cohort, Subscriber, cohort_named, is_between, planned_name
from ledgermail.planning.book import STATE
from ledgermail.planning.page import Page
from ledgermail.planning.remembered import fitting, follows
from ledgermail.planning.reports import Reports
from ledgermail.planning.run import Run, came, changed, key_before, members, plan_run_page, run_of
from ledgermail.planning.run_store import Part, RunStore
from ledgermail.planning.scan import new_token
from ledgermail.planning.schedules import Due, Schedule, dues, parse
from ledgermail.store import call, ledger_errors

PART_SIZE = 2_500  # users a part: planned in some seconds
MOST_PARTS = 16
STALE = timedelta(minutes=2)  # a part that nobody has worked on for so long is given out again
MOST_MISSED = 100  # missed runs of a cohort that are recorded: after a long pause the older ones add nothing


@dataclass
class Report:
    """What a tick did: runs opened or missed, deliveries created, tasks made; whether there is more to do, behind whom."""

    counts: Counter[str] = field(default_factory=Counter)
    more: bool = False
    left_at: Cohort | None = None  # the last one that a tick without time has dealt with: the next goes on behind it


@dataclass(frozen=True, kw_only=True)
class Coordinator:
    """What planning runs works with."""

    client: firestore.Client
    audience: Audience
    runs: RunStore
    reports: Reports
    tasks: Tasks
    mailings: Mapping[str, Mailing]
    clock: Clock
    shards: int
    time_box: timedelta

    def tick(self, left_at: Cohort | None = None) -> Report:
        """Open what is due and give out again what has stopped half way. Raises LedgerUnavailable.

        One that runs out of time goes on behind the cohort where it stopped, and deals with one at least: with ever so many
        schedules, and however long they take to read, each has its turn.
        """
        until = self.clock.monotonic() + self.time_box.total_seconds()
        report = Report()
        scheduled = [mailing for mailing in self.mailings.values() if mailing.schedule is not None]
        first = left_at.mailing if left_at is not None else scheduled[0].name if scheduled else ""
        for mailing in dropwhile(lambda mailing: mailing.name != first, scheduled):
            self._tick_mailing(mailing, left_at if mailing.name == first else None, until, report)
            if report.more:
                break
        self._resume(report)
        return report

    def plan_part(self, run_key: str, number: int) -> Report:
        """Plan a part from its cursor on until its end or the end of the time box. Raises LedgerUnavailable."""
        until = self.clock.monotonic() + self.time_box.total_seconds()
        report, part = Report(), self.runs.part(run_key, number)
        mailing = self.mailings.get(part.run.mailing) if part is not None else None
        try:
            while part is not None and mailing is not None and not part.done and not report.more:
                part = self._plan_part_page(mailing, part, report)
                report.more = not part.done and self.clock.monotonic() >= until
            if part is not None and part.done:
                self.runs.close(run_key)
        except FenceLost:
            log("part.overtaken", run_key=run_key, part=number)
        return report

    def _tick_mailing(self, mailing: Mailing, left_at: Cohort | None, until: float, report: Report) -> None:
        state = self.client.collection(STATE).document(planned_name(mailing.name))
        with ledger_errors("read what was planned"):
            remembered: Mapping[str, Any] = state.get(**call()).to_dict() or {}
        planned, changed_at = self._until_when(mailing, remembered)
        now_planned: dict[str, datetime] = {}
        for cohort, schedule in self._cohorts(mailing, left_at, planned):
            if schedule is mailing.schedule:
                cohort = replace(cohort, changed_at=changed_at)
            known = planned.get(cohort.name)
            now_planned[cohort.name] = self._open_due(mailing, cohort, schedule, known, until, report)
            if self.clock.monotonic() >= until:
                report.more, report.left_at = True, replace(cohort, others=(), changed_at=None)
                break
        kept = {name: at for name, at in planned.items() if not is_between(name, left_at, report.left_at, mailing.name)}
        # Cohorts that are no more are forgotten: nothing was missed when one comes back.
        document = {
            "planned": fitting(mailing.name, kept | now_planned),
            "schedule": str(mailing.schedule),
            "changed_at": changed_at,
        }
        if document != remembered:
            with ledger_errors("write what was planned"):
                state.set(document, **call())

    def _until_when(
        self, mailing: Mailing, remembered: Mapping[str, Any]
    ) -> tuple[Mapping[str, datetime], datetime | None]:
        """Until when each cohort was planned, and when the mailing's own schedule was last changed.

        Who follows another schedule than before has missed nothing of it yet.
        """
        planned: Mapping[str, datetime] = remembered.get("planned", {})
        own = str(mailing.schedule)
        if remembered.get("schedule", own) == own:
            return planned, remembered.get("changed_at")
        log("schedule.changed", mailing=mailing.name)
        return {name: at for name, at in planned.items() if not follows(mailing, name)}, self.clock.now()

    def _cohorts(
        self, mailing: Mailing, left_at: Cohort | None, planned: Collection[str]
    ) -> Iterator[tuple[Cohort, Schedule]]:
        """Each cohort behind that one with its schedule, in their order; schedules are found as they are asked for.

        One whose text is no schedule has the mailing's own, and is named in the log.
        """
        assert mailing.schedule is not None
        topics: list[str | None] = [*self.reports.topics()] if mailing.source is Source.REPORT else [None]
        remembered = (cohort_named(mailing.name, name) for name in planned)
        others = {cohort.schedule for cohort in remembered if cohort is not None and cohort.schedule is not None}
        for text in self._texts(mailing, left_at):
            others.add(text)
            schedule = _schedule(mailing, text)
            for topic in topics:
                cohort = Cohort(mailing=mailing.name, schedule=text, topic=topic)
                if left_at is None or cohort.place > left_at.place:
                    yield cohort, schedule
        for topic in topics:
            own = Cohort(mailing=mailing.name, schedule=None, topic=topic, others=tuple(sorted(others)))
            if left_at is None or own.place > left_at.place:
                yield own, mailing.schedule

    def _texts(self, mailing: Mailing, left_at: Cohort | None) -> Iterator[str]:
        """The schedules that users have set, from that of this cohort on."""
        if left_at is None:
            return self.audience.schedules(mailing.name)
        return iter(()) if left_at.schedule is None else self.audience.schedules(mailing.name, left_at.schedule)

    def _open_due(
        self,
        mailing: Mailing,
        cohort: Cohort,
        schedule: Schedule,
        known: datetime | None,
        until: float,
        report: Report,
    ) -> datetime:
        """Open the cohort's runs that came due since the last known one, while there is time; until when all are known now.

        A cohort that is seen for the first time has missed nothing yet. One that comes often leaves the rest to the next tick.
        """
        now = self.clock.now()
        oldest = now - mailing.catch_up
        upto = known or oldest
        for due in dues(schedule, min(upto, oldest), oldest)[-MOST_MISSED:]:
            self._miss(run_of(cohort, schedule, due, now=now), report)
            upto = due.at
        open_due = dues(schedule, max(upto, oldest), now)
        for due in open_due:
            if self._must_wait(mailing, cohort, schedule, due):
                break
            is_last = due is open_due[-1]
            if not self._open(mailing, cohort, schedule, due, now if is_last else due.at, report):
                if is_last:
                    break  # its report may still be published
                self._miss(run_of(cohort, schedule, due, now=now), report)
            upto = due.at
            if not is_last and self.clock.monotonic() >= until:
                break
        return upto

    def _must_wait(self, mailing: Mailing, cohort: Cohort, schedule: Schedule, due: Due) -> bool:
        """Whether this run has to ask where each last digest ended while another one of theirs is still being planned.

        Side by side both would begin where the last one before them ended, and everybody would get its matches twice.
        """
        if cohort.changed_at is None or mailing.source is not Source.MATCHES:
            return False
        run = run_of(cohort, schedule, due, now=due.at)
        return run.changed_after is None and self.runs.is_planning(cohort)

    def _miss(self, run: Run, report: Report) -> None:
        self.runs.record_missed(run)
        log("run.missed", severity="ERROR", mailing=run.mailing, due_at=run.due_at.isoformat())
        report.counts["missed"] += 1

    def _open(
        self, mailing: Mailing, cohort: Cohort, schedule: Schedule, due: Due, published_by: datetime, report: Report
    ) -> bool:
        """Open one run, with its first page; False when its report was not published by then.

        The last run that is due waits for a late report. What comes after a later due time is the later run's.
        """
        now = self.clock.now()
        run = run_of(cohort, schedule, due, now=now)
        if cohort.topic is not None:
            version = self.reports.newest(cohort.topic, run.period_start, published_by)
            before = key_before(cohort, schedule, due)
            if version is None or version == self.runs.version(before):  # one that came late was in the run before
                report.counts["unpublished"] += 1
                return False
            run = replace(run, version=version)
        subscribers = [] if self.audience.is_empty(cohort) else self.audience.page(cohort, "", "")
        page = self._page(mailing, run, subscribers)
        parts = self._parts(run, subscribers[-1].user_id) if len(subscribers) == PAGE else []
        try:
            added = self.runs.open(run, page, parts, new_token())
        except FenceLost:  # another tick has opened it
            return True
        self._wake(added.page, report)
        report.counts["opened"] += 1
        log("run.opened", run_key=run.key, mailing=mailing.name, parts=len(parts), intended=len(added.page.deliveries))
        for part in parts:
            self.tasks.go_on("plan", {"run_key": run.key, "part": part.number})
        return True

    def _parts(self, run: Run, after: str) -> list[Part]:
        """The id ranges of what comes after the first page."""
        wanted = min(MOST_PARTS, self.audience.count(run.cohort) // PART_SIZE)
        borders = ["", *self.audience.split(run.cohort, after, wanted)] if wanted > 1 else [""]
        ends = [*borders[1:], ""]
        return [
            Part(run=run, number=number, cursor=start or after, upto=end)
            for number, (start, end) in enumerate(zip(borders, ends, strict=True))
        ]

    def _plan_part_page(self, mailing: Mailing, part: Part, report: Report) -> Part:
        subscribers = self.audience.page(part.run.cohort, part.cursor, part.upto)
        moved = replace(
            part,
            cursor=subscribers[-1].user_id if subscribers else part.cursor,
            done=len(subscribers) < PAGE,
            worked_at=self.clock.now(),
        )
        page = self._page(mailing, part.run, subscribers)
        planned, added = self.runs.add_page(moved, page, new_token())
        self._wake(added, report)
        return planned

    def _page(self, mailing: Mailing, run: Run, subscribers: list[Subscriber]) -> Page:
        """What a page of the audience is owed. Whose preferences changed of late may need a longer or shorter period."""
        inside = members(run, subscribers)
        asked = changed(run, inside) if mailing.source is Source.MATCHES else []
        ends = {member: self.audience.covered_until(member.user_id, run.mailing) for member in asked}
        starts = {member.user_id: end or came(mailing, run, member) for member, end in ends.items()}
        return plan_run_page(mailing, run, inside, starts, now=self.clock.now(), shards=self.shards)

    def _wake(self, page: Page, report: Report) -> None:
        report.counts["created"] += len(page.deliveries)
        report.counts["woken"] += self.tasks.wake([wake_of(delivery) for delivery in page.deliveries])

    def _resume(self, report: Report) -> None:
        """Give out again the parts that somebody has stopped working on, and close what only lacks that."""
        now = self.clock.now()
        for run_key, parts in self.runs.unplanned():
            if any(part.run.mailing not in self.mailings for part in parts):
                log("run.mailing_gone", severity="ERROR", run_key=run_key)
                continue
            stale = [p for p in parts if not p.done and (p.worked_at or p.run.as_of) < now - STALE]
            report.counts["resumed"] += sum(
                self.tasks.go_on("plan", {"run_key": run_key, "part": part.number}) for part in stale
            )
            if all(part.done for part in parts):
                self.runs.close(run_key)


def _schedule(mailing: Mailing, text: str) -> Schedule:
    try:
        return parse(text)
    except InvalidDocument as error:
        log("schedule.invalid", severity="WARNING", mailing=mailing.name, problem=str(error))
        assert mailing.schedule is not None
        return mailing.schedule
