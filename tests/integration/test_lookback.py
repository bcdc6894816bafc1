"""The look-back: what was committed late, behind the cursor, is found; whoever looks back or scans, in whatever order."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest

from emulator.firestore import Firestore
from ledgermail.app import App
from ledgermail.errors import LedgerUnavailable
from ledgermail.ledger import ids
from ledgermail.planning.book import LOCK_AGE
from ledgermail.planning.lookback import look_back
from ledgermail.planning.matches import PAGE
from ledgermail.planning.scan import Report, Scanner
from tests.integration.conftest import AppMaker, Ground
from tests.integration.interruptions import Died, after, before, die
from tests.integration.scans import MAILING, RUN, jobs, scanner_of, seed
from tests.samples import NOW, a_match, a_user

HOUR = timedelta(hours=1)
NEXT_TO_LAST = timedelta(minutes=16, seconds=41.5)  # before NOW: between the last two of a page that ``seed`` made
STOPS = 3  # the reading of the clock by which a look-back has read one page


def late(ground: Ground, number: int, ago: timedelta = timedelta(minutes=19, seconds=59)) -> None:
    """A match, committed now, of so long before NOW; by default between the first and the second of ``seed``."""
    ground.match(
        f"late{number}", a_match(job_id=f"late{number}", matched_at=NOW - ago + timedelta(milliseconds=number))
    )


def late_ids(*numbers: int) -> set[str]:
    return {ids.delivery_id("u1", f"late{number}") for number in numbers}


def test_a_match_that_was_committed_late_is_found(scanner: Scanner, ground: Ground) -> None:
    seed(ground, 3)
    scanner.scan(MAILING)
    late(ground, 1)
    assert scanner.scan(MAILING).counts == {}
    assert look_back(scanner, MAILING).counts["created"] == 1
    assert late_ids(1) <= set(ground.deliveries())
    assert ids.task_name(ids.delivery_id("u1", "late1"), 0) in ground.tasks()
    assert ground.run(RUN)["intended"] == 4
    ground.assert_identity()


def test_where_nothing_came_late_nothing_is_read_or_written(
    scanner: Scanner, ground: Ground, project: str, controlled: Firestore
) -> None:
    seed(ground, 50)
    scanner.scan(MAILING)
    controlled.reset_usage(project)
    assert look_back(scanner, MAILING).counts == {}
    usage = controlled.usage(project)
    hours = int(MAILING.look_back / HOUR) + 1
    assert (usage.reads, usage.writes) == (2 + hours, 0)


def test_what_was_found_is_not_looked_for_again(
    scanner: Scanner, ground: Ground, project: str, controlled: Firestore
) -> None:
    seed(ground, 3)
    scanner.scan(MAILING)
    late(ground, 1)
    look_back(scanner, MAILING)
    controlled.reset_usage(project)
    assert look_back(scanner, MAILING).counts == {}
    assert controlled.usage(project).writes == 0


def test_only_the_hours_of_the_look_back_that_differ_are_read_again(scanner: Scanner, ground: Ground) -> None:
    seed(ground, 3)
    scanner.scan(MAILING)
    late(ground, 1, timedelta(hours=5))
    late(ground, 2, MAILING.look_back + HOUR)  # too late to be looked for
    assert look_back(scanner, MAILING).counts["matches"] == 1


def test_a_look_back_before_the_first_scan_has_nothing_to_look_back_at(scanner: Scanner, ground: Ground) -> None:
    seed(ground, 3)
    assert look_back(scanner, MAILING) == Report(MAILING.name)


def test_each_late_match_is_found_however_they_come(app: App, scanner: Scanner, ground: Ground) -> None:
    seed(ground, 3)
    scanner.scan(MAILING)
    for number in range(1, 4):
        late(ground, number)
        assert look_back(scanner_of(app, number * timedelta(minutes=1)), MAILING).counts["created"] == 1
    assert late_ids(1, 2, 3) <= set(ground.deliveries())


def test_a_match_of_the_cursors_own_moment_is_found_once(scanner: Scanner, ground: Ground) -> None:
    seed(ground, 2)
    scanner.scan(MAILING)
    for name in ("a", "z"):  # before and after the cursor's m1
        ground.match(name, a_match(job_id=name, matched_at=NOW - timedelta(minutes=20) + timedelta(seconds=1)))
    assert look_back(scanner, MAILING).counts["created"] == 2
    assert scanner.scan(MAILING).counts["duplicates"] == 1
    look_back(scanner, MAILING)
    assert look_back(scanner, MAILING).counts == {}
    assert ground.run(RUN)["intended"] == 4


def test_matches_that_were_deleted_hide_none_that_come_later(scanner: Scanner, ground: Ground) -> None:
    seed(ground, 5)
    scanner.scan(MAILING)
    for number in range(3):
        ground.db.collection("matches").document(f"m{number}").delete()
    assert look_back(scanner, MAILING).counts["created"] == 0
    assert look_back(scanner, MAILING).counts == {}
    late(ground, 1)
    assert look_back(scanner, MAILING).counts["created"] == 1
    ground.assert_identity()


def test_an_invalid_match_is_not_looked_for_for_ever(scanner: Scanner, ground: Ground) -> None:
    seed(ground, 1)
    ground.match("broken", a_match(job=None, matched_at=NOW - timedelta(minutes=19)))
    scanner.scan(MAILING)
    assert look_back(scanner, MAILING).counts == {}


# Stopped, dead, overtaken


def test_a_look_back_that_was_stopped_goes_on_within_the_hour(app: App, scanner: Scanner, ground: Ground) -> None:
    seed(ground, PAGE)
    scanner.scan(MAILING)
    late(ground, 1)
    late(ground, 2, NEXT_TO_LAST)
    first = look_back(scanner_of(app, boxes=STOPS), MAILING)
    assert (first.counts["created"], first.counts["matches"], first.more) == (1, PAGE, True)
    second = look_back(scanner, MAILING)
    assert (second.counts["created"], second.counts["matches"], second.more) == (1, 2, False)
    assert look_back(scanner, MAILING).counts == {}


@pytest.mark.parametrize("boxes", [10**6, STOPS])
def test_what_comes_late_behind_a_look_back_that_was_stopped_is_found(
    boxes: int, app: App, scanner: Scanner, ground: Ground
) -> None:
    """Also when the next has only time for the rest of the hour."""
    seed(ground, PAGE)
    scanner.scan(MAILING)
    late(ground, 1)
    assert look_back(scanner_of(app, boxes=STOPS), MAILING).more
    late(ground, 2)
    found = look_back(scanner_of(app, boxes=boxes), MAILING).counts + look_back(scanner, MAILING).counts
    assert found["created"] == 1
    assert late_ids(1, 2) <= set(ground.deliveries())
    assert look_back(scanner, MAILING).counts == {}


def test_an_hour_that_was_left_half_read_is_read_on_first(app: App, scanner: Scanner, ground: Ground) -> None:
    """Another hour before it must not make its place forgotten."""
    seed(ground, PAGE)
    scanner.scan(MAILING)
    late(ground, 1, NEXT_TO_LAST)
    late(ground, 3)
    assert look_back(scanner_of(app, boxes=STOPS), MAILING).more
    late(ground, 2, timedelta(hours=5))
    assert look_back(scanner_of(app, boxes=STOPS), MAILING).more
    look_back(scanner, MAILING)
    assert late_ids(1, 2, 3) <= set(ground.deliveries())
    assert look_back(scanner, MAILING).counts == {}


@pytest.mark.parametrize(
    ("method", "call", "count"), [("write", 1, 3), ("add_page", 1, 3), ("write", 2, 3), ("add_page", 2, PAGE)]
)
@pytest.mark.parametrize("interrupt", [before, after])
def test_a_look_back_that_dies_is_made_good_by_the_next(
    interrupt: type, method: str, call: int, count: int, app: App, scanner: Scanner, ground: Ground
) -> None:
    seed(ground, count)
    scanner.scan(MAILING)
    late(ground, 1)
    late(ground, 2, timedelta(minutes=19, seconds=58, milliseconds=5))
    books = interrupt(scanner.books, method, die, call=call)
    with pytest.raises(Died):
        look_back(replace(scanner, books=books), MAILING)
    look_back(scanner_of(app, LOCK_AGE), MAILING)
    assert late_ids(1, 2) <= set(ground.deliveries())
    assert look_back(scanner_of(app, LOCK_AGE), MAILING).counts == {}
    assert ground.run(RUN)["intended"] == count + 2
    ground.assert_identity()


def test_a_page_of_a_look_back_whose_commit_was_not_answered_counts_once(
    scanner: Scanner, ground: Ground, project: str, controlled: Firestore
) -> None:
    seed(ground, 3)
    scanner.scan(MAILING)
    late(ground, 1)
    controlled.fail("Commit", project=project, collection="deliveries", skip=1, when="after", code="INTERNAL")
    assert look_back(scanner, MAILING).counts["created"] == 1
    assert ground.run(RUN)["intended"] == 4
    assert look_back(scanner, MAILING).counts == {}


def test_a_page_of_a_look_back_that_could_not_be_committed_is_read_by_the_next(
    scanner: Scanner, ground: Ground, project: str, controlled: Firestore
) -> None:
    seed(ground, 3)
    scanner.scan(MAILING)
    late(ground, 1)
    controlled.fail("Commit", project=project, collection="deliveries", times=None, code="INTERNAL")
    with pytest.raises(LedgerUnavailable):
        look_back(scanner, MAILING)
    controlled.clear_faults()
    assert look_back(scanner, MAILING).counts["created"] == 1


def test_a_look_back_gives_way_to_another(app: App, scanner: Scanner, ground: Ground) -> None:
    seed(ground, 1)
    scanner.scan(MAILING)
    late(ground, 1, timedelta(minutes=30))
    other: list[Report] = []
    slow = replace(scanner, books=before(scanner.books, "add_page", lambda: other.append(look_back(scanner, MAILING))))
    assert look_back(slow, MAILING).counts["created"] == 1
    assert [report.stopped for report in other] == ["overlap"]


def test_a_look_back_that_was_overtaken_stops_at_the_fence(app: App, scanner: Scanner, ground: Ground) -> None:
    seed(ground, 1)
    scanner.scan(MAILING)
    late(ground, 1, timedelta(minutes=30))
    overtaker = scanner_of(app, LOCK_AGE)
    slow = replace(scanner, books=before(scanner.books, "add_page", lambda: look_back(overtaker, MAILING)))
    assert look_back(slow, MAILING).stopped == "fence"
    assert ground.run(RUN)["intended"] == 2
    ground.assert_identity()


def test_a_scan_and_a_look_back_neither_lose_nor_double_what_both_find(
    app: App, scanner: Scanner, ground: Ground
) -> None:
    seed(ground, 3)
    scanner.scan(MAILING)
    late(ground, 1)
    seed(ground, 3, first=3)
    ground.match("same", a_match(job_id="late1", matched_at=NOW - timedelta(minutes=1)))
    both = replace(scanner, books=before(scanner.books, "add_page", lambda: scanner.scan(MAILING)))
    assert look_back(both, MAILING).counts["created"] == 0
    assert set(ground.deliveries()) == jobs(*range(6)) | late_ids(1)
    assert ground.run(RUN)["intended"] == 7
    assert look_back(scanner, MAILING).counts == {}
    ground.assert_identity()


@pytest.mark.parametrize("seed_of_the_draw", [1, 2])
def test_whatever_comes_when_and_whoever_dies_each_match_is_planned_once(
    seed_of_the_draw: int, make_app: AppMaker, ground: Ground
) -> None:
    """Batches of matches of the last hours, late and in time, between scans and look-backs that overlap, stop and die."""
    draw = Random(seed_of_the_draw)
    app, ground_time, expected = make_app(), timedelta(), set()
    ground.user("u1", a_user())
    for round_ in range(8):
        ground_time += timedelta(minutes=11)
        names = [f"{round_}-{number}" for number in range(draw.choice([1, 20, 50]))]
        ages = [timedelta(seconds=draw.choice([0, 600, 4000, 9000]) + draw.random() * 600) for _ in names]
        ground.matches(
            {
                name: a_match(job_id=name, matched_at=NOW + ground_time - age)
                for name, age in zip(names, ages, strict=True)
            }
        )
        expected |= {ids.delivery_id("u1", name) for name in names}
        _work(draw, app, ground_time)
    settle = scanner_of(app, ground_time + LOCK_AGE)
    settle.scan(MAILING)
    look_back(settle, MAILING)
    assert set(ground.deliveries()) == expected
    assert look_back(settle, MAILING).counts == {}
    assert sum(run.get("intended") for run in ground.db.collection("runs").stream()) == len(expected)
    ground.assert_identity()


def _work(draw: Random, app: App, now: timedelta) -> None:
    """A scan and a look-back, at once or one after the other, of which some die."""

    def one(looks_back: bool, dies_at: int) -> None:
        scanner = scanner_of(app, now, boxes=draw.choice([STOPS, 10**6]))
        if dies_at:
            books = draw.choice([before, after])(scanner.books, "_commit", die, call=dies_at)
            scanner = replace(scanner, books=books)
        with suppress(Died):
            look_back(scanner, MAILING) if looks_back else scanner.scan(MAILING)

    plans = [(looks_back, draw.choice([0, 0, 0, 1, 2])) for looks_back in (False, True)]
    with ThreadPoolExecutor(draw.choice([1, 2])) as pool:
        list(pool.map(lambda plan: one(*plan), plans))
