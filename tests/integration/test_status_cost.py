"""What a status costs: exactly what it says, and no more than it promises, however much there is to count."""

from collections.abc import Sequence
from datetime import timedelta

import pytest

from emulator.firestore import Firestore
from ledgermail.app import App
from ledgermail.clock import Clock
from ledgermail.ledger.delivery import TERMINAL, Delivery, Guarantee, Status
from ledgermail.planning.runs import FILLING
from ledgermail.status.bill import ENTRIES_A_READ
from ledgermail.status.report import as_json
from ledgermail.status.status import MOST_READS, SHOWN_RUNS, StatusReport
from tests.integration.conftest import Ground
from tests.integration.planning import SHIPPED
from tests.integration.test_budget import used
from tests.samples import NOW, a_delivery

ALERTS = "job-alert"
DIGESTS = ("daily-digest", "weekly-digest", "shipment-digest")
COMMIT = 500


def look(app: App, runs: int = SHOWN_RUNS) -> StatusReport:
    return App(app.settings, SHIPPED, Clock(now=lambda: NOW)).statuses.report(runs)


def of_run(run_key: str, count: int, *statuses: Status) -> list[Delivery]:
    """So many deliveries of a run, each status in turn; what is finished was finished some minutes ago."""
    mailing = run_key.partition(":")[0]
    kept = SHIPPED[mailing].policy.retention
    made = []
    for number in range(count):
        status = statuses[number % len(statuses)]
        at = NOW - timedelta(minutes=1 + number % 50)
        ended = {"settled_at": at, "prune_at": at + kept, "first_claimed_at": at} if status in TERMINAL else {}
        about = {"id": f"u{number}_{run_key}", "run_key": run_key, "mailing": mailing, "shard": number % 4}
        made.append(a_delivery(status, guarantee=Guarantee.AT_LEAST_ONCE, due_at=at, **about, **ended))
    return made


def fill(ground: Ground, run_key: str, deliveries: Sequence[Delivery], *, days: float = 0, surplus: int = 0) -> None:
    """A run opened so many days ago, and its deliveries, of which some were not intended."""
    for start in range(0, len(deliveries), COMMIT):
        ground.put(deliveries[start : start + COMMIT])
    account = {"mailing": run_key.partition(":")[0], "intended": len(deliveries) - surplus, "duplicates": 1}
    ground.db.document(f"runs/{run_key}").set({**account, "opened_at": NOW - timedelta(days=days)})


def variety(ground: Ground) -> None:
    """Runs of all mailings in all statuses; one of them long ago, one that holds too much, one that is empty."""
    fill(ground, "job-alert:2026-08-16", of_run("job-alert:2026-08-16", 30, *Status), days=0.3)
    fill(ground, "job-alert:2026-08-15", of_run("job-alert:2026-08-15", 20, Status.ACCEPTED), days=1)
    old = [d.changed(due_at=NOW - timedelta(days=6)) for d in of_run("job-alert:2026-08-10", 5, Status.PENDING)]
    fill(ground, "job-alert:2026-08-10", old, days=6)
    for mailing in DIGESTS:
        for zone in range(4):
            key = f"{mailing}:2026-08-16:{zone}"
            fill(ground, key, of_run(key, 7, Status.ACCEPTED, Status.EMPTY), surplus=1 if zone == 2 else 0)
    fill(ground, "daily-digest:2026-08-15:~default", [], days=1)


@pytest.mark.parametrize("runs", [0, 1, 5, SHOWN_RUNS, 100])
def test_a_status_says_what_it_cost(runs: int, app: App, ground: Ground, project: str, controlled: Firestore) -> None:
    variety(ground)
    ground.db.document("state/plan:shipment-digest").set({"planned": {"~default:school": NOW - FILLING}})
    controlled.reset_usage(project)
    report = look(app, runs)
    assert used(controlled, project) == (report.reads, 0, 0)
    assert as_json(report)["cost"] == {"reads": report.reads}


def test_whatever_there_is_a_status_costs_no_more_than_it_promises(
    app: App, ground: Ground, project: str, controlled: Firestore
) -> None:
    """As many runs as may be shown and more, none of which takes few counts."""
    for number in range(2 * SHOWN_RUNS):
        key = f"{(ALERTS, *DIGESTS)[number % 4]}:{number}"
        fill(ground, key, of_run(key, 2 * len(Status), *Status), days=number / 100)
    controlled.reset_usage(project)
    report = look(app)
    assert report.reads == used(controlled, project)[0] <= MOST_READS
    assert (report.shown_all, len(report.seen.counts)) == (False, SHOWN_RUNS)
    by_status = [run.account.mailing for run in report.seen.counts if run.statuses]
    assert set(by_status) == {ALERTS, *DIGESTS}  # each has its turn
    assert len(by_status) < SHOWN_RUNS
    assert report.identity == "holds"


def test_each_thousand_deliveries_of_a_run_cost_a_read_more(
    app: App, ground: Ground, project: str, controlled: Firestore
) -> None:
    count = 1_200
    for day, key in enumerate(("job-alert:2026-08-16", "job-alert:2026-08-15")):
        fill(ground, key, of_run(key, count, *([Status.ACCEPTED] * 9), Status.SUPPRESSED), days=day)
    controlled.reset_usage(project)
    report = look(app)
    assert report.reads == used(controlled, project)[0] <= MOST_READS + 2 * count // ENTRIES_A_READ
    (mailing,) = [told for name, told in as_json(report)["mailings"].items() if name == ALERTS]
    assert (mailing["intended"], mailing["accepted"], mailing["suppressed"]) == (2_400, 2_160, 240)
    assert (mailing["identity"], mailing["duplicates_suppressed"], mailing["runs_counted"]) == ("holds", 2, 2)


def test_a_run_whose_counts_add_up_early_is_asked_for_nothing_more(
    app: App, ground: Ground, project: str, controlled: Firestore
) -> None:
    fill(ground, "job-alert:2026-08-16", of_run("job-alert:2026-08-16", 20, Status.ACCEPTED), days=0.3)
    controlled.reset_usage(project)
    (counted,) = app.statuses.runs.since(NOW - timedelta(days=1), 10)
    the_run, accepted, others = 1, 1, 1
    assert used(controlled, project) == (the_run + accepted + others, 0, 0)
    assert (counted.holds, counted.statuses[Status.ACCEPTED]) == (True, 20)


def test_a_delivery_beyond_what_was_intended_is_found_in_any_status(app: App, ground: Ground) -> None:
    for status in set(Status) - {Status.ACCEPTED}:
        key = f"job-alert:{status}"
        fill(
            ground,
            key,
            [*of_run(key, 3, Status.ACCEPTED), a_delivery(status, id=f"x_{status}", run_key=key)],
            surplus=1,
        )
    runs = app.statuses.runs.since(NOW - timedelta(days=1), 10)
    assert [run.holds for run in runs] == [False] * (len(Status) - 1)
    assert {status for run in runs for status, count in run.statuses.items() if count == 1} == set(Status) - {
        Status.ACCEPTED
    }


def test_more_runs_are_shown_to_whoever_asks_for_them(app: App, ground: Ground) -> None:
    for number in range(2 * SHOWN_RUNS):
        key = f"{ALERTS}:{number}"
        fill(ground, key, of_run(key, 1, Status.ACCEPTED))
    assert (len(look(app).seen.counts), look(app).shown_all) == (SHOWN_RUNS, False)
    every = look(app, 100)
    assert (len(every.seen.counts), every.shown_all) == (2 * SHOWN_RUNS, True)
