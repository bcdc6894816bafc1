"""When a digest is due: known changes of clocks one by one, then every zone through twenty years of them."""

from bisect import bisect_left
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from zoneinfo import ZoneInfo, available_timezones

import pytest
from cronsim import CronSim
from google.api_core.datetime_helpers import DatetimeWithNanoseconds
from hypothesis import given, settings
from hypothesis import strategies as st

from ledgermail.errors import InvalidDocument
from ledgermail.planning.schedules import Due, Schedule, dues, last_due, occasion, parse, previous_due

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
TICK = timedelta(microseconds=1)
ZONES = available_timezones() - {"localtime"}
WEEK = 7 * DAY  # no zone changes twice within one in those years: the closest are Cairo's, 20 days apart
MONDAYS = [datetime(2008, 1, 7) + number * WEEK for number in range(20 * 52)]


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def shown(found: list[Due]) -> list[str]:
    return [f"{due.at:%d %H:%M} = {due.local:%d %H:%M}" for due in found]


# schedule, after, until, and what is due between: instant in UTC = nominal local time, each with its day of the month
KNOWN = [
    ("0 8 * * 1 Europe/Berlin", "2026-08-10T06:00", "2026-08-17T06:00", ["17 06:00 = 17 08:00"]),
    ("0 8 * * 1 Europe/Berlin", "2026-08-10T05:59", "2026-08-17T05:59", ["10 06:00 = 10 08:00"]),
    ("0 8 * * * Asia/Kathmandu", "2026-08-16T00:00", "2026-08-17T00:00", ["16 02:15 = 16 08:00"]),
    # Friday 19:00 UTC is Saturday in Brisbane.
    ("0 5 * * 6 Australia/Brisbane", "2026-08-13T00:00", "2026-08-17T00:00", ["14 19:00 = 15 05:00"]),
    ("0 5 * * 5 Australia/Brisbane", "2026-08-13T00:00", "2026-08-17T00:00", ["13 19:00 = 14 05:00"]),
    # Berlin skips 02:00-03:00 on 2026-03-29.
    ("30 2 * * * Europe/Berlin", "2026-03-28T12:00", "2026-03-29T12:00", ["29 01:00 = 29 02:30"]),
    ("*/30 * * * * Europe/Berlin", "2026-03-29T00:00", "2026-03-29T01:30",
     ["29 00:30 = 29 01:30", "29 01:00 = 29 03:00", "29 01:30 = 29 03:30"]),
    # ... and repeats 02:00-03:00 on 2026-10-25.
    ("30 2 * * * Europe/Berlin", "2026-10-24T12:00", "2026-10-25T12:00", ["25 00:30 = 25 02:30"]),
    ("*/30 * * * * Europe/Berlin", "2026-10-25T00:00", "2026-10-25T02:00",
     ["25 00:30 = 25 02:30", "25 02:00 = 25 03:00"]),
    # Lord Howe moves by half an hour: skips 02:00-02:30, repeats 01:30-02:00.
    ("15 2 * * * Australia/Lord_Howe", "2026-10-03T00:00", "2026-10-04T00:00", ["03 15:30 = 04 02:15"]),
    ("45 1 * * * Australia/Lord_Howe", "2026-04-04T00:00", "2026-04-05T00:00", ["04 14:45 = 05 01:45"]),
    ("0 2 * * * Australia/Lord_Howe", "2026-04-04T00:00", "2026-04-05T00:00", ["04 15:30 = 05 02:00"]),
    # Sao Paulo skipped the first hour of 2017-10-15 and repeated the last of 2018-02-17.
    ("0 0 * * * America/Sao_Paulo", "2017-10-14T12:00", "2017-10-16T12:00",
     ["15 03:00 = 15 00:00", "16 02:00 = 16 00:00"]),
    ("*/30 0 * * * America/Sao_Paulo", "2017-10-14T12:00", "2017-10-15T12:00", ["15 03:00 = 15 00:30"]),
    ("30 23 * * * America/Sao_Paulo", "2018-02-17T12:00", "2018-02-18T12:00", ["18 01:30 = 17 23:30"]),
    ("0 0 * * * America/Sao_Paulo", "2018-02-17T12:00", "2018-02-18T12:00", ["18 03:00 = 18 00:00"]),
    # Pyongyang repeated the last half hour of 2015-08-14 and skipped that of 2018-05-04: due when the next date begins.
    ("45 23 * * * Asia/Pyongyang", "2015-08-14T00:00", "2015-08-15T00:00", ["14 14:45 = 14 23:45"]),
    ("45 23 * * * Asia/Pyongyang", "2018-05-04T00:00", "2018-05-06T00:00",
     ["04 15:00 = 04 23:45", "05 14:45 = 05 23:45"]),
    # Casablanca leaves its summer time for Ramadan: back on 2025-02-23, forward again on 2025-04-06.
    ("30 2 * * * Africa/Casablanca", "2025-02-22T12:00", "2025-02-24T12:00",
     ["23 01:30 = 23 02:30", "24 02:30 = 24 02:30"]),
    ("30 2 * * * Africa/Casablanca", "2025-04-05T12:00", "2025-04-07T12:00",
     ["06 02:00 = 06 02:30", "07 01:30 = 07 02:30"]),
    # Apia never had 2011-12-30; Kwajalein had most of 1969-09-30 twice.
    ("0 8 * * * Pacific/Apia", "2011-12-29T00:00", "2011-12-31T00:00",
     ["29 18:00 = 29 08:00", "30 18:00 = 31 08:00"]),
    ("0 */12 * * * Pacific/Apia", "2011-12-29T12:00", "2011-12-31T00:00",
     ["29 22:00 = 29 12:00", "30 10:00 = 31 00:00", "30 22:00 = 31 12:00"]),
    ("0 8 * * 5 Pacific/Apia", "2011-12-23T00:00", "2012-01-07T00:00", ["23 18:00 = 23 08:00", "05 18:00 = 06 08:00"]),
    ("0 8 * * * Pacific/Kwajalein", "1969-09-28T12:00", "1969-10-01T21:00",
     ["28 21:00 = 29 08:00", "29 21:00 = 30 08:00", "01 20:00 = 01 08:00"]),
    ("0 0 1 1 *", "2026-01-01T00:00", "2026-12-31T23:59", []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "after", "until", "expected"), KNOWN)
def test_a_time_is_due_once_however_the_clock_changes(text: str, after: str, until: str, expected: list[str]) -> None:
    assert shown(dues(parse(text), at(after), at(until))) == expected


@pytest.mark.parametrize(
    ("text", "now", "due_at", "previous_at"),
    [
        ("0 8 * * 1 Europe/Berlin", "2026-08-17T06:00", "2026-08-17T06:00", "2026-08-10T06:00"),
        ("0 8 * * 1 Europe/Berlin", "2026-08-17T05:59:59", "2026-08-10T06:00", "2026-08-03T06:00"),
        ("0 0 29 2 *", "2104-02-28T23:59", "2096-02-29T00:00", "2092-02-29T00:00"),
        ("0 0 29 2 */7", "2128-02-28T00:00", "2088-02-29T00:00", "2060-02-29T00:00"),  # 29 February and Sunday
        ("*/30 * * * * Europe/Berlin", "2026-10-25T01:45", "2026-10-25T00:30", "2026-10-25T00:00"),  # the second 02:45
        ("30 2 * * * Europe/Berlin", "2026-10-25T00:29", "2026-10-24T00:30", "2026-10-23T00:30"),  # the first 02:29
        ("30 2 * * * Europe/Berlin", "2026-10-25T01:29", "2026-10-25T00:30", "2026-10-24T00:30"),  # the second 02:29
    ],
)
def test_the_last_due_is_found_however_long_ago(text: str, now: str, due_at: str, previous_at: str) -> None:
    due = last_due(parse(text), at(now))
    assert due.at == at(due_at)
    assert previous_due(parse(text), due).at == at(previous_at)


def test_the_time_of_a_firestore_snapshot_will_do() -> None:
    now = DatetimeWithNanoseconds.from_rfc3339("2026-08-17T06:00:00.000000007Z")  # type: ignore[no-untyped-call]
    due = last_due(parse("0 8 * * 1 Europe/Berlin"), now)
    assert due == Due(at("2026-08-17T06:00"), datetime(2026, 8, 17, 8))
    assert type(due.at) is type(due.local) is datetime


def test_a_naive_now_is_not_taken_for_any_zone() -> None:
    with pytest.raises(TypeError, match="naive"):
        last_due(parse("0 8 * * *"), datetime(2026, 8, 17))


@pytest.mark.parametrize(
    ("text", "local", "expected"),
    [
        ("0 18 * * *", datetime(2026, 8, 17, 18), "2026-08-17"),
        ("0 8 * * 1", datetime(2026, 8, 17, 8), "2026-08-17"),
        ("0 8,18 * * *", datetime(2026, 8, 17, 18), "2026-08-17T18:00"),
        ("0,30 8 1 * *", datetime(2026, 8, 1, 8, 30), "2026-08-01T08:30"),
    ],
)
def test_an_occasion_names_the_time_only_where_a_date_has_several(text: str, local: datetime, expected: str) -> None:
    assert occasion(parse(text), Due(at("2026-08-17T00:00"), local)) == expected


def test_moving_a_daily_digest_to_the_evening_repeats_no_local_date() -> None:
    morning, evening = parse("0 8 * * * Europe/Berlin"), parse("0 18 * * * Europe/Berlin")
    moved = at("2026-08-17T10:00")
    before = [occasion(morning, due) for due in dues(morning, at("2026-08-15T00:00"), moved)]
    after = [occasion(evening, due) for due in dues(evening, moved, at("2026-08-19T00:00"))]
    assert before == ["2026-08-15", "2026-08-16", "2026-08-17"]
    assert after == ["2026-08-17", "2026-08-18"]


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("  00 08\t* *\n1   Europe/Berlin ", "0 8 * * 1 Europe/Berlin"),
        ("0 8 * * mon Europe/Berlin", "0 8 * * 1 Europe/Berlin"),
        ("0 8 * jan-Mar MON-FRI", "0 8 * 1-3 1-5 UTC"),
        ("0 8 * * 7", "0 8 * * 0 UTC"),
        ("7 7 7 7 5,7", "7 7 7 7 5,0 UTC"),
        ("7 7 7 7 5-7", "7 7 7 7 5-7 UTC"),
        ("0 8 l * 07L", "0 8 L * 0L UTC"),
        ("*/05 8 * * 7#2", "*/5 8 * * 0#2 UTC"),
    ],
)
def test_two_spellings_of_a_schedule_are_one(text: str, canonical: str) -> None:
    assert str(parse(text)) == canonical
    assert parse(canonical) == parse(text)


SUNDAYS = ["7", "0", "SUN", "MON", "1-7", "5-7", "0-7", "*/7", "0/7", "7/2", "7#2", "7L", "07", "0-7/7", "MON-SAT/2"]


@settings(deadline=None)
@given(st.lists(st.sampled_from(SUNDAYS), min_size=1, max_size=6))
def test_the_one_spelling_means_what_was_written(days: list[str]) -> None:
    written = f"07 7 07 */07 {','.join(days)}"
    year = (at("2026-01-01T00:00"), at("2027-01-01T00:00"))
    assert dues(parse(written), *year) == dues(Schedule(written, "UTC"), *year)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (None, "text"),
        (5, "text"),
        ("", "five fields"),
        ("0 8 * *", "five fields"),
        ("@daily", "five fields"),
        ("* * * * * *", "zone"),
        ("0 8 * * 1 Europe/Atlantis", "zone"),
        ("0 8 * * 1 europe/berlin", "zone"),
        ("0 8 * * 1 ../../etc/passwd", "zone"),
        ("0 8 * * 1 /etc/localtime", "zone"),
        ("0 8 * * 1 localtime", "zone"),
        ("0 8 * * 1 Europe", "zone"),
        ("0 8 * * 1 UTC\0", "zone"),
        ("0 8 * * 1 \ud800", "zone"),
        ("60 8 * * 1", "bad minute"),
        ("\0 8 * * 1", "bad minute"),
        ("0 \udfff * * 1", "bad hour"),
        ("0 24 * * 1", "bad hour"),
        ("0 8 ? * 1", "bad day-of-month"),
        ("0 8 * 13 1", "bad month"),
        ("0 8 * * FRI-SUN", "bad day-of-week"),
        ("0 0 31 2 *", "bad day-of-month"),
        ("0 0 */16 * 1#2", "never meet"),  # the 1st and 17th, on a second Monday
        ("0 8 * * " + "1," * 100_000, "200 characters"),
        (" " * 300 + "0 8 * * *", "200 characters"),
    ],
)
def test_what_is_no_schedule_is_refused_by_what_is_wrong_with_it(text: object, named: str) -> None:
    with pytest.raises(InvalidDocument, match=f"^schedule: .*{named}"):
        parse(text)


FIELDS = st.lists(st.text(alphabet="0123456789*/,-#LW?JANMOsun\u017f²", max_size=6), min_size=4, max_size=7)


@settings(deadline=None)
@given(st.one_of(st.text(max_size=300), FIELDS.map(" ".join)))
def test_any_text_is_a_schedule_or_refused_as_a_document(text: str) -> None:
    try:
        schedule = parse(text)
    except InvalidDocument as refusal:
        assert str(refusal).isascii()  # noqa: PT017
    else:
        assert parse(str(schedule)) == schedule


def test_every_zone_is_known_but_that_of_the_machine() -> None:
    assert {parse(f"0 8 * * 1 {zone}").zone for zone in ZONES} == ZONES


MINUTES = st.sampled_from(["0", "30", "10,50", "59", "*", "*/5", "*/15", "0,45", "7"])
HOURS = st.sampled_from(["*", "0", "1", "2", "3", "23", "*/2", "22-23,0-3", "12"])
DATES = st.sampled_from(["* * *", "* * 6", "*/2 * *", "L * *", "1-7 * 7", "13 * FRI"])


@cache
def changes() -> list[tuple[str, datetime]]:
    """Each change of a zone's clock in twenty years: the zone, and the first minute of the new time.

    Zones that change alike are here once.
    """
    zones = {tuple(_changes(ZoneInfo(zone))): zone for zone in sorted(ZONES)}
    return [(zone, change) for found, zone in zones.items() for change, _, _ in found]


def _changes(zone: ZoneInfo) -> Iterator[tuple[datetime, timedelta | None, timedelta | None]]:
    for monday in MONDAYS:
        old, new = zone.utcoffset(monday), zone.utcoffset(monday + WEEK)
        if old != new:
            minutes = range(WEEK // MINUTE)
            start = monday.replace(tzinfo=zone).astimezone(UTC)
            first = bisect_left(minutes, True, key=lambda m: (start + m * MINUTE).astimezone(zone).utcoffset() == new)
            yield start + first * MINUTE, old, new


def walked(schedule: Schedule, start: datetime, end: datetime) -> dict[datetime, datetime]:
    """What is due, by looking at the zone's clock minute by minute: instant -> latest nominal time."""
    zone = ZoneInfo(schedule.zone)
    minutes = [start + number * MINUTE for number in range((end - start) // MINUTE + 1)]
    clock = [minute.astimezone(zone).replace(tzinfo=None) for minute in minutes]
    dates = {reading.date() for reading in clock}
    nominal = iter(CronSim(schedule.cron, clock[0]))
    found, waiting = {}, next(nominal)
    for minute, reading in zip(minutes, clock, strict=True):
        while waiting <= reading:
            if waiting.date() in dates:
                found[minute] = waiting
            waiting = next(nominal)
    return found


@st.composite
def meetings(draw: st.DrawFn) -> tuple[Schedule, datetime]:
    """A schedule, and a change of its zone's clock."""
    zone, change = draw(st.sampled_from(changes()))
    return parse(f"{draw(MINUTES)} {draw(HOURS)} {draw(DATES)} {zone}"), change


@settings(deadline=None, max_examples=80)
@given(meetings())
def test_every_change_of_a_clock_is_met_as_the_clock_itself_shows_it(meeting: tuple[Schedule, datetime]) -> None:
    schedule, change = meeting
    start, end = change - 30 * HOUR, change + 30 * HOUR
    found = dues(schedule, start, end)
    assert {due.at: due.local for due in found} == walked(schedule, start, end)
    assert all(one.at < other.at for one, other in pairwise(found))


@settings(deadline=None, max_examples=100)
@given(meetings(), st.timedeltas(-2 * DAY, 2 * DAY))
def test_windows_tile_the_time_line(meeting: tuple[Schedule, datetime], offset: timedelta) -> None:
    schedule, now = meeting[0], meeting[1] + offset
    last = last_due(schedule, now)
    previous = previous_due(schedule, last)
    assert previous.at < last.at <= now
    assert dues(schedule, previous.at, now) == [last]
    assert last_due(schedule, last.at) == last
    assert last_due(schedule, last.at - TICK) == previous == last_due(schedule, previous.at)


def test_a_daily_schedule_is_due_once_on_each_date_that_there_is() -> None:
    """The hardest time of day at every change: the middle of what the clock skips or repeats."""
    for name, change in changes():
        zone = ZoneInfo(name)
        old = (change - MINUTE).astimezone(zone).replace(tzinfo=None) + MINUTE
        time = old + (change.astimezone(zone).replace(tzinfo=None) - old) / 2
        found = dues(parse(f"{time.minute} {time.hour} * * * {name}"), change - 4 * DAY, change + 4 * DAY)
        dates = sorted({(change + number * HOUR).astimezone(zone).date() for number in range(-48, 49)})
        assert [due.local.date() for due in found if dates[0] <= due.local.date() <= dates[-1]] == dates, (name, change)
        assert all(one.at < other.at for one, other in pairwise(found)), (name, change)
