"""What makes a status not well, besides age: the breaker, a run that should exist, an identity broken for long."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from emulator import firestore as local_firestore
from emulator.firestore import Firestore
from emulator.tasks import CloudTasks
from ledgermail.app import App
from ledgermail.clock import Clock
from ledgermail.planning.schedules import parse
from ledgermail.status.health import Kind
from ledgermail.status.status import IDENTITY_GRACE, StatusReport
from tests.integration.conftest import Ground
from tests.integration.planning import DAILY, HOUR, SHIPMENTS, Planning, at
from tests.integration.scans import MAILING, RUN, scanner_of, seed
from tests.integration.test_status import statuses_of
from tests.samples import NOW, a_delivery

MINUTE = timedelta(minutes=1)
JUST_DUE = at(0, 8)


@pytest.fixture(scope="module")
def firestore_server(request: pytest.FixtureRequest) -> Iterator[Firestore]:
    """A Firestore of these tests' own: they move its clock."""
    with local_firestore.start(request.config.getoption("--firestore")) as server:
        yield server


@pytest.fixture
def plan(app: App, ground: Ground, tasks_server: CloudTasks) -> Planning:
    """A deployment with a daily digest and a daily report."""
    return Planning(app, ground, tasks_server, {"daily-digest": DAILY, "shipment-digest": SHIPMENTS})


def look(plan: Planning, now: datetime, runs: int = 10) -> StatusReport:
    statuses = App(plan.app.settings, plan.mailings, Clock(now=lambda: now)).statuses
    return statuses.report(runs)


def kinds(report: StatusReport) -> list[str]:
    return [problem.kind for problem in report.problems]


def publish(plan: Planning, version: str, published_at: datetime, topic: str = "school") -> None:
    versions = plan.ground.db.collection("reports").document(topic).collection("versions")
    versions.document(version).set({"published_at": published_at, "rows": [{}]})


# The breaker


@pytest.mark.parametrize(("until", "found"), [(NOW + MINUTE, [Kind.BREAKER]), (NOW, [])])
def test_an_open_breaker_is_not_well_until_it_closes(
    until: datetime, found: list[Kind], app: App, ground: Ground
) -> None:
    ground.db.document("state/gate").set({"breaker": {"open_until": until, "reason": "403"}})
    for runs in (0, 10):
        assert kinds(statuses_of(app).report(runs)) == found


def test_a_pause_is_told_and_is_well(app: App, ground: Ground) -> None:
    ground.db.document("state/gate").set({"paused": True})
    report = statuses_of(app).report()
    assert (report.healthy, report.seen.gate.paused) == (True, True)


# A run that should exist


@pytest.mark.parametrize("runs", [0, 10])
def test_a_run_that_nobody_opens_is_told_once_it_is_older_than_promised(plan: Planning, runs: int) -> None:
    plan.subscribe("u1")
    plan.tick(at(-1))
    assert look(plan, JUST_DUE + DAILY.promise - MINUTE, runs).seen.never_made == []
    late = look(plan, JUST_DUE + DAILY.promise, runs)
    assert [run.key for run in late.seen.never_made] == ["daily-digest:2100-08-16:~default"]
    assert kinds(late) == [Kind.LATE, Kind.MISSING]  # yesterday's digest waits, too
    plan.tick(JUST_DUE + DAILY.promise)
    assert look(plan, JUST_DUE + DAILY.promise, runs).seen.never_made == []


def test_a_coordinator_that_has_never_run_is_told(plan: Planning) -> None:
    assert [run.mailing for run in look(plan, at(0, 12)).seen.never_made] == ["daily-digest"]


def test_the_run_of_a_schedule_of_users_own_is_missed_as_well(plan: Planning) -> None:
    plan.subscribe("u1", schedule="30 9 * * * Asia/Tokyo")
    plan.subscribe("u2", schedule="no schedule at all")
    plan.tick(at(-1, 12))
    due = at(0, 0.5)
    assert look(plan, due + DAILY.promise - MINUTE).seen.never_made == []
    (run,) = look(plan, due + DAILY.promise).seen.never_made
    assert (run.schedule, run.due_at) == ("30 9 * * * Asia/Tokyo", due)
    late = look(plan, JUST_DUE + DAILY.promise).seen.never_made
    assert {run.schedule for run in late} == {None, "30 9 * * * Asia/Tokyo", "no schedule at all"}


def test_a_report_that_was_not_published_is_not_owed_yet(plan: Planning) -> None:
    publish(plan, "v1", at(-1, 6))
    plan.subscribe("u1", mailing="shipment-digest", topics=["school"])
    plan.tick(at(-1))
    late = at(0, 7) + SHIPMENTS.promise
    assert "shipment-digest" not in {run.mailing for run in look(plan, late).seen.never_made}
    publish(plan, "v2", at(0, 7.5))
    assert "shipment-digest" in {run.mailing for run in look(plan, late).seen.never_made}
    plan.tick(late)
    assert "shipment-digest" not in {run.mailing for run in look(plan, late).seen.never_made}


def test_reports_that_are_waited_for_do_not_hide_one_that_is_missing(plan: Planning) -> None:
    topics = ["clinic", "office", "school"]
    for topic in topics:
        publish(plan, "v1", at(-1, 6), topic)
    plan.subscribe("u1", mailing="shipment-digest", topics=topics)
    plan.tick(at(-1))
    publish(plan, "v2", at(0, 6), "school")
    looks = [look(plan, at(0, 7) + SHIPMENTS.promise + minutes * MINUTE, 0) for minutes in (0, 5)]
    assert {run.topic for seen in looks for run in seen.seen.never_made if run.topic} == {"school"}


def test_a_run_that_was_made_and_is_gone_is_told(plan: Planning) -> None:
    plan.subscribe("u1")
    plan.tick(at(0))
    assert look(plan, at(0, 9)).healthy
    for key in plan.runs():
        plan.ground.db.document(f"runs/{key}").delete()
    (run,) = look(plan, at(0, 8.5)).seen.gone
    assert run.key == "daily-digest:2100-08-16:~default"
    assert kinds(look(plan, at(0, 8.5))) == [Kind.MISSING]


def test_a_cohort_that_nothing_was_due_for_yet_owes_no_run(plan: Planning) -> None:
    plan.subscribe("u1", schedule="0 9 * * 5")
    plan.tick(at(0))
    assert look(plan, at(1, 7)).healthy


@pytest.mark.parametrize("schedule", ["0 8,20 * * * UTC", "30 8 * * * UTC", "0 6 * * * UTC", "0 17 * * * Asia/Tokyo"])
def test_a_changed_schedule_is_well_before_and_after_the_coordinator_has_seen_it(schedule: str, plan: Planning) -> None:
    """`status` is deployed before `plan`: until then it judges by the schedule that was planned by."""
    plan.subscribe("u1")
    plan.tick(at(0))
    plan.tick(now := at(0, 11))
    for delivery in plan.ground.deliveries():
        plan.ground.db.document(f"deliveries/{delivery}").update({"status": "accepted", "unfinished_since": None})
    assert look(plan, now).healthy
    mailings = {**plan.mailings, "daily-digest": replace(DAILY, schedule=parse(schedule))}
    changed = replace(plan, mailings=mailings)
    assert look(changed, now).problems == []
    changed.tick(now + 5 * MINUTE)
    assert look(changed, now + 5 * MINUTE).problems == []


# The identity


def test_an_identity_that_does_not_hold_is_not_well_after_a_grace(
    app: App, ground: Ground, controlled: Firestore
) -> None:
    seed(ground, 2)
    scanner_of(app).scan(MAILING)
    controlled.advance(IDENTITY_GRACE)
    ground.delivery(a_delivery(id="nobody_intended-this"))
    report = statuses_of(app).report()
    assert (report.identity, report.healthy) == ("unsettled", True)
    controlled.advance(IDENTITY_GRACE + MINUTE)
    report = statuses_of(app).report()
    assert (report.identity, kinds(report)) == ("broken", [Kind.IDENTITY])
    assert report.problems[0].says == f"{RUN}: the identity does not hold"
    ground.db.document("deliveries/nobody_intended-this").delete()
    assert statuses_of(app).report().identity == "holds"


def test_a_run_that_is_younger_than_the_grace_is_given_it(app: App, ground: Ground) -> None:
    seed(ground, 2)
    scanner_of(app).scan(MAILING)
    ground.delivery(a_delivery(id="nobody_intended-this"))
    assert statuses_of(app).report().identity == "unsettled"


# What lies further back


def test_the_run_of_the_oldest_unfinished_delivery_is_shown_however_old_it_is(app: App, ground: Ground) -> None:
    old = NOW - timedelta(days=5)
    ground.db.document("runs/job-alert:2026-08-11").set(
        {"mailing": "job-alert", "intended": 3, "pruned": 1, "opened_at": old - HOUR}
    )
    for number in range(2):
        ground.delivery(a_delivery(id=f"u{number}_old", due_at=old, run_key="job-alert:2026-08-11"))
    report = replace(statuses_of(app), mailings={"job-alert": replace(MAILING, promise=timedelta(days=6))}).report()
    assert [run.account.run_key for run in report.seen.counts] == ["job-alert:2026-08-11"]
    assert (report.identity, report.older, report.healthy) == ("holds", {"job-alert": 2}, True)
