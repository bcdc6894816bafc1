"""What a scan plans: one alert for each job and user, whatever the matches look like."""

from dataclasses import replace
from datetime import timedelta

import pytest

from emulator.firestore import Firestore
from ledgermail.app import App
from ledgermail.planning.matches import PAGE
from ledgermail.planning.page import JOB_CHARS
from ledgermail.planning.scan import SETTLING, Scanner
from tests.integration.conftest import Ground
from tests.integration.scans import MAILING, RUN, jobs, matched_at, scanner_of, seed
from tests.samples import NOW, a_match, a_user


def test_a_job_that_is_matched_again_is_no_second_alert(app: App, scanner: Scanner, ground: Ground) -> None:
    seed(ground, 1)
    scanner.scan(MAILING)
    edited = a_match(job_id="j0", matched_at=NOW, job={"title": "Senior Data Engineer"})
    ground.match("again", edited)
    report = scanner_of(app, timedelta(minutes=1)).scan(MAILING)
    assert (report.counts["created"], report.counts["duplicates"]) == (0, 1)
    assert len(ground.tasks()) == 1
    (delivery,) = ground.deliveries().values()
    assert delivery["content"]["items"][0]["title"] == "Data Engineer"
    assert ground.run(RUN)["duplicates"] == 1


@pytest.mark.parametrize("between", [0, PAGE])
def test_two_matches_of_the_same_job_and_user_are_one_delivery(between: int, scanner: Scanner, ground: Ground) -> None:
    """In one page, and in two."""
    seed(ground, 1)
    seed(ground, between, first=1)
    ground.match("again", a_match(job_id="j0", matched_at=matched_at(between + 1)))
    report = scanner.scan(MAILING)
    assert (report.counts["created"], report.counts["duplicates"]) == (between + 1, 1)
    assert ground.run(RUN)["duplicates"] == 1
    ground.assert_identity()


ODD = [
    "https://x.example/a?b=c&d=%2F",
    "a/b/c",
    "a%2Fb%2Fc",
    "..",
    ".",
    "__x__",
    "%",
    "a_b",
    "\0",
    "\U0001f600",
    "x" * 1600,
]


def test_whatever_a_job_is_called_it_becomes_a_delivery_of_its_own(scanner: Scanner, ground: Ground) -> None:
    ground.user("u1", a_user())
    ground.matches({f"m{n}": a_match(job_id=job_id, matched_at=matched_at(n)) for n, job_id in enumerate(ODD)})
    assert scanner.scan(MAILING).counts["created"] == len(ODD)
    assert {delivery["subject"] for delivery in ground.deliveries().values()} == set(ODD)


@pytest.mark.parametrize("user_id", [*ODD, "", "é" * 751, "/", "__"])
def test_whatever_a_user_is_called_nobody_else_waits_for_it(user_id: str, scanner: Scanner, ground: Ground) -> None:
    seed(ground, 1)
    ground.match("odd", a_match(user_id=user_id, job_id="odd", matched_at=matched_at(0)))
    counts = scanner.scan(MAILING).counts
    assert counts["created"] + counts["invalid"] == 2
    assert jobs(0) <= set(ground.deliveries())


def test_ids_that_would_meet_when_joined_are_two_deliveries(scanner: Scanner, ground: Ground) -> None:
    ground.match("m1", a_match(user_id="a_b", job_id="c", matched_at=matched_at(1)))
    ground.match("m2", a_match(user_id="a", job_id="b_c", matched_at=matched_at(2)))
    assert scanner.scan(MAILING).counts["created"] == 2
    assert {(d["user_id"], d["subject"]) for d in ground.deliveries().values()} == {("a_b", "c"), ("a", "b_c")}


def test_a_match_of_the_future_hides_none_of_now(app: App, scanner: Scanner, ground: Ground) -> None:
    seed(ground, 1)
    ground.match("future", a_match(job_id="j9", matched_at=NOW + timedelta(hours=1)))
    assert scanner.scan(MAILING).counts["created"] == 1
    seed(ground, 1, first=1)
    assert scanner.scan(MAILING).counts["created"] == 1
    assert scanner_of(app, timedelta(hours=1, seconds=2)).scan(MAILING).counts["created"] == 1
    assert set(ground.deliveries()) == jobs(0, 1, 9)


def test_a_match_of_this_moment_is_left_to_the_next_scan_with_those_still_being_committed(
    app: App, scanner: Scanner, ground: Ground
) -> None:
    ground.user("u1", a_user())
    ground.match("m1", a_match(matched_at=NOW - SETTLING))
    assert scanner.scan(MAILING).counts == {}
    ground.match("m0", a_match(job_id="j0", matched_at=NOW - SETTLING - timedelta(milliseconds=1)))
    assert scanner_of(app, SETTLING).scan(MAILING).counts["created"] == 2


def test_a_match_that_is_too_old_is_never_planned(app: App, scanner: Scanner, ground: Ground) -> None:
    seed(ground, 1)
    scanner.scan(MAILING)
    seed(ground, 1, first=1)
    ground.match("fresh", a_match(job_id="j2", matched_at=NOW + MAILING.max_age))
    report = scanner_of(app, MAILING.max_age + timedelta(minutes=1)).scan(MAILING)
    assert report.counts == {"matches": 2, "too_old": 1, "created": 1, "woken": 1}
    assert set(ground.deliveries()) == jobs(0, 2)


def test_the_first_scan_does_not_reach_beyond_the_oldest_that_may_be_planned(scanner: Scanner, ground: Ground) -> None:
    ground.match("old", a_match(job_id="j0", matched_at=NOW - MAILING.max_age - timedelta(seconds=1)))
    ground.match("new", a_match(job_id="j1", matched_at=NOW - MAILING.max_age))
    assert scanner.scan(MAILING).counts["created"] == 1
    assert set(ground.deliveries()) == jobs(1)


NESTED: object = "deep"
for _ in range(18):
    NESTED = {"in": NESTED}
BROKEN: dict[str, list[object]] = {
    "job": [
        None,
        "a job",
        {},
        {"title": ""},
        {"title": 7},
        {"title": "x", "photo": b"\0"},
        {"title": "x", "in": NESTED},
        {"title": "x" * JOB_CHARS},
    ],
    "user_id": [None, "", 7],
    "job_id": [None, "", 7, ["j1"]],
}


@pytest.mark.parametrize(("field", "value"), [(field, value) for field, values in BROKEN.items() for value in values])
def test_a_match_that_is_none_is_counted_and_named_and_blocks_nobody(
    field: str, value: object, scanner: Scanner, ground: Ground, capsys: pytest.CaptureFixture[str]
) -> None:
    seed(ground, 2)
    ground.match("broken", a_match(matched_at=matched_at(0)) | {field: value})
    assert scanner.scan(MAILING).counts == {"matches": 3, "invalid": 1, "created": 2, "woken": 2}
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "match.invalid" in line]
    assert '"match_id": "broken"' in line
    assert f'"problem": "{field}' in line
    assert ground.run(RUN)["invalid"] == 1
    assert scanner.scan(MAILING).counts == {}


def test_a_job_id_as_long_as_a_match_can_hold_blocks_nobody(scanner: Scanner, ground: Ground) -> None:
    """A delivery names it twice, and would be larger than a document may be."""
    seed(ground, 2)
    ground.match("broken", a_match(job_id="x" * 600_000, matched_at=matched_at(0)))
    assert scanner.scan(MAILING).counts == {"matches": 3, "invalid": 1, "created": 2, "woken": 2}


def test_a_page_of_the_largest_jobs_is_still_one_commit(scanner: Scanner, ground: Ground) -> None:
    job = {"title": "x", "text": "y" * (JOB_CHARS - 100)}
    ground.matches({f"m{n}": a_match(job_id=f"j{n}", matched_at=matched_at(n), job=job) for n in range(PAGE)})
    assert scanner.scan(MAILING).counts["created"] == PAGE


def test_a_match_without_a_time_is_not_seen(scanner: Scanner, ground: Ground) -> None:
    """An order by matched_at leaves out what has none: Firestore's rule, and the README says so."""
    seed(ground, 1)
    ground.match("timeless", {"user_id": "u1", "job_id": "j9", "job": {"title": "x"}})
    ground.match("text", a_match(job_id="j8", matched_at="2026-08-16T09:00:00Z"))
    assert scanner.scan(MAILING).counts["matches"] == 1


def test_a_user_is_read_once_a_scan(scanner: Scanner, ground: Ground, project: str, controlled: Firestore) -> None:
    seed(ground, PAGE + 10)
    ground.match("stranger", a_match(user_id="nobody", matched_at=matched_at(0)))
    ground.match("again", a_match(user_id="nobody", job_id="j9", matched_at=matched_at(PAGE + 10)))
    controlled.reset_usage(project)
    scanner.scan(MAILING)
    assert sum(count.reads for count in controlled.usage(project).counts if count.collection == "users") == 2


@pytest.mark.parametrize(
    "mailings", [{}, {"job-alert": {"active": False}}, {"job-alert": None}, None, {"digest": {"active": True}}]
)
def test_who_does_not_want_the_mailing_is_owed_none(mailings: object, scanner: Scanner, ground: Ground) -> None:
    seed(ground, 1)
    ground.user("u2", a_user(mailings=mailings))
    ground.match("unwanted", a_match(user_id="u2", matched_at=matched_at(1)))
    assert scanner.scan(MAILING).counts == {"matches": 2, "created": 1, "woken": 1, "not_wanted": 1}
    assert set(ground.deliveries()) == jobs(0)
    assert ground.run(RUN)["not_wanted"] == 1


def test_a_match_of_nobody_is_planned_so_that_the_ledger_can_say_what_became_of_it(
    scanner: Scanner, ground: Ground
) -> None:
    ground.match("m", a_match(user_id="nobody", matched_at=matched_at(0)))
    assert scanner.scan(MAILING).counts["created"] == 1


def test_two_mailings_each_keep_their_own_place(scanner: Scanner, ground: Ground) -> None:
    other = replace(MAILING, name="job-news")
    seed(ground, 2)
    ground.user("u2", a_user(mailings={"job-news": {"active": True}}))
    ground.match("news", a_match(user_id="u2", matched_at=matched_at(0)))
    assert scanner.scan(MAILING).counts == {"matches": 3, "created": 2, "woken": 2, "not_wanted": 1}
    assert scanner.scan(other).counts == {"matches": 3, "created": 1, "woken": 1, "not_wanted": 2}
    assert ground.run("job-news:2026-08-16")["intended"] == 1
    assert scanner.scan(MAILING).counts == scanner.scan(other).counts == {}
    ground.assert_identity()


def test_each_day_has_a_run_of_its_own(app: App, scanner: Scanner, ground: Ground) -> None:
    seed(ground, 1)
    scanner.scan(MAILING)
    ground.match("tomorrow", a_match(job_id="j1", matched_at=NOW + timedelta(days=1)))
    scanner_of(app, timedelta(days=1, seconds=2)).scan(MAILING)
    assert [ground.run(f"job-alert:2026-08-{day}")["intended"] for day in (16, 17)] == [1, 1]
    ground.assert_identity()
