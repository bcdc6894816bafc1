"""Ticks of the coordinator that run out of time: each goes on where the one before stopped, and everybody has a turn."""

from dataclasses import replace
from datetime import timedelta
from itertools import count

import pytest

from emulator.tasks import CloudTasks
from ledgermail.app import App
from ledgermail.planning.audience import Cohort
from ledgermail.planning.coordinator import Coordinator
from tests.integration.conftest import Ground
from tests.integration.planning import DAILY, Planning, at


@pytest.fixture
def plan(app: App, ground: Ground, tasks_server: CloudTasks) -> Planning:
    """A deployment whose only mailing is the daily digest, at 8:00 in UTC."""
    return Planning(app, ground, tasks_server, {"daily-digest": DAILY})


def test_ticks_that_run_out_of_time_go_on_with_the_rest(plan: Planning) -> None:
    plan.subscribe("u1")
    plan.subscribe("u2", schedule="0 7 * * *")
    plan.subscribe("u3", schedule="0 6 * * *")
    report = hurried(plan).tick()
    assert report.more
    assert [delivery.user_id for delivery in plan.owed()] == ["u3"]
    assert not plan.coordinator(at(0)).tick(report.left_at).more
    assert len(plan.owed()) == 3


def test_however_little_time_ticks_have_each_mailing_and_schedule_has_its_turn(plan: Planning) -> None:
    """With some thousand schedules in use, it takes longer to find them all than a tick may take."""
    both = replace(plan, mailings={name: replace(DAILY, name=name) for name in ("weekly-digest", "daily-digest")})
    for mailing in both.mailings:
        for number, schedule in enumerate(["0 6 * * *", "0 7 * * *", "at noon", "z" * 200, "z" * 300]):
            plan.subscribe(f"{mailing}{number}", mailing=mailing, schedule=schedule)
        plan.subscribe(f"{mailing}-own", mailing=mailing)
    ticks = work_off(both)
    assert len({delivery.user_id for delivery in plan.owed()}) == 12
    assert ticks == 2 * 5 + 1
    assert both.tick(at(0)).counts["opened"] == 0


def test_ticks_without_time_forget_the_schedules_that_nobody_has_any_more(plan: Planning) -> None:
    plan.subscribe("u1", schedule="0 6 * * *")
    plan.subscribe("u2", schedule="0 7 * * *")
    plan.tick(at(0))
    plan.subscribe("u1")
    work_off(plan)
    remembered = plan.ground.db.collection("state").document("plan:daily-digest").get().to_dict()
    assert remembered is not None
    assert set(remembered["planned"]) == {"0%207%20%2A%20%2A%20%2A", "~default"}


def test_one_who_wants_a_digest_every_minute_keeps_nobody_waiting(plan: Planning) -> None:
    """Anybody may write such a schedule: what is due of it at once takes longer than a tick may take."""
    plan.subscribe("u1", schedule="* * * * *")
    plan.subscribe("u2", schedule="0 7 * * *")
    plan.subscribe("u3")
    first = hurried(plan, time_box=timedelta(seconds=5)).tick()
    assert first.counts["opened"] <= 6
    work_off(plan, first.left_at)
    assert {"u2", "u3"} <= {delivery.user_id for delivery in plan.owed()}
    hers = plan.owed("u1")
    assert hurried(plan).tick().counts["opened"] == 1
    assert plan.owed("u1")[:-1] == hers, "the next tick goes on where this one has left"
    plan.ground.assert_identity()


def test_more_schedules_than_can_be_remembered_stop_no_planning(plan: Planning) -> None:
    """Some thousand people may have each set their own: the document that remembers them cannot hold any number."""
    both = replace(plan, mailings={name: replace(DAILY, name=name) for name in ("daily-digest", "weekly-digest")})
    plan.subscribe("u1", schedule="0 6 * * *")
    plan.subscribe("u2")
    plan.subscribe("u3", mailing="weekly-digest")
    names = [Cohort(mailing="daily-digest", schedule=f"z{number:,>190}").name for number in range(6010)]
    state = plan.ground.db.collection("state").document("plan:daily-digest")
    state.set({"planned": dict.fromkeys(names, at(0)), "schedule": str(DAILY.schedule), "changed_at": None})
    left_at = hurried(both).tick().left_at
    assert len((state.get().to_dict() or {})["planned"]) in range(5000, 6010)
    while left_at is not None:
        left_at = hurried(both).tick(left_at).left_at
    assert {delivery.user_id for delivery in plan.owed()} == {"u1", "u2", "u3"}


def hurried(plan: Planning, time_box: timedelta = timedelta()) -> Coordinator:
    """A coordinator that takes a second from each look at the clock to the next."""
    readings = count()
    coordinator = plan.coordinator(at(0), time_box=time_box)
    return replace(coordinator, clock=replace(coordinator.clock, monotonic=lambda: float(next(readings))))


def work_off(plan: Planning, left_at: Cohort | None = None) -> int:
    """Ticks without any time, each where the one before stopped, until there is no more to do; how many."""
    for ticks in range(1, 50):
        report = hurried(plan).tick(left_at)
        left_at = report.left_at
        if not report.more:
            return ticks
    raise AssertionError("ticks come to no end")
