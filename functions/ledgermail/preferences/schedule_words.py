"""Schedules in a person's words: a day, an hour and a zone; what is not so simple is told as it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from importlib.resources import files

from ledgermail.planning.schedules import Schedule, parse

# The day-of-week field of a cron line -> how people call it.
DAYS: Mapping[str, str] = {
    "*": "every day",
    "1-5": "Monday to Friday",
    "1": "every Monday",
    "2": "every Tuesday",
    "3": "every Wednesday",
    "4": "every Thursday",
    "5": "every Friday",
    "6": "every Saturday",
    "0": "every Sunday",
}
HOURS: Mapping[str, str] = {str(hour): f"{hour:02}:00" for hour in range(24)}
UTC = "UTC"


@dataclass(frozen=True)
class Simple:
    """A full hour on some days of the week: a key of DAYS and one of HOURS."""

    day: str
    hour: str


def simple(schedule: Schedule) -> Simple | None:
    """What a schedule is in simple terms; None for one that is not so simple."""
    minute, hour, day_of_month, month, day = schedule.cron.split()
    if (minute, day_of_month, month) == ("0", "*", "*") and hour in HOURS and day in DAYS:
        return Simple(day, hour)
    return None


def schedule_of(chosen: Simple, zone: str) -> Schedule:
    """The schedule that somebody chose. Raises InvalidDocument for a zone that is not known."""
    return parse(f"0 {chosen.hour} * * {chosen.day} {zone}")


def in_words(schedule: Schedule) -> str:
    """A schedule in words, any that there is: ``every Monday at 08:00 (Berlin time)``."""
    from cronsim import CronSim

    known = simple(schedule)
    if known is not None:
        words = f"{DAYS[known.day]} at {HOURS[known.hour]}"
    else:
        told = CronSim(schedule.cron, datetime(2000, 1, 1)).explain()
        words = told[:1].lower() + told[1:].replace("day of month", "day of the month")
    return f"{words} ({zone_in_words(schedule.zone)})"


def zone_in_words(zone: str) -> str:
    """``Berlin time``; the name as it is for a zone that is no place."""
    return f"{place_of(zone)} time" if "/" in zone and not zone.startswith("Etc/") else zone


def place_of(zone: str) -> str:
    """The place that a zone is named for, without its region."""
    return zone.rpartition("/")[2].replace("_", " ")


@cache
def zones_by_region() -> Mapping[str, tuple[str, ...]]:
    """The zones that people live in, by region, each once and in order of its name: for a list to choose from."""
    listed: dict[str, list[str]] = {}
    for line in files("tzdata").joinpath("zoneinfo", "zone.tab").read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            zone = line.split("\t")[2]
            listed.setdefault(zone.partition("/")[0], []).append(zone)
    return {region: tuple(sorted(zones)) for region, zones in sorted(listed.items())}
