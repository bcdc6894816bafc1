"""Two scans at once: the lock spares the second the work, the fence keeps it from doing harm."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import pytest

from ledgermail.app import App
from ledgermail.planning.book import LOCK_AGE
from ledgermail.planning.matches import PAGE
from ledgermail.planning.scan import Report, Scanner
from tests.integration.conftest import AppMaker, Ground
from tests.integration.interruptions import Died, before, die
from tests.integration.scans import MAILING, RUN, scanner_of, seed


def test_two_scans_at_the_same_time_plan_each_match_once(make_app: AppMaker, ground: Ground) -> None:
    seed(ground, PAGE + 50)
    together = Barrier(2)

    def scan(_: int) -> Report:
        scanner = scanner_of(make_app())
        together.wait()
        return scanner.scan(MAILING)

    with ThreadPoolExecutor() as pool:
        reports = list(pool.map(scan, range(2)))
    assert sum(report.counts["created"] for report in reports) == PAGE + 50
    assert len(ground.tasks()) == PAGE + 50
    assert scanner_of(make_app()).scan(MAILING).counts == {}
    ground.assert_identity()


def test_of_two_scans_that_saw_no_lock_one_goes_on(app: App, scanner: Scanner, ground: Ground) -> None:
    seed(ground, 3)
    books = before(scanner.books, "write", lambda: scanner_of(app).scan(MAILING))
    assert replace(scanner, books=books).scan(MAILING).stopped == "fence"
    assert ground.run(RUN)["intended"] == 3


def test_a_scan_that_was_overtaken_stops_at_the_fence(app: App, scanner: Scanner, ground: Ground) -> None:
    """It was taken for dead, and its lock for healed, while it was only slow."""
    seed(ground, PAGE + 50)
    overtaker = scanner_of(app, LOCK_AGE)
    slow = replace(scanner, ledger=before(scanner.ledger, "users", lambda: overtaker.scan(MAILING)))
    report = slow.scan(MAILING)
    assert (report.stopped, report.counts) == ("fence", {})
    assert len(ground.tasks()) == PAGE + 50
    assert ground.run(RUN)["intended"] == PAGE + 50
    ground.assert_identity()


def test_a_scan_that_is_overtaken_does_not_release_the_others_lock(app: App, scanner: Scanner, ground: Ground) -> None:
    seed(ground, 3)
    dying = scanner_of(app, LOCK_AGE)
    dying = replace(dying, books=before(dying.books, "add_page", die))

    def overtake() -> None:
        with pytest.raises(Died):
            dying.scan(MAILING)

    slow = replace(scanner, ledger=before(scanner.ledger, "users", overtake))
    assert slow.scan(MAILING).stopped == "fence"
    assert scanner_of(app, LOCK_AGE).scan(MAILING).stopped == "overlap"
