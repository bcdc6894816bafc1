"""A run in parts: each id range planned once to its end, wherever its planner dies, and the run closed once."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest

from emulator.firestore import Firestore
from emulator.tasks import CloudTasks
from ledgermail.app import App
from ledgermail.errors import LedgerUnavailable
from ledgermail.ledger import ids
from ledgermail.planning.audience import PAGE, Cohort
from ledgermail.planning.coordinator import STALE, Report
from ledgermail.planning.page import Page
from ledgermail.planning.run import run_of
from ledgermail.planning.run_store import Part
from ledgermail.planning.schedules import last_due, parse
from tests.integration.conftest import Ground
from tests.integration.interruptions import Died, after, before, die
from tests.integration.planning import DAILY, Planning, at
from tests.integration.scans import OVERDUE
from tests.samples import a_delivery

NOW = at(0)
RUN = "daily-digest:2100-08-16:~default"
NAMES = [f"u{number}" for number in range(9)]
UPTO = ["u2", "u5", ""]  # three parts with three users each
GIVEN_OUT_AGAIN = NOW + STALE + timedelta(seconds=1)


@pytest.fixture
def plan(app: App, ground: Ground, tasks_server: CloudTasks) -> Planning:
    """A deployment whose only mailing is the daily digest, at 8:00 in UTC."""
    return Planning(app, ground, tasks_server, {"daily-digest": DAILY})


@pytest.fixture
def opened(plan: Planning) -> Planning:
    """The same, with a run of nine users that is to be planned in three parts."""
    open_run(plan, NAMES, UPTO)
    return plan


def open_run(plan: Planning, names: list[str], upto: list[str]) -> None:
    """Open a run of these users, in parts up to these ids, without a first page."""
    plan.subscribe(*names)
    schedule = parse("0 8 * * *")
    cohort = Cohort(mailing="daily-digest", schedule=None)
    run = run_of(cohort, schedule, last_due(schedule, NOW), now=NOW)
    ranges = enumerate(zip(["", *upto[:-1]], upto, strict=True))
    parts = [Part(run=run, number=number, cursor=cursor, upto=end) for number, (cursor, end) in ranges]
    plan.coordinator(NOW).runs.open(run, Page(), parts, "opened")


def assert_planned(plan: Planning, names: list[str] = NAMES, *, swept: bool = False) -> None:
    """Everybody is owed one, the run is closed and says so, its parts are gone, and each delivery has its task."""
    if swept:
        later = plan.coordinator(GIVEN_OUT_AGAIN + DAILY.policy.slack + OVERDUE).clock
        replace(plan.app.sweeper, clock=later, mailings=plan.mailings).sweep()
    assert sorted(delivery.user_id for delivery in plan.owed()) == sorted(names)
    run = plan.runs()[RUN]
    assert (run["state"], run["intended"], run.get("duplicates", 0)) == ("planned", len(names), 0)
    assert plan.parts(RUN) == {}
    awake = {name.partition("-")[0] for name in plan.ground.tasks()}
    assert awake == {ids.task_name(delivery.id, 0).partition("-")[0] for delivery in plan.owed()}
    plan.ground.assert_identity()


def plan_all(plan: Planning) -> None:
    for number in range(len(UPTO)):
        plan.coordinator(NOW).plan_part(RUN, number)


# How an audience is parted


@pytest.mark.parametrize("count", [0, 1, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE])
def test_an_audience_of_any_size_is_planned_to_its_end(count: int, plan: Planning) -> None:
    names = [f"u{number:03}" for number in range(count)]
    plan.subscribe(*names)
    plan.tick(NOW)
    run = plan.runs()[RUN]
    assert (run["state"], run["parts"]) == (("planned", 0) if count < PAGE else ("planning", 1))
    plan.work_off(NOW)
    assert_planned(plan, names)
    assert plan.take_tasks() == []


def test_who_comes_or_leaves_while_a_run_is_planned_is_not_in(plan: Planning) -> None:
    names = [f"u{number:03}" for number in range(PAGE + 5)]
    plan.subscribe(*names)
    plan.tick(NOW)
    plan.subscribe("u300", since=NOW + timedelta(seconds=1))
    plan.subscribe(names.pop(), active=False)
    plan.subscribe(names.pop(), schedule="0 9 * * *")
    plan.work_off(NOW + timedelta(minutes=1))
    assert_planned(plan, names)


def test_whose_document_is_newer_than_the_run_is_not_in(app: App, plan: Planning) -> None:
    """By Firestore's clock, whatever the document says."""
    plan.subscribe("old")
    (old,) = plan.ground.db.collection("users").stream()
    created = old.create_time
    assert created is not None
    plan.subscribe("new")
    anytime = replace(plan, mailings={"daily-digest": replace(DAILY, catch_up=timedelta(days=2))})
    anytime.tick(created)
    assert {delivery.user_id for delivery in plan.owed()} == {"old"}


def test_what_exists_already_is_counted_of_the_first_page_and_of_the_parts(plan: Planning) -> None:
    names = [f"u{number:03}" for number in range(PAGE + 2)]
    plan.subscribe(*names)
    there = [ids.run_delivery_id(name, "daily-digest:2100-08-16") for name in (names[0], names[-1])]
    plan.ground.put([a_delivery(id=name) for name in there])
    plan.tick(NOW)
    plan.work_off(NOW)
    run = plan.runs()[RUN]
    assert (run["intended"], run["duplicates"]) == (PAGE, 2)


@pytest.mark.parametrize("names", [[], NAMES])
def test_a_run_that_owes_nothing_is_marked_for_the_pruner_and_no_other(names: list[str], plan: Planning) -> None:
    """No delivery of it will ever be pruned; and any other would cost each prune a read."""
    open_run(plan, names, UPTO)
    plan_all(plan)
    plan.tick(at(1))  # one without parts
    assert ["pruning_at" in run for run in plan.runs().values()] == [not names] * 2


# Dying


POINTS = [
    (interrupt, *point)
    for interrupt in (before, after)
    for point in (("audience", "page"), ("runs", "part"), ("runs", "add_page"), ("tasks", "wake"), ("runs", "close"))
]


@pytest.mark.parametrize(("interrupt", "part", "method"), POINTS)
def test_a_part_that_dies_anywhere_is_given_out_again_when_nobody_has_worked_on_it(
    interrupt: Callable[..., Any], part: str, method: str, opened: Planning
) -> None:
    """At each commit, and between a commit and its tasks; here in the part that comes last, so that it also closes."""
    for number in (0, 1):
        opened.coordinator(NOW).plan_part(RUN, number)
    whole = opened.coordinator(NOW)
    dying: dict[str, Any] = {part: interrupt(getattr(whole, part), method, die)}
    with pytest.raises(Died):
        replace(whole, **dying).plan_part(RUN, 2)
    opened.tick(NOW + timedelta(minutes=1))
    assert opened.take_tasks() == []
    opened.tick(GIVEN_OUT_AGAIN)
    opened.work_off(GIVEN_OUT_AGAIN)
    assert_planned(opened, swept=True)


@pytest.mark.parametrize("call", [1, 2])
@pytest.mark.parametrize("interrupt", [before, after])
def test_a_part_of_several_pages_goes_on_after_the_last_one_that_was_committed(
    interrupt: Callable[..., Any], call: int, plan: Planning
) -> None:
    names = [f"u{number:03}" for number in range(PAGE + 5)]
    open_run(plan, names, [""])
    whole = plan.coordinator(NOW)
    with pytest.raises(Died):
        replace(whole, runs=interrupt(whole.runs, "add_page", die, call=call)).plan_part(RUN, 0)
    done = [0, PAGE, PAGE + 5][call - (interrupt is before)]
    assert plan.parts(RUN)["0"]["intended"] == done
    assert plan.coordinator(NOW).plan_part(RUN, 0).counts["created"] == PAGE + 5 - done
    run = plan.runs()[RUN]
    assert (run["state"], run["intended"]) == ("planned", PAGE + 5)
    plan.ground.assert_identity()


@pytest.mark.parametrize("interrupt", [before, after])
def test_a_tick_that_dies_around_the_task_of_a_part_leaves_it_to_the_next(
    interrupt: Callable[..., Any], plan: Planning
) -> None:
    names = [f"u{number:03}" for number in range(PAGE + 5)]
    plan.subscribe(*names)
    with pytest.raises(Died):
        plan.coordinator(NOW, tasks=interrupt(plan.app.tasks, "go_on", die)).tick()
    plan.take_tasks()
    plan.tick(GIVEN_OUT_AGAIN)
    plan.work_off(GIVEN_OUT_AGAIN)
    assert_planned(plan, names)


def test_a_part_that_runs_out_of_time_goes_on_as_a_task(plan: Planning) -> None:
    names = [f"u{number:03}" for number in range(PAGE + 5)]
    open_run(plan, names, [""])
    readings = iter([0.0, 1e9])
    hurried = plan.coordinator(NOW)
    report = replace(hurried, clock=replace(hurried.clock, monotonic=lambda: next(readings))).plan_part(RUN, 0)
    assert (report.more, report.counts["created"]) == (True, PAGE)
    assert not plan.coordinator(NOW).plan_part(RUN, 0).more
    assert_planned(plan, names)


# Firestore does not answer


@pytest.mark.parametrize("code", ["UNAVAILABLE", "DEADLINE_EXCEEDED", "ABORTED", "INTERNAL"])
def test_a_page_whose_commit_was_not_answered_counts_once(
    code: str, opened: Planning, project: str, controlled: Firestore
) -> None:
    controlled.fail("Commit", project=project, collection="deliveries", when="after", times=1, code=code)
    plan_all(opened)
    assert_planned(opened)


@pytest.mark.parametrize("code", ["UNAVAILABLE", "DEADLINE_EXCEEDED", "ABORTED", "INTERNAL"])
def test_a_close_that_was_not_answered_is_one(code: str, opened: Planning, project: str, controlled: Firestore) -> None:
    controlled.fail("Commit", project=project, skip=3, when="after", times=1, code=code)
    plan_all(opened)
    assert_planned(opened)


@pytest.mark.parametrize("skip", range(4))
def test_a_commit_that_failed_is_made_up_for(skip: int, opened: Planning, project: str, controlled: Firestore) -> None:
    controlled.fail("Commit", project=project, skip=skip, times=4, code="INTERNAL")
    for number in range(len(UPTO)):
        with suppress(LedgerUnavailable):
            opened.coordinator(NOW).plan_part(RUN, number)
    controlled.clear_faults()
    opened.tick(GIVEN_OUT_AGAIN)
    opened.work_off(GIVEN_OUT_AGAIN)
    assert_planned(opened)


# Others at the same time


def test_a_part_that_is_given_out_twice_at_once_is_planned_once(opened: Planning) -> None:
    together = Barrier(6)

    def work(number: int) -> Report:
        coordinator = opened.another_instance(NOW)
        together.wait()
        return coordinator.plan_part(RUN, number % 3)

    with ThreadPoolExecutor(6) as pool:
        reports = list(pool.map(work, range(6)))
    assert sum(report.counts["created"] for report in reports) == len(opened.ground.tasks()) == len(NAMES)
    assert_planned(opened)


def test_a_planner_that_was_overtaken_stops_at_the_fence(opened: Planning) -> None:
    whole = opened.coordinator(NOW)
    slow = replace(whole, audience=after(whole.audience, "page", lambda: plan_all(opened)))
    assert slow.plan_part(RUN, 0).counts == {}
    assert_planned(opened)


def test_two_that_close_a_run_at_the_same_time_both_find_it_closed(opened: Planning) -> None:
    whole = opened.coordinator(NOW)
    for number in range(2):
        whole.plan_part(RUN, number)
    closes = before(whole.runs, "_parts", lambda: opened.coordinator(NOW).runs.close(RUN))
    replace(whole, runs=closes).plan_part(RUN, 2)
    assert_planned(opened)


def test_a_run_is_not_closed_before_its_last_part_is_done(opened: Planning) -> None:
    whole = opened.coordinator(NOW)
    whole.plan_part(RUN, 0)
    whole.plan_part(RUN, 2)
    assert not whole.runs.close(RUN)
    assert opened.runs()[RUN]["state"] == "planning"
    whole.plan_part(RUN, 1)
    assert_planned(opened)


def test_a_task_that_comes_again_when_all_is_planned_does_nothing(opened: Planning) -> None:
    plan_all(opened)
    plan_all(opened)
    assert opened.coordinator(NOW).plan_part(RUN, 7).counts == {}
    assert opened.coordinator(NOW).plan_part("daily-digest:2100-08-16:none", 0).counts == {}
    assert_planned(opened)


def test_a_run_whose_mailing_is_gone_is_named_and_not_given_out_for_ever(
    plan: Planning, capsys: pytest.CaptureFixture[str]
) -> None:
    plan.subscribe(*(f"u{number:03}" for number in range(PAGE + 1)))
    plan.tick(at(0))
    left = replace(plan, mailings={})
    assert left.tick(at(0) + 2 * STALE).counts["resumed"] == 0
    assert "run.mailing_gone" in capsys.readouterr().out
