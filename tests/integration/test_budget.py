"""What it costs, in what Google bills: two reads, three writes and a task a delivery, and a read of its match."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from emulator.firestore import Firestore
from emulator.firestore.meter import Usage
from emulator.inbox import Inbox
from ledgermail import mailing
from ledgermail.app import App
from ledgermail.ledger.delivery import Status
from ledgermail.planning.lookback import look_back
from ledgermail.status.samples import QUERIES
from ledgermail.upkeep.prune import Pass
from tests.integration.conftest import AppMaker, Ground
from tests.integration.scans import MAILING, at, jobs, scanner_of, seed
from tests.samples import NOW, a_delivery, a_match, a_user

DELIVERIES = 30
USERS = 3
BOOK = 1  # read by a scan, written with a page
LOCK = 1  # written by a scan that found something
RUN = 1  # written with a page; read by the status
GATE = 1  # read by an instance every 5 seconds
MATCH = USER = 1


def used(controlled: Firestore, project: str) -> tuple[int, int, int]:
    """Reads, writes and deletes since this was last asked."""
    usage: Usage = controlled.usage(project)
    controlled.reset_usage(project)
    return usage.reads, usage.writes, usage.deletes


def match_recently(ground: Ground) -> None:
    """Matches of a few users, all from the last minute."""
    for number in range(USERS):
        ground.user(f"u{number}", a_user(email=f"u{number}@example.com"))
    start = datetime.now(UTC) - timedelta(seconds=30)
    ground.matches(
        {
            f"m{n}": a_match(user_id=f"u{n % USERS}", job_id=f"j{n}", matched_at=start + timedelta(milliseconds=n))
            for n in range(DELIVERIES)
        }
    )


def test_a_delivery_costs_two_reads_three_writes_and_a_task(
    make_app: AppMaker, ground: Ground, inbox: Inbox, project: str, controlled: Firestore
) -> None:
    app = make_app(sendgrid_url=inbox.url)
    match_recently(ground)
    controlled.reset_usage(project)
    app.scanner.scan(MAILING)
    scanning = used(controlled, project)
    assert scanning == (BOOK + DELIVERIES * MATCH + USERS * USER, LOCK + BOOK + RUN + DELIVERIES, 0)
    planned = ground.deliveries()
    controlled.reset_usage(project)
    assert {app.worker.deliver(delivery_id).what for delivery_id in planned} == {"accepted"}
    assert used(controlled, project) == (GATE + DELIVERIES * 2, DELIVERIES * 2, 0)
    assert len(inbox.mails()) == DELIVERIES
    assert len(ground.tasks()) == DELIVERIES


def test_a_look_at_the_status_costs_the_same_however_many_there_are(
    app: App, ground: Ground, project: str, controlled: Firestore
) -> None:
    seed(ground, DELIVERIES)
    scanner_of(app).scan(MAILING)
    controlled.reset_usage(project)
    report = replace(app.statuses, clock=at()).report()
    oldest = 1
    unread = BOOK + 1  # where the cursor stands, and a query for what comes after it
    counts = 3  # none accepted, all pending, and none in any other status
    sample = 2 * QUERIES  # nothing was finished within the last hour, nor within the last day
    assert used(controlled, project) == (RUN + counts + oldest + unread + GATE + sample, 0, 0)
    assert report.reads == RUN + counts + oldest + unread + GATE + sample


def test_to_be_watched_costs_the_ages_alone(app: App, ground: Ground, project: str, controlled: Firestore) -> None:
    """What monitoring asks every few minutes, of the mailings that come with it: docs/deploy.md counts a day of it."""
    seed(ground, DELIVERIES)
    scanner_of(app).scan(MAILING)
    mailings = mailing.load(app.settings.mailings)
    unread = sum(BOOK + 1 for one in mailings.values() if one.schedule is None)
    controlled.reset_usage(project)
    report = replace(app.statuses, mailings=mailings, clock=at()).report(0)
    planned = sum(1 for one in mailings.values() if one.schedule is not None)
    assert used(controlled, project) == (len(mailings) + unread + planned + GATE, 0, 0) == (10, 0, 0)
    assert report.reads == 10


def test_a_second_scan_and_a_look_back_write_nothing_and_read_no_delivery(
    app: App, ground: Ground, project: str, controlled: Firestore
) -> None:
    seed(ground, DELIVERIES)
    scanner = scanner_of(app)
    scanner.scan(MAILING)
    controlled.reset_usage(project)
    scanner.scan(MAILING)
    empty_query = 1
    assert used(controlled, project) == (BOOK + empty_query, 0, 0)
    look_back(scanner, MAILING)
    hours = int(MAILING.look_back / timedelta(hours=1)) + 1
    assert used(controlled, project) == (2 * BOOK + hours, 0, 0)


@pytest.mark.parametrize("finished", [0, 300])
def test_an_idle_sweep_and_prune_cost_the_same_however_much_is_finished(
    finished: int, app: App, ground: Ground, project: str, controlled: Firestore
) -> None:
    ground.put([a_delivery(Status.ACCEPTED, id=f"u1_done{number}", shard=number % 4) for number in range(finished)])
    controlled.reset_usage(project)
    replace(app.sweeper, clock=at(timedelta(days=1))).sweep()
    assert used(controlled, project) == (GATE + app.settings.shards, 0, 0)
    replace(app.pruner, clock=at(timedelta(days=1))).prune(Pass(prune_id="p1"))
    emptied_runs = 1
    assert used(controlled, project) == (app.settings.shards + emptied_runs, 0, 0)


def test_a_swept_delivery_costs_a_read_and_a_write(
    app: App, ground: Ground, project: str, controlled: Firestore
) -> None:
    ground.put([a_delivery(id=delivery_id) for delivery_id in jobs(*range(DELIVERIES))])
    controlled.reset_usage(project)
    replace(app.sweeper, clock=at(timedelta(minutes=6))).sweep()
    idle_shards = app.settings.shards - 1
    assert used(controlled, project) == (GATE + idle_shards + DELIVERIES, DELIVERIES, 0)


def test_a_pruned_delivery_costs_a_read_and_a_delete(
    app: App, ground: Ground, project: str, controlled: Firestore
) -> None:
    ground.put([a_delivery(Status.ACCEPTED, id=delivery_id, prune_at=NOW) for delivery_id in jobs(*range(DELIVERIES))])
    ground.db.collection("runs").document("job-alert:2026-08-16").set({"intended": 99, "opened_at": NOW})
    controlled.reset_usage(project)
    replace(app.pruner, clock=at()).prune(Pass(prune_id="p1"))
    idle_shards, audit = app.settings.shards - 1, 1
    assert used(controlled, project) == (idle_shards + DELIVERIES + RUN, RUN + audit, DELIVERIES)
