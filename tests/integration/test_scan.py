"""The scan: every match becomes one obligation, whoever scans how often and wherever a scan dies."""

from dataclasses import replace
from datetime import timedelta

import grpc
import pytest

from emulator.firestore import Firestore
from emulator.tasks import CloudTasks
from ledgermail.app import App
from ledgermail.errors import LedgerUnavailable
from ledgermail.ledger import ids
from ledgermail.planning.book import LOCK_AGE
from ledgermail.planning.lookback import look_back
from ledgermail.planning.matches import PAGE
from ledgermail.planning.scan import Scanner, hour_of
from tests.integration.conftest import AppMaker, Ground
from tests.integration.interruptions import Died, after, before, die
from tests.integration.scans import MAILING, RUN, jobs, matched_at, scanner_of, seed, sweep
from tests.integration.tasks_proxy import failing
from tests.samples import NOW, a_match


def test_each_match_becomes_one_delivery_and_one_task(scanner: Scanner, ground: Ground) -> None:
    seed(ground, 3)
    report = scanner.scan(MAILING)
    assert report.counts == {"matches": 3, "created": 3, "woken": 3}
    assert set(ground.deliveries()) == jobs(0, 1, 2)
    assert ground.tasks() == sorted(ids.task_name(delivery_id, 0) for delivery_id in jobs(0, 1, 2))
    assert ground.run(RUN)["intended"] == 3
    ground.assert_identity()


def test_a_second_scan_creates_nothing_and_wakes_nobody(app: App, scanner: Scanner, ground: Ground) -> None:
    seed(ground, 3)
    scanner.scan(MAILING)
    assert scanner_of(app, timedelta(seconds=16)).scan(MAILING).counts == {}
    assert len(ground.tasks()) == 3


def test_a_second_scan_writes_nothing_and_reads_no_delivery(
    scanner: Scanner, ground: Ground, project: str, controlled: Firestore
) -> None:
    seed(ground, 3)
    scanner.scan(MAILING)
    controlled.reset_usage(project)
    scanner.scan(MAILING)
    usage = controlled.usage(project)
    assert (usage.reads, usage.writes) == (2, 0)
    assert {count.collection for count in usage.counts} == {"state", "matches"}


@pytest.mark.parametrize("count", [PAGE - 1, PAGE, PAGE + 1])
def test_a_page_that_is_just_full_is_read_to_its_end(count: int, scanner: Scanner, ground: Ground) -> None:
    seed(ground, count)
    report = scanner.scan(MAILING)
    assert (report.counts["created"], report.more) == (count, False)
    assert scanner.scan(MAILING).counts == {}


def test_a_scan_that_was_stopped_goes_on_with_exactly_the_rest(app: App, ground: Ground) -> None:
    seed(ground, 2 * PAGE + 50)
    first = scanner_of(app, boxes=1).scan(MAILING)
    assert (first.counts["created"], first.more) == (PAGE, True)
    assert set(ground.deliveries()) == jobs(*range(PAGE))
    second = scanner_of(app).scan(MAILING)
    assert (second.counts["created"], second.counts["duplicates"], second.more) == (PAGE + 50, 0, False)
    assert len(ground.tasks()) == 2 * PAGE + 50
    ground.assert_identity()


@pytest.mark.parametrize(("part", "method"), [("ledger", "users"), ("books", "add_page")])
def test_what_a_scan_had_not_committed_is_planned_when_its_lock_has_healed(
    part: str, method: str, app: App, scanner: Scanner, ground: Ground
) -> None:
    seed(ground, 3)
    dying: dict[str, object] = {part: before(getattr(scanner, part), method, die)}
    with pytest.raises(Died):
        replace(scanner, **dying).scan(MAILING)  # type: ignore[arg-type]
    assert ground.deliveries() == {}
    assert scanner_of(app, LOCK_AGE - timedelta(seconds=1)).scan(MAILING).stopped == "overlap"
    assert scanner_of(app, LOCK_AGE).scan(MAILING).counts["created"] == 3
    ground.assert_identity()


def test_a_lock_that_cannot_be_released_heals_by_its_age(
    app: App, scanner: Scanner, ground: Ground, project: str, controlled: Firestore
) -> None:
    seed(ground, 3)
    controlled.fail("Commit", project=project, skip=1, times=None, code="INTERNAL")
    with pytest.raises(LedgerUnavailable):
        scanner.scan(MAILING)
    controlled.clear_faults()
    assert scanner_of(app, LOCK_AGE - timedelta(seconds=1)).scan(MAILING).stopped == "overlap"
    assert scanner_of(app, LOCK_AGE).scan(MAILING).counts["created"] == 3


@pytest.mark.parametrize("code", ["INTERNAL", "RESOURCE_EXHAUSTED", "INVALID_ARGUMENT"])
def test_a_page_that_could_not_be_committed_is_planned_by_the_next_scan(
    code: str, scanner: Scanner, ground: Ground, project: str, controlled: Firestore
) -> None:
    seed(ground, 3)
    controlled.fail("Commit", project=project, collection="deliveries", times=None, code=code)
    with pytest.raises(LedgerUnavailable):
        scanner.scan(MAILING)
    controlled.clear_faults()
    assert (ground.deliveries(), ground.tasks(), ground.run(RUN)) == ({}, [], {})
    assert scanner.scan(MAILING).counts == {"matches": 3, "created": 3, "woken": 3}
    ground.assert_identity()


@pytest.mark.parametrize("code", ["UNAVAILABLE", "DEADLINE_EXCEEDED", "ABORTED", "INTERNAL"])
def test_a_page_whose_commit_was_not_answered_counts_once(
    code: str, scanner: Scanner, ground: Ground, project: str, controlled: Firestore
) -> None:
    seed(ground, 3)
    controlled.fail("Commit", project=project, collection="deliveries", when="after", code=code)
    assert scanner.scan(MAILING).counts == {"matches": 3, "created": 3, "woken": 3}
    assert ground.run(RUN)["intended"] == 3
    assert scanner.scan(MAILING).counts == {}
    ground.assert_identity()


def test_a_page_with_known_deliveries_whose_commit_was_not_answered_counts_once(
    scanner: Scanner, ground: Ground, project: str, controlled: Firestore
) -> None:
    seed(ground, 3)
    scanner.scan(MAILING)
    ground.matches({f"again{n}": a_match(job_id=f"j{n}", matched_at=matched_at(n + 10)) for n in range(2, 5)})
    controlled.fail("Commit", project=project, collection="deliveries", when="after", skip=1, code="INTERNAL")
    assert scanner.scan(MAILING).counts == {"matches": 3, "created": 2, "duplicates": 1, "woken": 2}
    run = ground.run(RUN)
    assert (run["intended"], run["duplicates"]) == (5, 1)
    ground.assert_identity()


@pytest.mark.parametrize("code", ["UNAVAILABLE", "INTERNAL"])
def test_a_lock_whose_commit_was_not_answered_is_our_own(
    code: str, scanner: Scanner, ground: Ground, project: str, controlled: Firestore
) -> None:
    seed(ground, 3)
    controlled.fail("Commit", project=project, collection="state", when="after", code=code)
    assert scanner.scan(MAILING).counts["created"] == 3


def test_a_commit_of_which_nothing_could_be_learned_is_neither_lost_nor_doubled(
    app: App, scanner: Scanner, ground: Ground, project: str, controlled: Firestore
) -> None:
    seed(ground, 3)
    controlled.fail("Commit", project=project, collection="deliveries", when="after", code="INTERNAL")
    controlled.fail(
        "BatchGetDocuments", project=project, collection="state", skip=1, times=None, code="PERMISSION_DENIED"
    )
    with pytest.raises(LedgerUnavailable):
        scanner.scan(MAILING)
    controlled.clear_faults()
    assert (len(ground.deliveries()), ground.tasks()) == (3, [])
    assert scanner.scan(MAILING).counts == {}
    sweep(app)
    assert ground.tasks() == sorted(ids.task_name(delivery_id, 1) for delivery_id in jobs(0, 1, 2))
    ground.assert_identity()


@pytest.mark.parametrize("interrupt", [before, after])
def test_a_scan_that_dies_around_its_tasks_leaves_them_to_the_sweep(
    interrupt: type, app: App, scanner: Scanner, ground: Ground
) -> None:
    seed(ground, 3)
    with pytest.raises(Died):
        replace(scanner, tasks=interrupt(scanner.tasks, "wake", die)).scan(MAILING)
    assert set(ground.deliveries()) == jobs(0, 1, 2)
    assert scanner.scan(MAILING).counts == {}
    sweep(app)
    assert {ids.task_name(delivery_id, 1) for delivery_id in jobs(0, 1, 2)} <= set(ground.tasks())


def test_a_scan_that_dies_half_way_through_its_tasks_leaves_the_rest_to_the_sweep(
    app: App, scanner: Scanner, ground: Ground
) -> None:
    seed(ground, 10)
    with pytest.raises(Died):
        replace(scanner, tasks=before(scanner.tasks, "_wake", die, call=3)).scan(MAILING)
    unmade = {ids.task_name(delivery_id, 0) for delivery_id in jobs(*range(10))} - set(ground.tasks())
    assert unmade
    sweep(app)
    assert {name.replace("-0", "-1") for name in unmade} <= set(ground.tasks())


def test_one_task_that_could_not_be_made_stops_no_other_and_is_made_by_the_sweep(
    make_app: AppMaker, ground: Ground, tasks_server: CloudTasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed(ground, 10)
    with failing(tasks_server.host, call=3, code=grpc.StatusCode.DEADLINE_EXCEEDED) as host:
        monkeypatch.setenv("CLOUD_TASKS_EMULATOR_HOST", host)
        app = make_app()
        assert scanner_of(app).scan(MAILING).counts == {"matches": 10, "created": 10, "woken": 9}
        (unmade,) = {ids.task_name(delivery_id, 0) for delivery_id in jobs(*range(10))} - set(ground.tasks())
        assert {delivery["status"] for delivery in ground.deliveries().values()} == {"pending"}
        sweep(app)
    assert unmade.replace("-0", "-1") in ground.tasks()


def test_without_a_queue_the_deliveries_are_owed_all_the_same(make_app: AppMaker, ground: Ground) -> None:
    seed(ground, 3)
    report = scanner_of(make_app(queue="none-of-ours")).scan(MAILING)
    assert (report.counts["created"], report.counts["woken"]) == (3, 0)
    assert len(ground.deliveries()) == 3


def test_without_cloud_tasks_the_deliveries_are_owed_all_the_same(
    make_app: AppMaker, ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed(ground, 3)
    monkeypatch.setenv("CLOUD_TASKS_EMULATOR_HOST", "127.0.0.1:9")
    app = make_app()
    assert scanner_of(app).scan(MAILING).counts["created"] == 3
    assert (len(ground.deliveries()), ground.tasks()) == (3, [])


@pytest.mark.parametrize(
    ("later", "kept"), [(MAILING.look_back, True), (MAILING.look_back + timedelta(hours=1), False)]
)
def test_what_was_seen_is_remembered_for_as_long_as_it_is_looked_back_at(
    later: timedelta, kept: bool, app: App, scanner: Scanner, ground: Ground
) -> None:
    """No longer: the books must not grow for ever."""
    for day in (timedelta(), later):
        for job_id, minutes in (("new", 1), ("late", 2)):
            job_id, matched_at = f"{job_id} {day}", NOW + day - timedelta(minutes=minutes)
            ground.match(job_id, a_match(job_id=job_id, matched_at=matched_at))
            scanner_of(app, day).scan(MAILING)
        assert look_back(scanner_of(app, day), MAILING).counts["created"] == 1
    for book in ("scan", "look-back"):
        seen = scanner.books.read(f"{book}:{MAILING.name}").seen
        assert (hour_of(NOW) in seen, hour_of(NOW + later) in seen) == (kept, True), book
