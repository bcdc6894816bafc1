"""Who changes the schedule of a digest loses no match, gets none twice, and no second mail on a local date."""

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from google.cloud import firestore

from emulator.tasks import CloudTasks
from ledgermail.app import App
from ledgermail.planning.audience import PAGE, Audience
from ledgermail.planning.schedules import parse
from tests.integration.conftest import Ground
from tests.integration.planning import HOUR, MONDAY, WEEKLY, Planning, a_subscriber, at

DAYS = 10
HOURS = (8.98, 18.98, 23.98)  # of each day at which there is a tick
# user -> the schedule before, the one after, and when it is changed. The minutes tell cohorts apart.
CHANGES: dict[str, tuple[str | None, str | None, datetime]] = {
    "later_in_the_day": ("1 8 * * * UTC", "1 18 * * * UTC", at(2, 12)),
    "earlier_in_the_day": ("2 18 * * * UTC", "2 8 * * * UTC", at(2, 12)),
    "earlier_before_either": ("3 18 * * * UTC", "3 8 * * * UTC", at(2, 4)),
    "earlier_after_both": ("4 18 * * * UTC", "4 8 * * * UTC", at(2, 20)),
    "at_the_due_time": ("5 8 * * * UTC", "5 18 * * * UTC", at(2, 8) + HOUR / 12),
    "daily_to_weekly": ("6 8 * * * UTC", "6 8 * * 1 UTC", at(2, 12)),
    "weekly_to_daily": ("7 8 * * 1 UTC", "7 8 * * * UTC", at(2, 12)),
    "weekly_to_an_earlier_day": ("8 8 * * 3 UTC", "8 8 * * 1 UTC", at(2, 12)),
    "weekly_to_a_later_day": ("9 8 * * 1 UTC", "9 8 * * 3 UTC", at(1, 12)),
    "to_the_mailings": ("10 8 * * * UTC", None, at(2, 12)),
    "from_the_mailings": (None, "11 18 * * * UTC", at(2, 12)),
    "to_the_east": ("12 8 * * * UTC", "12 8 * * * Asia/Tokyo", at(2, 12)),
    "to_the_west": ("13 8 * * * Asia/Tokyo", "13 8 * * * Pacific/Honolulu", at(2, 12)),
    "to_the_same_time_elsewhere": ("14 23 * * * UTC", "14 8 * * * Asia/Tokyo", at(2, 23.5)),
    "to_the_same_in_other_words": ("15 8 * * * UTC", "15  08 * * *", at(2, 12)),
    "to_what_is_none": ("16 8 * * * UTC", "at noon", at(2, 12)),
    "to_twice_a_day": ("17 8 * * * UTC", "17 8,18 * * * UTC", at(2, 12)),
    "from_twice_a_day": ("18 8,18 * * * UTC", "18 9 * * * UTC", at(2, 12)),
}
OFTEN = {"to_twice_a_day", "from_twice_a_day"}  # who wants more than one on a date
FEW = ("later_in_the_day", "daily_to_weekly", "weekly_to_daily", "weekly_to_an_earlier_day", "to_the_west")


@pytest.fixture
def plan(app: App, ground: Ground, tasks_server: CloudTasks) -> Planning:
    """A mailing at 8:00 in UTC every day, which may be caught up as long as a weekly one."""
    mailing = replace(WEEKLY, name="daily-digest", schedule=parse("0 8 * * *"))
    return Planning(app, ground, tasks_server, {"daily-digest": mailing})


def _with(schedule: str | None) -> dict[str, Any]:
    return {} if schedule is None else {"schedule": schedule}


def drive(plan: Planning, names: Collection[str]) -> None:
    """Tick, and change each schedule when its time comes."""
    times = [at(day, hour) for day in range(DAYS) for hour in HOURS]
    changes = {CHANGES[name][2]: [other for other in names if CHANGES[other][2] == CHANGES[name][2]] for name in names}
    plan.users({name: a_subscriber(name, **_with(CHANGES[name][0])) for name in names})
    for now in sorted([*times, *changes]):
        plan.tick(now)
        if now in changes:
            plan.users({name: a_subscriber(name, **_with(CHANGES[name][1]), since=now) for name in changes[now]})


def test_a_changed_schedule_loses_nothing_and_repeats_nothing(plan: Planning) -> None:
    drive(plan, CHANGES)
    assert_whole(plan, CHANGES)


def test_nor_does_one_that_others_have_already(plan: Planning) -> None:
    for name in FEW:
        plan.subscribe(f"other_{name}", **_with(CHANGES[name][1]))
    drive(plan, FEW)
    assert_whole(plan, FEW)


def assert_whole(plan: Planning, names: Collection[str]) -> None:
    """Each period begins where the one before ended, the last one is recent, and each has a local date of its own."""
    all_owed = plan.owed()
    for name in names:
        owed = [delivery for delivery in all_owed if delivery.user_id == name]
        borders = [(one.period_end, other.period_start) for one, other in pairwise(owed)]
        assert [(end, start) for end, start in borders if end != start] == [], name
        assert (owed[-1].period_end or MONDAY) > at(DAYS - 8), name
        dates = Counter(_local_date(name, delivery.due_at) for delivery in owed)
        assert name in OFTEN or max(dates.values()) == 1, (name, dates)
    plan.ground.assert_identity()


def _local_date(name: str, due_at: datetime) -> str:
    before, after, when = CHANGES[name]
    zone = ((before if due_at <= when else after) or "").split()[-1:]
    return due_at.astimezone(ZoneInfo(zone[0] if "/" in "".join(zone) else "UTC")).date().isoformat()


@pytest.mark.parametrize(
    ("before", "after", "when"),
    [
        ("0 8 * * *", "0 18 * * *", at(2, 12)),
        ("0 18 * * *", "0 8 * * *", at(2, 12)),
        ("0 8 * * *", "0 8,18 * * *", at(2, 12)),
        ("0 8 * * 1", "0 8 * * 5", at(2, 12)),
        ("0 8 * * 5", "0 8 * * 3", at(1, 12)),
        ("0 8 * * 1", "0 8 * * *", at(5, 12)),
        ("0 8 * * *", "0 8 * * 1", at(2, 12)),
    ],
)
def test_nor_does_one_that_the_mailing_has(before: str, after: str, when: datetime, plan: Planning) -> None:
    """Whoever has none of their own, or what is none, follows it; who has one is left alone, and nothing was missed."""
    plan.subscribe("u1")
    plan.subscribe("u2", schedule="at noon")
    plan.subscribe("u3", schedule="0 7 * * *")
    plan.subscribe("u4", schedule="at noon, and on Sundays " * 8)
    for hour in range(-8 * 24, DAYS * 24, 3):
        by(plan, after if at(0, hour) >= when else before).tick(at(0, hour))
    for user_id in ("u1", "u2", "u3", "u4"):
        owed = plan.owed(user_id)
        borders = [(one.period_end, other.period_start) for one, other in pairwise(owed)]
        assert [(end, start) for end, start in borders if end != start] == [], user_id
        assert (owed[-1].period_end or MONDAY) > at(DAYS - 8), user_id
        assert "," in after or max(Counter(d.due_at.date() for d in owed).values()) == 1
    assert {run["state"] for run in plan.runs().values()} == {"planned"}
    plan.ground.assert_identity()


@pytest.mark.parametrize("preferences", [{"since": at(0, 9)}, {"since": at(0, 9), "resumed_at": at(0, 9)}])
def test_nor_does_it_lose_a_match_of_one_who_came_since_the_last_digest(
    preferences: dict[str, Any], plan: Planning
) -> None:
    """The next one by the schedule before would have begun where the last one ended, before they came."""
    weekly, daily = by(plan, "0 8 * * 1"), by(plan, "0 8 * * *")
    weekly.tick(at(0))
    plan.subscribe("u1", **preferences)
    daily.tick(at(5))
    first, *others = plan.owed("u1")
    assert (first.period_start or MONDAY) <= at(0, 9)
    assert [(one.period_start, one.period_end) for one in others] == [(at(day, 8), at(day + 1, 8)) for day in (3, 4)]


def test_nor_does_their_own_schedule_where_they_say_when_they_turned_it_on(plan: Planning) -> None:
    weekly = by(plan, "0 8 * * 1")
    plan.subscribe("u1", resumed_at=at(0, 9), since=at(4), schedule="0 8 * * *")
    weekly.tick(at(5))
    assert plan.owed("u1")[0].period_start == at(0, 9)


def by(plan: Planning, schedule: str) -> Planning:
    """The same, with this for the mailing's own schedule."""
    mailings = {name: replace(mailing, schedule=parse(schedule)) for name, mailing in plan.mailings.items()}
    return replace(plan, mailings=mailings)


class Meanwhile(Audience):
    """Another part is planned between the answer to where somebody's last digest ended and what is made of it."""

    def __init__(self, client: firestore.Client) -> None:
        super().__init__(client)
        self.others: list[Callable[[], object]] = []

    def covered_until(  # type: ignore[explicit-override] # typing has the decorator from Python 3.12 on
        self, user_id: str, mailing: str
    ) -> datetime | None:
        end = super().covered_until(user_id, mailing)
        if self.others:
            self.others.pop()()
        return end


def test_nor_does_it_where_several_large_runs_come_due_by_it_at_once(plan: Planning) -> None:
    """Planned side by side, each would begin where the last digest before all of them ended."""
    names = [f"u{number:03}" for number in range(PAGE + 1)]
    plan.subscribe(*names)
    weekly, daily = by(plan, "0 8 * * 1"), by(plan, "0 8 * * *")
    weekly.tick(at(0))
    weekly.work_off(at(0))
    audience = Meanwhile(plan.ground.db)
    coordinator = daily.coordinator(at(3), audience=audience)
    for _ in range(4):
        coordinator.tick()
        audience.others = [partial(coordinator.plan_part, body["run_key"], body["part"]) for body in plan.take_tasks()]
        while audience.others:
            audience.others.pop()()
    owed = plan.owed(names[-1])
    assert [(one.period_start, one.period_end) for one in owed[1:]] == [
        (at(day, 8), at(day + 1, 8)) for day in range(3)
    ]
    assert {run["state"] for run in plan.runs().values()} == {"planned"}
