"""Schedules in a person's words, and back."""

from importlib.resources import files

import pytest

from ledgermail.errors import InvalidDocument
from ledgermail.planning.schedules import is_zone, parse
from ledgermail.preferences.schedule_words import DAYS, HOURS, Simple, in_words, schedule_of, simple, zones_by_region


@pytest.mark.parametrize("day", DAYS)
@pytest.mark.parametrize("hour", HOURS)
def test_every_day_and_hour_that_can_be_chosen_is_a_schedule_that_reads_as_them(day: str, hour: str) -> None:
    schedule = schedule_of(Simple(day, hour), "Europe/Berlin")
    assert simple(parse(str(schedule))) == Simple(day, hour)
    assert in_words(schedule) == f"{DAYS[day]} at {HOURS[hour]} (Berlin time)"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0 8 * * MON Europe/Berlin", "every Monday at 08:00 (Berlin time)"),
        ("00 08 * * 7", "every Sunday at 08:00 (UTC)"),
        ("0 8 * * 1-5 America/Argentina/Buenos_Aires", "Monday to Friday at 08:00 (Buenos Aires time)"),
        ("30 8 * * 1 Etc/GMT+5", "at 08:30 on Monday (Etc/GMT+5)"),
        ("0 8,18 * * * UTC", "at 08:00 and 18:00 every day (UTC)"),
        ("*/15 9-17 * * 1-5", "every 15th minute from 09:00 through 17:59 on Monday through Friday (UTC)"),
        ("0 8 1 * *", "at 08:00 on the first day of every month (UTC)"),
        ("0 8 29 2 1", "at 08:00 on the 29th day of the month and on Monday in February (UTC)"),
    ],
)
def test_any_schedule_is_told_in_words(text: str, words: str) -> None:
    assert in_words(parse(text)) == words


@pytest.mark.parametrize("text", ["30 8 * * *", "0 8 1 * *", "0 8 * 1 *", "0 8 * * 1,2", "0 */2 * * *", "0 8,9 * * *"])
def test_what_is_not_so_simple_is_not_taken_for_it(text: str) -> None:
    assert simple(parse(text)) is None


def test_a_zone_that_is_none_makes_no_schedule() -> None:
    with pytest.raises(InvalidDocument, match="the zone is not known"):
        schedule_of(Simple("*", "8"), "Mars/Base")


def test_the_zones_to_choose_from_are_known_and_each_is_there_once() -> None:
    listed = [zone for zones in zones_by_region().values() for zone in zones]
    assert len(listed) == len(set(listed)) > 300
    assert all(is_zone(zone) for zone in listed)
    assert {"Europe/Berlin", "Asia/Kolkata", "America/New_York"} <= set(listed)
    assert files("tzdata").joinpath("zoneinfo", "zone.tab").is_file()
