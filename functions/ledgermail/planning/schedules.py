"""When a digest is due: a cron line read by the wall clock of a zone, with one rule for each change of that clock.

- Gap: a nominal time that does not exist is due at the first instant after the gap. All that fall on one instant are due
  once, under the latest of their nominal times.
- Overlap: a nominal time that comes twice is due the first time only.
- A local date that does not exist at all (Pacific/Apia, 2011-12-30) has nothing due: its time goes to the next window.

cronsim 2.8 is only ever given naive datetimes, the nominal times; the zone is applied here. With aware ones it keeps the
first two rules for fixed times alone: ``*/30 * * * *`` loses the times in a gap and repeats those in an overlap,
``*/30 0 * * *`` loses the whole day of a midnight gap (America/Sao_Paulo, 2017-10-15), and the date that Apia never had is
due at the midnight after it, eight hours before the next mail. Nominal times are found backwards, which cronsim does exactly
for naive ones: the last due is one search, without a window to guess. It takes some 0.1 ms for what comes every day or week,
and 2 ms for the rarest there is: a 29 February on one weekday, which the year 2100 keeps away for 40 years.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from importlib.resources import files
from itertools import takewhile
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from ledgermail.errors import InvalidDocument

MAX_CHARS = 200  # of a schedule's text: bounds what reading it may cost
SECOND = timedelta(seconds=1)
TICK = timedelta(microseconds=1)  # the resolution of an instant
SOME_DAY = datetime(2000, 1, 1)  # where a search that may start anywhere starts
DAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
NUMBERS = {name: str(number) for number, name in [*enumerate(DAYS), *enumerate(MONTHS, 1)]}


@dataclass(frozen=True)
class Schedule:
    """A cron line of five fields and an IANA zone; made by `parse`, and ``str`` of it is read back as the same."""

    cron: str
    zone: str

    def __str__(self) -> str:  # type: ignore[explicit-override] # typing has the decorator from Python 3.12 on
        return f"{self.cron} {self.zone}"


@dataclass(frozen=True)
class Due:
    """One time that a schedule comes due."""

    at: datetime  # aware UTC: the instant
    local: datetime  # naive: the nominal date and time in the schedule's zone, which that clock may never have shown


def parse(text: object) -> Schedule:
    """``0 8 * * 1 Europe/Berlin``: minute, hour, day of month, month, day of week as in Debian's cron, and a zone, else UTC.

    The result has numbers for names, no leading zeros, 0 for Sunday and single spaces, so that these spellings are one.
    Raises InvalidDocument, which names the field or the zone, also for a schedule that never comes; within 0.5 s.
    """
    if not isinstance(text, str) or len(text) > MAX_CHARS:
        raise InvalidDocument(f"schedule: must be text of at most {MAX_CHARS} characters")
    fields = text.split()
    if len(fields) not in (5, 6):
        raise InvalidDocument(f"schedule: must have five fields and perhaps a zone, not {len(fields)} parts: {text!a}")
    zone = fields[5] if len(fields) == 6 else "UTC"
    if not is_zone(zone):
        raise InvalidDocument(f"schedule: the zone is not known: {zone!a}")
    try:
        next(CronSim(" ".join(fields[:5]), SOME_DAY))
    except CronSimError as error:
        raise InvalidDocument(f"schedule: {str(error).lower()}: {text!a}") from error
    except StopIteration as error:  # cronsim gives up after 50 years; what comes at all comes within 40
        raise InvalidDocument(f"schedule: day-of-month and day-of-week never meet: {text!a}") from error
    return Schedule(_canonical(fields[:5]), zone)


def parsed(text: object, otherwise: Schedule) -> Schedule:
    """The schedule that a user has written; the mailing's own (`otherwise`) where there is none, or what they wrote is none."""
    try:
        return parse(text)
    except InvalidDocument:
        return otherwise


def last_due(schedule: Schedule, now: datetime) -> Due:
    """The last due instant at or before `now`, which must be aware. There always is one: `parse` has seen to it."""
    return next(_backwards(schedule, now))


def previous_due(schedule: Schedule, due: Due) -> Due:
    """The one before: the window of `due` is from there up to it, without its end."""
    return next(_backwards(schedule, due.at - TICK))


def dues(schedule: Schedule, after: datetime, until: datetime) -> list[Due]:
    """Every one after the first instant and up to the second, in order."""
    return list(takewhile(lambda due: due.at > after, _backwards(schedule, until)))[::-1]


def occasion(schedule: Schedule, due: Due) -> str:
    """What a mailing owes once: the local date, with the time only where the schedule comes more than once a day.

    So whoever moves a daily digest from 08:00 to 18:00 at noon is owed nothing more on that date.
    """
    times = CronSim(schedule.cron, SOME_DAY)
    if len(times.hours) * len(times.minutes) == 1:
        return due.local.date().isoformat()
    return due.local.isoformat(timespec="minutes")


def is_zone(name: str) -> bool:
    """Whether this is the name of a zone, as the pinned tzdata has them."""
    return name in _zones()


@cache
def _zones() -> frozenset[str]:
    """The names in tzdata: no paths, no directories, none that mean something else on another machine (``localtime``)."""
    return frozenset(files("tzdata").joinpath("zones").read_text("ascii").split())


def _canonical(fields: list[str]) -> str:
    """Fields that cronsim has taken, in one spelling."""
    cron = re.sub(r"[A-Z]{3}", lambda name: NUMBERS[name[0]], " ".join(fields).upper())
    cron = re.sub(r"\d+", lambda number: str(int(number[0])), cron)
    return re.sub(r"(?<![-/#\d])7(?![-/\d])(?=\S*$)", "0", cron)  # a Sunday by itself, in the last field


def _backwards(schedule: Schedule, until: datetime) -> Iterator[Due]:
    """What is due at or before `until`, latest first."""
    zone = ZoneInfo(schedule.zone)
    local = until.astimezone(zone)
    # In the second half of an overlap the clock has already shown later times than now.
    latest = _naive(local) + (_utc(_naive(local), zone, fold=1) - _utc(_naive(local), zone, fold=0))
    last = None
    for nominal in CronSim(schedule.cron, latest + SECOND, reverse=True):  # strictly before where it starts
        at = _instant(nominal, zone)
        if at <= until and at != last and _exists(nominal.date(), zone):
            last = at
            yield Due(at, nominal)


def _instant(nominal: datetime, zone: ZoneInfo) -> datetime:
    """The first instant at which the zone's clock shows this time, or a later one because it skipped this."""
    first, second = _utc(nominal, zone, fold=0), _utc(nominal, zone, fold=1)
    if first <= second:  # the time comes once, or twice
        return first
    # In a gap (PEP 495) fold=0 reads it by the offset before, which is an instant after the change; fold=1 the other way.
    span = range(int((first - second).total_seconds()))
    skipped = bisect_left(span, True, key=lambda seconds: _wall(second + seconds * SECOND, zone) > nominal)
    return second + skipped * SECOND


def _exists(day: date, zone: ZoneInfo) -> bool:
    """Whether the zone's clock ever shows this date."""
    return _wall(_instant(datetime.combine(day, time()), zone), zone).date() == day


def _utc(nominal: datetime, zone: ZoneInfo, *, fold: int) -> datetime:
    return nominal.replace(tzinfo=zone, fold=fold).astimezone(UTC)


def _wall(at: datetime, zone: ZoneInfo) -> datetime:
    return _naive(at.astimezone(zone))


def _naive(local: datetime) -> datetime:
    """What the clock shows, as a plain datetime: Firestore's own kind does not survive arithmetic."""
    return datetime.combine(local.date(), local.time()).replace(fold=0)
