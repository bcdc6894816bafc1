"""The status: every obligation in one of the counts, and 'not well' when the promise is not kept."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from ledgermail.app import App
from ledgermail.ledger import transitions
from ledgermail.ledger.delivery import UNFINISHED, Status
from ledgermail.status.report import as_json
from ledgermail.status.status import SHOWN_RUNS, Statuses
from ledgermail.upkeep.prune import Pass
from tests.integration.conftest import Ground
from tests.integration.interruptions import before
from tests.integration.scans import MAILING, at, matched_at, scanner_of, seed
from tests.samples import LEASE, NOW, a_delivery, a_match


def statuses_of(app: App, later: timedelta = timedelta()) -> Statuses:
    return replace(app.statuses, clock=at(later))


def look(statuses: Statuses, runs: int = SHOWN_RUNS) -> tuple[dict[str, Any], bool]:
    report = statuses.report(runs)
    return as_json(report), report.healthy


def run_of(app: App) -> dict[str, Any]:
    (run,) = look(statuses_of(app))[0]["runs"]
    return dict(run)


def test_an_empty_ledger_is_well(app: App) -> None:
    report, well = look(statuses_of(app))
    assert (well, report["runs"], report["problems"], report["identity"]) == (True, [], [], "holds")
    assert report["oldest_unfinished_seconds"] == {"job-alert": None}


@pytest.mark.parametrize("status", list(Status))
def test_every_status_is_counted_and_keeps_the_identity(status: Status, app: App, ground: Ground) -> None:
    seed(ground, 2)
    scanner_of(app).scan(MAILING)
    delivery_id = next(iter(ground.deliveries()))
    ground.delivery(a_delivery(status, id=delivery_id))
    run = run_of(app)
    others = 1 if status is Status.PENDING else 0
    assert (run[status], run["pending"], run["identity"]) == (1 + others, 1 + others, "holds")
    assert sum(run[name] for name in Status) == run["intended"] == 2


def test_duplicates_and_what_was_pruned_are_counted(app: App, ground: Ground) -> None:
    seed(ground, 2)
    ground.match("again", a_match(job_id="j0", matched_at=matched_at(2)))
    scanner_of(app).scan(MAILING)
    ground.delivery(a_delivery(Status.ACCEPTED, id=next(iter(ground.deliveries())), prune_at=NOW))
    replace(app.pruner, clock=at(timedelta(hours=1))).prune(Pass(prune_id="p1"))
    run = run_of(app)
    assert (run["intended"], run["pruned"], run["pending"], run["duplicates_suppressed"]) == (2, 1, 1, 1)
    assert run["identity"] == "holds"


@pytest.mark.parametrize("loses", [True, False])
def test_a_delivery_too_few_or_too_many_breaks_the_identity(loses: bool, app: App, ground: Ground) -> None:
    seed(ground, 2)
    scanner_of(app).scan(MAILING)
    if loses:
        ground.db.collection("deliveries").document(next(iter(ground.deliveries()))).delete()
    else:
        ground.delivery(a_delivery(id="nobody_intended-this"))
    report, _ = look(statuses_of(app))
    assert report["identity"] == "unsettled"
    assert report["runs"][0]["identity"] == report["mailings"]["job-alert"]["identity"] == "broken"


@pytest.mark.parametrize(("minutes", "well"), [(14, True), (16, False)])
def test_a_run_whose_planning_takes_longer_than_promised_is_told(
    minutes: int, well: bool, app: App, ground: Ground
) -> None:
    opened_at = NOW - timedelta(minutes=minutes)
    run = {"mailing": "job-alert", "state": "planning", "intended": 5, "opened_at": opened_at}
    ground.db.document("runs/job-alert:x").set(run)
    report, is_well = look(statuses_of(app))
    assert (is_well, report["problems"]) == (well, [] if well else ["job-alert:x: is still being planned"])


def test_the_identity_is_that_of_one_moment_however_much_happens_while_it_is_counted(app: App, ground: Ground) -> None:
    seed(ground, 3)
    scanner_of(app).scan(MAILING)

    def meanwhile() -> None:
        for delivery_id in ground.deliveries():
            app.ledger.change(
                delivery_id,
                lambda d: transitions.claim(d, claim_id="c1", content=d.content, now=NOW, lease=LEASE),
            )
        seed(ground, 3, first=3)
        scanner_of(app).scan(MAILING)

    statuses = statuses_of(app)
    busy = replace(statuses, runs=before(statuses.runs, "_count", meanwhile, call=2))
    (run,) = look(busy)[0]["runs"]
    assert (run["intended"], run["pending"], run["in_flight"], run["identity"]) == (3, 3, 0, "holds")


@pytest.mark.parametrize("status", sorted(UNFINISHED))
def test_an_unfinished_delivery_that_is_older_than_promised_is_not_well(
    status: Status, app: App, ground: Ground
) -> None:
    ground.delivery(a_delivery(Status.ACCEPTED, id="u1_old", due_at=NOW - timedelta(days=1)))
    ground.delivery(a_delivery(status, shard=3))
    ground.delivery(a_delivery(status, id="u1_younger", due_at=NOW + timedelta(minutes=1)))
    in_time, well = look(statuses_of(app, MAILING.promise))
    assert (well, in_time["oldest_unfinished_seconds"]) == (True, {"job-alert": MAILING.promise.total_seconds()})
    late, well = look(statuses_of(app, MAILING.promise + timedelta(seconds=1)))
    assert (well, len(late["problems"])) == (False, 1)
    assert late["problems"][0].startswith("job-alert: the oldest unfinished delivery")


def test_the_oldest_is_found_in_any_of_the_most_shards_there_may_be(app: App, ground: Ground) -> None:
    for shard in (0, 29, 30, 63):
        ground.delivery(a_delivery(id=f"u{shard}_j", shard=shard, due_at=NOW - timedelta(hours=shard)))
    for shards, hours in ((1, 0), (30, 29), (31, 30), (64, 63)):
        statuses = statuses_of(app)
        report, _ = look(replace(statuses, ages=replace(statuses.ages, shards=shards)), 0)
        assert report["oldest_unfinished_seconds"] == {"job-alert": hours * 3600}


def test_without_runs_nothing_is_said_of_the_identity(app: App, ground: Ground) -> None:
    seed(ground, 2)
    scanner_of(app).scan(MAILING)
    ground.delivery(a_delivery(id="nobody_intended-this"))
    assert look(statuses_of(app))[0]["identity"] == "unsettled"
    report, well = look(statuses_of(app), 0)
    assert (report["identity"], report["runs"], well) == ("not counted", [], True)


def test_what_is_due_later_is_not_old(app: App, ground: Ground) -> None:
    ground.delivery(a_delivery(due_at=NOW + timedelta(days=1)))
    report, well = look(statuses_of(app))
    assert (well, report["oldest_unfinished_seconds"]) == (True, {"job-alert": 0})


def test_the_report_says_whether_mail_is_held_back(app: App, ground: Ground) -> None:
    until = NOW + timedelta(minutes=5)
    gate = {"paused": True, "breaker": {"open_until": until, "reason": "429"}}
    ground.db.collection("state").document("gate").set(gate)
    report, _ = look(statuses_of(app))
    held_back = {"paused": True, "breaker_open": True, "until": until.isoformat(), "reason": "429"}
    assert report["held_back"] == held_back


def test_the_newest_runs_come_first_and_old_ones_are_left_out(app: App, ground: Ground) -> None:
    for day in range(5):
        opened_at = NOW.replace(hour=0, minute=0) - timedelta(days=day)
        ground.db.collection("runs").document(f"job-alert:{opened_at.date()}").set(
            {"opened_at": opened_at, "mailing": "job-alert"}
        )
    report, well = look(statuses_of(app))
    assert [run["run_key"] for run in report["runs"]] == ["job-alert:2026-08-16", "job-alert:2026-08-15"]
    assert well
