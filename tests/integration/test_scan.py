"""The scan: every match becomes one obligation, whoever scans how often and wherever a scan dies."""

from datetime import UTC, datetime, timedelta

from ledgermail import ids
from ledgermail.app import App
from ledgermail.lookback import look_back
from tests.integration.conftest import Ground
from tests.samples import a_mailing, a_match, a_user

MAILING = a_mailing()


def recent(seconds: float = 10) -> datetime:
    return datetime.now(UTC) - timedelta(seconds=seconds)


def seed(ground: Ground, count: int, *, seconds: float = 60) -> None:
    ground.user("u1", a_user())
    at = recent(seconds)
    for number in range(count):
        ground.match(f"m{number}", a_match(job_id=f"j{number}", matched_at=at + timedelta(milliseconds=number)))


def test_each_match_becomes_one_delivery_and_one_task(app: App, ground: Ground) -> None:
    seed(ground, 3)
    report = app.scanner.scan(MAILING)
    assert report.counts == {"matches": 3, "created": 3, "woken": 3}
    assert set(ground.deliveries()) == {ids.delivery_id("u1", f"j{n}") for n in range(3)}
    assert ground.tasks() == sorted(ids.task_name(ids.delivery_id("u1", f"j{n}"), 0) for n in range(3))


def test_a_second_scan_creates_nothing_and_wakes_nobody(app: App, ground: Ground) -> None:
    seed(ground, 3)
    app.scanner.scan(MAILING)
    assert app.scanner.scan(MAILING).counts == {}
    assert len(ground.tasks()) == 3


def test_a_look_back_finds_a_match_that_was_committed_late(app: App, ground: Ground) -> None:
    seed(ground, 3)
    app.scanner.scan(MAILING)
    ground.match("late", a_match(job_id="late", matched_at=recent(120)))
    assert app.scanner.scan(MAILING).counts == {}
    assert look_back(app.scanner, MAILING).counts["created"] == 1
    assert look_back(app.scanner, MAILING).counts == {}
    assert ids.delivery_id("u1", "late") in ground.deliveries()
