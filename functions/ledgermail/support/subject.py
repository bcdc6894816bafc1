"""What somebody asks about, pure: a subject as support writes it, read as the deliveries that it may mean.

A subject is a job's id, a delivery's id, a run's key, or a mailing's name, of which the last one that was due is meant, or that
of a date: ``weekly-digest:2026-08-17``.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from urllib.parse import unquote

from ledgermail.ledger import ids
from ledgermail.mailing import Mailing, Source
from ledgermail.planning.audience import OWN, Cohort
from ledgermail.planning.run import key_before, run_of
from ledgermail.planning.schedules import Due, Schedule, dues, last_due, occasion, parsed
from ledgermail.support.absence import Person

DAY = timedelta(days=1)
YEARS = range(1970, 9000)  # in which days can be counted forwards and back
DATED = re.compile(r"(?P<day>\d{4}-\d\d-\d\d(T\d\d(:|%3A)\d\d)?)(:(?P<rest>.+))?", re.ASCII | re.DOTALL)
LONGEST_WAIT = timedelta(days=400)  # in which the next due time is looked for: beyond, it is not told


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One digest or report of one person: what it would be about, and when it is due (None: never)."""

    occasion: str
    topic: str | None
    due: Due | None
    run_key: str
    period_start: datetime | None
    before_key: str = ""  # of the run before


@dataclass(frozen=True)
class Named:
    """A subject that begins with a mailing's name: the date in it, and what follows that."""

    mailing: Mailing
    day: str  # perhaps with a time; empty: the last one
    rest: tuple[str, ...]


def named(subject: str, mailings: Mapping[str, Mailing]) -> Named | None:
    """The mailing and the date in a subject; None where it is not a mailing's name, alone or with a date."""
    name, _, after = subject.partition(":")
    written = DATED.fullmatch(after)
    if name not in mailings or (after and not written):
        return None
    day, rest = (unquote(written["day"]), written["rest"] or "") if written else ("", "")
    try:
        start = day_of(day)
    except ValueError:
        return None
    if start is not None and start.year not in YEARS:
        return None
    return Named(mailings[name], day, tuple(unquote(part) for part in rest.split(":") if part))


def day_of(text: str) -> date | None:
    """The date at the beginning of a text; None where that is empty. Raises ValueError for what begins with none."""
    return date.fromisoformat(text[:10]) if text else None


def asked(about: Named, person: Person, now: datetime) -> list[Asked]:
    """The deliveries that a scheduled mailing's name and date mean for a person: one, or of a report one a topic."""
    mailing, rest = about.mailing, list(about.rest)
    topics: list[str | None] = [None]
    if mailing.source is Source.REPORT:
        chosen = person.preferences(mailing.name).get("topics")
        known = [topic for topic in chosen if isinstance(topic, str) and topic] if isinstance(chosen, list) else []
        topics = [rest.pop(0)] if rest else [*dict.fromkeys(known)] or [None]
    own, schedule = _schedule(mailing, person, rest[0] if rest else "")
    due = _due(schedule, about.day, now)
    return [
        _asked(about, Cohort(mailing=mailing.name, schedule=own, topic=topic), schedule, due, now) for topic in topics
    ]


def next_due(mailing: Mailing, person: Person, now: datetime) -> datetime | None:
    """When the person's next one is due; None where that is long, or there is no schedule."""
    if mailing.schedule is None:
        return None
    _, schedule = _schedule(mailing, person, "")
    span = DAY
    while span <= LONGEST_WAIT:
        coming = dues(schedule, now, now + span)
        if coming:
            return coming[0].at
        span *= 7
    return None


def _asked(about: Named, cohort: Cohort, schedule: Schedule, due: Due | None, now: datetime) -> Asked:
    if due is not None:
        run = run_of(cohort, schedule, due, now=now)
        return Asked(
            occasion=run.occasion,
            topic=cohort.topic,
            due=due,
            run_key=run.key,
            period_start=run.period_start,
            before_key=key_before(cohort, schedule, due),
        )
    parts = [about.day, *([cohort.topic] if cohort.topic else [])]
    key = ids.run_key(about.mailing.name, *parts)
    return Asked(occasion=key, topic=cohort.topic, due=None, run_key=f"{key}:{cohort.key}", period_start=None)


def _schedule(mailing: Mailing, person: Person, key: str) -> tuple[str | None, Schedule]:
    """The cohort's schedule as it is written (None: the mailing's own) and as it is read: of a run's key, else the person's."""
    assert mailing.schedule is not None
    own = person.preferences(mailing.name).get("schedule") if not key else None if key == OWN else key
    if not isinstance(own, str) or not own:
        return None, mailing.schedule
    return own, parsed(own, mailing.schedule)  # what is none is planned by the mailing's own, in a cohort of its own


def _due(schedule: Schedule, day: str, now: datetime) -> Due | None:
    """The last due time until now, or that of a date: the last until now, else the first."""
    start = day_of(day)
    if start is None:
        return last_due(schedule, now)
    noon = datetime.combine(start, time(12), UTC)
    found = [due for due in dues(schedule, noon - 2 * DAY, noon + 2 * DAY) if _is_of(day, schedule, due)]
    past = [due for due in found if due.at <= now]
    return past[-1] if past else found[0] if found else None


def _is_of(day: str, schedule: Schedule, due: Due) -> bool:
    name = occasion(schedule, due)
    return name == day or (len(day) == 10 and name.startswith(f"{day}T"))
