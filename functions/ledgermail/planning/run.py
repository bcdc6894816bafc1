"""A run, pure: one execution of a mailing that decides a fixed set of deliveries, and the page of them that it owes."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import Any

from ledgermail.errors import InvalidId
from ledgermail.ledger import ids
from ledgermail.ledger.delivery import Delivery, Status
from ledgermail.mailing import Mailing, Source
from ledgermail.planning.audience import Cohort, Subscriber, without_schedule
from ledgermail.planning.page import Page
from ledgermail.planning.schedules import Due, Schedule, occasion, previous_due


class State(StrEnum):
    """How far a run's planning is."""

    PLANNING = "planning"
    PLANNED = "planned"  # every delivery that it owes exists
    MISSED = "missed"  # it was due longer ago than catch_up allows when it was found, and owes nothing


@dataclass(frozen=True, kw_only=True)
class Run:
    """What a run's document says that does not change."""

    mailing: str
    schedule: str | None  # of its cohort, as the users wrote it; None: the mailing's own
    topic: str | None
    version: str | None  # of the report, frozen
    occasion: str  # what its deliveries are about: the second part of their ids
    due_at: datetime
    as_of: datetime  # who came later is not in
    period_start: datetime
    period_end: datetime
    changed_after: datetime | None  # preferences changed since then may leave a gap between two periods (None: all may)

    @property
    def cohort(self) -> Cohort:
        """Whose run it is."""
        return Cohort(mailing=self.mailing, schedule=self.schedule, topic=self.topic)

    @property
    def key(self) -> str:
        """The id of its document: the occasion and the cohort's schedule."""
        return f"{self.occasion}:{self.cohort.key}"

    def document(self) -> dict[str, Any]:
        """The fields as they are written."""
        return {name: value for name, value in asdict(self).items() if value is not None} | {"opened_at": self.as_of}


def run_of(cohort: Cohort, schedule: Schedule, due: Due, *, now: datetime) -> Run:
    """The run of a cohort at a due time, opened `now`: from the due time before to this one, and of no version yet."""
    before = previous_due(schedule, due)
    changed_after = previous_due(schedule, before).at
    moved = cohort.changed_at is not None and cohort.changed_at >= changed_after
    parts = [cohort.mailing, occasion(schedule, due), *([cohort.topic] if cohort.topic else [])]
    return Run(
        mailing=cohort.mailing,
        schedule=cohort.schedule,
        topic=cohort.topic,
        version=None,
        occasion=ids.run_key(*parts),
        due_at=due.at,
        as_of=now,
        period_start=before.at,
        period_end=due.at,
        changed_after=None if moved else changed_after,
    )


def key_before(cohort: Cohort, schedule: Schedule, due: Due) -> str:
    """The key of the cohort's run before the one at this due time."""
    return run_of(cohort, schedule, previous_due(schedule, due), now=due.at).key


def read_run(document: Mapping[str, Any]) -> Run:
    """A run from its document."""
    return Run(**{field.name: document.get(field.name) for field in fields(Run)})  # type: ignore[arg-type]


def changed(run: Run, inside: Sequence[Subscriber]) -> list[Subscriber]:
    """Those whose last period may not have ended where this run's begins: their schedule, or the mailing's, was changed."""
    after = run.changed_after
    return [member for member in inside if after is None or (member.since is not None and member.since >= after)]


def came(mailing: Mailing, run: Run, member: Subscriber) -> datetime:
    """Where the first period of one of those begins who has had no digest: a longer one was owed before the change.

    When they turned it on or, where it was the mailing that changed, came. Whose digests may have been pruned has the run's.
    """
    since = member.resumed_at or (None if run.changed_after else member.since or member.created_at)
    return (
        since if since and run.period_end - mailing.policy.least_kept < since < run.period_start else run.period_start
    )


def members(run: Run, subscribers: Sequence[Subscriber]) -> list[Subscriber]:
    """Those of a page who are in: there when the run was opened and, in the default cohort, without another schedule."""
    own = without_schedule(subscribers) if run.schedule is None else subscribers
    return [member for member in own if member.created_at <= run.as_of and (member.since or run.as_of) <= run.as_of]


def plan_run_page(
    mailing: Mailing,
    run: Run,
    subscribers: Sequence[Subscriber],
    starts: Mapping[str, datetime],
    *,
    now: datetime,
    shards: int,
) -> Page:
    """The deliveries that a page of members is owed. `starts` has another start of the period for some of them.

    Who turned the mailing on (again) within the period is owed what came since. Who has had a digest up to the end of this
    period or beyond, by another schedule, or turned it on only then, is owed none.
    """
    counts: Counter[str] = Counter()
    deliveries = []
    for subscriber in subscribers:
        start = starts.get(subscriber.user_id, run.period_start)
        if mailing.source is Source.MATCHES and subscriber.resumed_at is not None:
            start = max(start, subscriber.resumed_at)
        if start >= run.period_end:
            counts["covered"] += 1
            continue
        try:
            deliveries.append(_plan(mailing, run, subscriber, start, now, shards))
        except InvalidId:
            counts["invalid"] += 1
    return Page(tuple(deliveries), counts)


def _plan(mailing: Mailing, run: Run, subscriber: Subscriber, start: datetime, now: datetime, shards: int) -> Delivery:
    delivery_id = ids.run_delivery_id(ids.user_key(subscriber.user_id), run.occasion)
    return Delivery(
        id=delivery_id,
        mailing=mailing.name,
        guarantee=mailing.guarantee,
        run_key=run.key,
        user_id=subscriber.user_id,
        subject=run.occasion,
        status=Status.PENDING,
        due_at=run.due_at,
        created_at=now,
        shard=ids.shard_of(delivery_id, shards),
        wake_at=now + mailing.policy.slack,
        period_start=start,
        period_end=run.period_end,
        topic=run.topic,
        version=run.version,
    )
