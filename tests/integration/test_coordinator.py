"""The coordinator: one run a cohort and period, one obligation a subscriber, whoever starts it when and how often."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from threading import Barrier

import pytest

from emulator.firestore import Firestore
from emulator.tasks import CloudTasks
from ledgermail.app import App
from ledgermail.errors import LedgerUnavailable
from ledgermail.ledger import ids
from ledgermail.planning.coordinator import MOST_MISSED, Report
from tests.integration.conftest import Ground
from tests.integration.interruptions import Died, after, before, die
from tests.integration.planning import DAILY, Planning, at

RUN = "daily-digest:2100-08-16:~default"


@pytest.fixture
def plan(app: App, ground: Ground, tasks_server: CloudTasks) -> Planning:
    """A deployment whose only mailing is the daily digest, at 8:00 in UTC."""
    return Planning(app, ground, tasks_server, {"daily-digest": DAILY})


def digest(user_id: str, day: str = "2100-08-16") -> str:
    return ids.run_delivery_id(user_id, f"daily-digest:{day}")


# Once


def test_a_run_that_is_due_owes_each_subscriber_one_delivery_and_wakes_it(plan: Planning) -> None:
    plan.subscribe("u1", "u2")
    report = plan.tick(at(0))
    assert report.counts == {"opened": 1, "created": 2, "woken": 2}
    assert [delivery.id for delivery in plan.owed()] == [digest("u1"), digest("u2")]
    assert plan.ground.tasks() == sorted(ids.task_name(digest(user_id), 0) for user_id in ("u1", "u2"))
    run = plan.runs()[RUN]
    assert (run["state"], run["intended"], run["as_of"], run["due_at"]) == ("planned", 2, at(0), at(0, 8))
    assert {(d.period_start, d.period_end) for d in plan.owed()} == {(at(-1, 8), at(0, 8))}
    plan.ground.assert_identity()


def test_nothing_is_opened_before_it_is_due(plan: Planning) -> None:
    plan.subscribe("u1")
    plan.tick(at(0))
    assert plan.tick(at(1, 7.99)).counts["opened"] == 0
    assert plan.tick(at(1, 8)).counts["opened"] == 1


def test_five_ticks_in_the_hour_are_one_digest_and_none_in_the_hour_is_one_later(plan: Planning) -> None:
    plan.subscribe("u1")
    for minute in range(5):
        plan.tick(at(0, 8 + minute / 10))
    assert len(plan.owed()) == len(plan.runs()) == len(plan.ground.tasks()) == 1
    plan.tick(at(1, 7))
    plan.tick(at(1, 11))
    assert [delivery.id for delivery in plan.owed()] == [digest("u1"), digest("u1", "2100-08-17")]
    assert plan.owed()[1].period_start == plan.owed()[0].period_end


def test_a_tick_that_remembers_nothing_does_nothing_twice(plan: Planning) -> None:
    plan.subscribe("u1")
    plan.tick(at(0))
    plan.ground.db.collection("state").document("plan:daily-digest").delete()
    assert plan.tick(at(0, 12)).counts["opened"] == 0
    assert len(plan.owed()) == len(plan.ground.tasks()) == 1
    plan.ground.assert_identity()


def test_two_ticks_at_the_same_time_plan_each_delivery_once(plan: Planning) -> None:
    plan.subscribe(*(f"u{number}" for number in range(50)))
    together = Barrier(2)

    def tick(_: int) -> Report:
        coordinator = plan.another_instance(at(0))
        together.wait()
        return coordinator.tick()

    with ThreadPoolExecutor() as pool:
        reports = list(pool.map(tick, range(2)))
    assert sum(report.counts["opened"] for report in reports) == 1
    assert sum(report.counts["created"] for report in reports) == len(plan.ground.tasks()) == 50
    assert plan.runs()[RUN]["intended"] == 50
    plan.ground.assert_identity()


def test_a_clock_that_is_behind_opens_nothing_again(plan: Planning) -> None:
    plan.subscribe("u1")
    plan.tick(at(1))
    assert plan.tick(at(0, 12)).counts["opened"] == 0
    assert plan.tick(at(1, 9)).counts["opened"] == 0
    assert [delivery.id for delivery in plan.owed()] == [digest("u1", "2100-08-17")]


# Dying


@pytest.mark.parametrize(
    ("part", "method"), [("audience", "schedules"), ("audience", "page"), ("runs", "open"), ("runs", "unplanned")]
)
def test_the_schedule_comes_from_the_calendar_whatever_became_of_the_tick_before(
    part: str, method: str, plan: Planning
) -> None:
    """Also of the first one of all: nothing that a tick leaves behind is needed for the next."""
    plan.subscribe("u1")
    whole = plan.coordinator(at(0))
    dying: dict[str, object] = {part: before(getattr(whole, part), method, die)}
    with pytest.raises(Died):
        replace(whole, **dying).tick()  # type: ignore[arg-type]
    plan.tick(at(0, 9))
    plan.tick(at(1))
    assert [delivery.id for delivery in plan.owed()] == [digest("u1"), digest("u1", "2100-08-17")]
    plan.ground.assert_identity()


@pytest.mark.parametrize("interrupt", [before, after])
def test_a_tick_that_dies_around_its_tasks_leaves_them_to_the_sweep(interrupt: type, plan: Planning) -> None:
    plan.subscribe("u1")
    with pytest.raises(Died):
        plan.coordinator(at(0), tasks=interrupt(plan.app.tasks, "wake", die)).tick()
    assert plan.tick(at(0, 8.1)).counts["opened"] == 0
    replace(plan.app.sweeper, clock=plan.coordinator(at(0, 9)).clock, mailings=plan.mailings).sweep()
    assert ids.task_name(digest("u1"), 1) in plan.ground.tasks()


@pytest.mark.parametrize("code", ["UNAVAILABLE", "DEADLINE_EXCEEDED", "ABORTED", "INTERNAL"])
def test_a_run_whose_opening_was_not_answered_is_our_own(
    code: str, plan: Planning, project: str, controlled: Firestore
) -> None:
    plan.subscribe("u1")
    controlled.fail("Commit", project=project, collection="runs", when="after", code=code)
    assert plan.tick(at(0)).counts == {"opened": 1, "created": 1, "woken": 1}
    plan.ground.assert_identity()


@pytest.mark.parametrize("collection", ["runs", "state", "users"])
@pytest.mark.parametrize("rpc", ["Commit", "RunQuery", "BatchGetDocuments"])
def test_a_tick_that_firestore_does_not_answer_is_made_up_for_by_the_next(
    rpc: str, collection: str, plan: Planning, project: str, controlled: Firestore
) -> None:
    plan.subscribe("u1")
    controlled.fail(rpc, project=project, collection=collection, times=None, code="INTERNAL")
    with suppress(LedgerUnavailable):
        plan.tick(at(0))
    controlled.clear_faults()
    plan.tick(at(0, 8.1))
    assert [delivery.id for delivery in plan.owed()] == [digest("u1")]
    plan.ground.assert_identity()


# Late


def test_what_was_missed_for_longer_than_may_be_caught_up_is_on_record_once_and_owes_nothing(
    plan: Planning, capsys: pytest.CaptureFixture[str]
) -> None:
    plan.subscribe("u1")
    plan.tick(at(0))
    capsys.readouterr()
    report = plan.tick(at(3, 9))
    assert (report.counts["missed"], report.counts["opened"]) == (2, 1)
    assert capsys.readouterr().out.count('"event": "run.missed"') == 2
    states = {key.split(":")[1]: run["state"] for key, run in plan.runs().items()}
    assert states == {
        "2100-08-16": "planned",
        "2100-08-17": "missed",
        "2100-08-18": "missed",
        "2100-08-19": "planned",
    }
    assert {run["state"] for run in plan.runs().values() if "pruning_at" in run} == {"missed"}  # they go one day
    assert plan.tick(at(3, 9.1)).counts["missed"] == 0
    plan.ground.assert_identity()


def test_what_was_made_is_not_said_to_be_missed(plan: Planning) -> None:
    """By an instance that remembers an older time than the one that made it."""
    plan.subscribe("u1")
    plan.tick(at(0))
    stale = plan.ground.db.collection("state").document("plan:daily-digest")
    remembered = stale.get().to_dict()
    assert remembered is not None
    plan.tick(at(1))
    stale.set(remembered)
    plan.tick(at(2, 9))
    assert {run["state"] for run in plan.runs().values()} == {"planned"}
    assert len(plan.owed()) == 3


def test_all_that_may_be_caught_up_is_however_often_it_comes(plan: Planning) -> None:
    plan.subscribe("u1", schedule="*/5 * * * *")
    plan.tick(at(0, 0.01))
    periods = int(DAILY.catch_up / timedelta(minutes=5))
    assert periods > MOST_MISSED
    report = plan.tick(at(0, 16))
    mine = [delivery for delivery in plan.owed("u1") if delivery.period_end and delivery.period_end > at(0, 0.01)]
    assert (len(mine), report.counts["missed"]) == (periods, 16 * 12 - periods)


def test_of_what_was_missed_in_a_long_pause_the_latest_is_on_record(plan: Planning) -> None:
    hasty = replace(plan, mailings={"daily-digest": replace(DAILY, catch_up=timedelta(minutes=10))})
    hasty.subscribe("u1", schedule="*/5 * * * *")
    hasty.tick(at(0, 0.01))
    hasty.tick(at(1, 0.01))
    missed = [run["due_at"] for run in hasty.runs().values() if run["state"] == "missed" and run.get("schedule")]
    assert (len(missed), max(missed)) == (MOST_MISSED, at(1, 0) - timedelta(minutes=10))


def test_a_schedule_that_nobody_had_for_a_while_was_not_missed(plan: Planning) -> None:
    plan.subscribe("u1", schedule="0 9 * * *")
    plan.subscribe("u2")
    plan.tick(at(0, 9))
    plan.subscribe("u1")
    for day in range(1, 6):
        plan.tick(at(day, 9))
    plan.subscribe("u1", schedule="0 9 * * *")
    assert plan.tick(at(6, 9)).counts["missed"] == 0
