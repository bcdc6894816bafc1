"""Who turns a mailing on again gets what comes from then on: not what was missed, however long it was off."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from emulator.tasks import CloudTasks
from ledgermail.app import App
from ledgermail.planning.lookback import look_back
from ledgermail.planning.schedules import parse
from ledgermail.preferences.preferences import Wish, changed, changes
from tests.integration.conftest import Ground
from tests.integration.planning import HOUR, WEEKLY, Planning, a_subscriber, at
from tests.integration.scans import MAILING, scanner_of
from tests.samples import NOW, a_match, a_user

DAILY = replace(WEEKLY, name="daily-digest", schedule=parse("0 8 * * *"))


@pytest.fixture
def plan(app: App, ground: Ground, tasks_server: CloudTasks) -> Planning:
    return Planning(app, ground, tasks_server, {"daily-digest": DAILY})


def choose(plan: Planning, now: datetime, user: Mapping[str, Any], **wish: Any) -> dict[str, Any]:
    """What the preferences page makes of the document at this time."""
    after = changed(user, changes(user, plan.mailings, Wish(**wish), now))
    plan.users({"u1": after})
    return after


def turn(plan: Planning, now: datetime, user: Mapping[str, Any], on: bool) -> dict[str, Any]:
    return choose(plan, now, user, active={"daily-digest": on})


def periods(plan: Planning) -> list[tuple[datetime | None, datetime | None]]:
    return [(delivery.period_start, delivery.period_end) for delivery in plan.owed("u1")]


def test_after_days_without_it_the_first_digest_begins_when_it_was_turned_on(plan: Planning) -> None:
    user = a_subscriber("u1")
    plan.users({"u1": user})
    plan.match("u1", [at(day, 12) for day in range(8)])
    plan.tick(at(1))
    user = turn(plan, at(1, 10), user, on=False)
    for day in (2, 3, 4, 5):
        plan.tick(at(day))
    turn(plan, at(5, 10), user, on=True)
    plan.tick(at(6))
    plan.tick(at(7))
    assert periods(plan)[-3:] == [(at(0, 8), at(1, 8)), (at(5, 10), at(6, 8)), (at(6, 8), at(7, 8))]
    assert [plan.jobs(delivery) for delivery in plan.owed("u1")][-3:] == [["j0"], ["j5"], ["j6"]]
    plan.ground.assert_identity()


def test_so_it_does_when_its_schedule_is_changed_afterwards(plan: Planning) -> None:
    """Whose preferences changed has a period from the last digest on, which here is from before the pause."""
    user = a_subscriber("u1")
    plan.users({"u1": user})
    plan.tick(at(1))
    user = turn(plan, at(1, 10), user, on=False)
    plan.tick(at(5))
    user = turn(plan, at(5, 10), user, on=True)
    choose(plan, at(5, 11), user, schedules={"daily-digest": parse("0 18 * * *")})
    plan.tick(at(5, 18.1))
    plan.tick(at(6, 18.1))
    assert periods(plan)[-3:] == [(at(0, 8), at(1, 8)), (at(5, 10), at(5, 18)), (at(5, 18), at(6, 18))]


def test_a_slip_that_is_undone_at_once_loses_nothing(plan: Planning) -> None:
    user = a_subscriber("u1")
    plan.users({"u1": user})
    plan.tick(at(1))
    user = turn(plan, at(1, 10), user, on=False)
    turn(plan, at(1, 10) + HOUR / 60, user, on=True)
    plan.tick(at(2))
    assert periods(plan)[-2:] == [(at(0, 8), at(1, 8)), (at(1, 8), at(2, 8))]


def test_who_turns_it_on_between_the_due_time_and_a_late_tick_is_owed_the_next_one(plan: Planning) -> None:
    user = a_subscriber("u1") | {"mailings": {"daily-digest": {"active": False}}}
    plan.users({"u1": user})
    turn(plan, at(1, 8.01), user, on=True)
    plan.tick(at(1, 8.05))
    assert periods(plan) == []
    plan.tick(at(2))
    assert periods(plan) == [(at(1, 8.01), at(2, 8))]
    plan.ground.assert_identity()


def test_an_alert_of_before_is_not_found_by_the_look_back(app: App, ground: Ground) -> None:
    """It finds what was committed late, and would take what came while the mailing was off for that."""
    on = {"job-alert": {"active": True, "since": NOW - HOUR, "resumed_at": NOW - HOUR}}
    ground.user("u1", a_user(mailings=on))
    for job, hours in (("newest", 0.1), ("before", 2), ("after", 0.5)):
        ground.match(job, a_match(job_id=job, matched_at=NOW - hours * HOUR))
        scanner_of(app).scan(MAILING)
    look_back(scanner_of(app), MAILING)
    assert set(ground.deliveries()) == {"u1_newest", "u1_after"}
