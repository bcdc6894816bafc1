"""The cost model against the meter: each flow is played, and what is predicted is at most one in twenty off."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from emulator.firestore import Firestore
from emulator.inbox import Inbox
from emulator.tasks import CloudTasks
from ledgermail.app import App
from ledgermail.costs.cost import Usage, Volume, used
from ledgermail.events.events import parse, read_batch
from ledgermail.ledger import ids
from ledgermail.ledger.delivery import Status
from ledgermail.planning.lookback import look_back
from ledgermail.upkeep.prune import Pass
from tests.integration.conftest import AppMaker, Ground
from tests.integration.customers import ROW, Customer
from tests.integration.delivering import Post, owed
from tests.integration.planning import DAILY, HOUR, SHIPMENTS, Planning, at
from tests.integration.scans import MAILING
from tests.integration.scans import at as standing
from tests.integration.test_status_cost import fill, look, of_run
from tests.samples import a_match, a_user

OFF = 0.05
USERS, EACH = 8, 10
REPORTS = 30
MATCHES = 4
ALERTS_ONLY: dict[str, Any] = {"mailings": 1, "scheduled": 0, "reports": 0, "schedules": 0, "runs_a_day": 0, "days": 1}


@dataclass
class Meter:
    """Adds up what happens within its calls, and nothing of what a test does between them."""

    server: Firestore
    project: str
    reads: int = 0
    writes: int = 0
    deletes: int = 0

    def __call__(self, happens: Callable[[], Any]) -> Any:
        self.server.reset_usage(self.project)
        result = happens()
        usage = self.server.usage(self.project)
        self.reads, self.writes, self.deletes = (
            self.reads + usage.reads,
            self.writes + usage.writes,
            self.deletes + usage.deletes,
        )
        return result

    def assert_predicted(self, volume: Volume, rows: Iterable[str] = ()) -> None:
        """The model's rows of these names, or all of them, say what was metered."""
        found = used(volume)
        total = sum((usage for name, usage in found.items() if not rows or name in set(rows)), Usage())
        metered = {"reads": self.reads, "writes": self.writes, "deletes": self.deletes}
        predicted = {name: getattr(total, name) for name in metered}
        for name, count in metered.items():
            assert abs(predicted[name] - count) <= OFF * count, (name, predicted, metered)


@pytest.fixture
def meter(controlled: Firestore, project: str) -> Meter:
    """The meter of this test's project."""
    return Meter(controlled, project)


@pytest.fixture
def post(make_app: AppMaker, ground: Ground, inbox: Inbox, tasks_server: CloudTasks) -> Post:
    """A deployment of job alerts that sends to the local inbox."""
    return Post(make_app(sendgrid_url=inbox.url), ground, inbox, tasks_server, MAILING.guarantee)


def match(ground: Ground) -> None:
    """Some matches each of some users, all of the last minute."""
    start = datetime.now(UTC) - timedelta(seconds=40)
    for number in range(USERS):
        ground.user(f"u{number}", a_user(email=f"u{number}@example.com"))
    jobs = {f"m{n}": (f"u{n % USERS}", start + n * timedelta(milliseconds=1)) for n in range(USERS * EACH)}
    ground.matches({name: a_match(user_id=user, job_id=name, matched_at=time) for name, (user, time) in jobs.items()})


def of_alerts(calls: dict[str, float], **volume: Any) -> Volume:
    return Volume(**(ALERTS_ONLY | {"customers": USERS, "alerts": EACH, "together": EACH, "calls": calls} | volume))


@pytest.mark.parametrize("attempts", [1, 2])
def test_alerts_from_the_scan_to_the_prune(attempts: int, post: Post, ground: Ground, meter: Meter) -> None:
    match(ground)
    meter(lambda: post.app.scanner.scan(MAILING))
    planned = sorted(ground.deliveries())
    for attempt in range(attempts):
        for delivery_id in planned:
            if attempt + 1 < attempts:
                post.inbox.fail_next("unavailable")
            meter(partial(post.app.worker.deliver, delivery_id))
        for delivery_id in planned if attempt + 1 < attempts else ():
            post.make_due(delivery_id)
    assert {document["status"] for document in ground.deliveries().values()} == {"accepted"}
    meter(post.app.sweeper.sweep)
    later = replace(post.app.clock, now=lambda: datetime.now(UTC) + timedelta(days=31))
    meter(lambda: replace(post.app.pruner, clock=later).prune(Pass(prune_id="p1")))
    meter.assert_predicted(
        of_alerts({"scan": 1, "sweep": 1, "prune": 1}, attempts=attempts),
        ["plan alerts", "deliver", "sweep", "prune"],
    )
    assert meter.deletes >= USERS * EACH


def test_digests_from_the_tick_to_the_mail(
    make_app: AppMaker, ground: Ground, inbox: Inbox, tasks_server: CloudTasks, meter: Meter
) -> None:
    app = make_app(sendgrid_url=inbox.url)
    plan = Planning(app, ground, tasks_server, {"daily-digest": DAILY})
    customers = [f"u{number:02}" for number in range(REPORTS)]
    plan.subscribe(*customers)
    for user_id in customers:
        plan.match(user_id, [at(-1, 9) + number * HOUR for number in range(MATCHES)])
    meter(lambda: plan.tick(at(0)))
    worker = App(app.settings, plan.mailings).worker
    for delivery_id in ground.deliveries():
        ground.db.document(f"deliveries/{delivery_id}").update({"due_at": datetime.now(UTC)})
        assert meter(partial(worker.deliver, delivery_id)).what == "accepted"
    one_mailing: dict[str, Any] = {"mailings": 1, "scheduled": 1, "reports": 0, "schedules": 0, "runs_a_day": 1}
    volume = Volume(customers=REPORTS, runs=1, matches=MATCHES, days=1, calls={"plan": 1}, **one_mailing)
    meter.assert_predicted(volume, ["plan digests and reports", "deliver"])


def test_reports_whose_customers_have_a_webhook(make_app: AppMaker, ground: Ground, inbox: Inbox, meter: Meter) -> None:
    customer, due = Customer(), datetime.now(UTC) - timedelta(seconds=1)
    ground.db.document("reports/school/versions/v1").set({"published_at": due, "rows": [ROW]})
    with customer.receiver:
        app = make_app(sendgrid_url=inbox.url, webhooks="loopback")
        worker = App(app.settings, {SHIPMENTS.name: SHIPMENTS}).worker
        for number in range(REPORTS):
            subscribed = {"mailings": {SHIPMENTS.name: {"active": True}}, "email": f"u{number}@example.com"}
            ground.user(f"u{number}", a_user(**subscribed, **customer.webhook()))
            about: dict[str, Any] = {"user_id": f"u{number}", "topic": "school", "version": "v1", "content": None}
            delivery_id = ids.run_delivery_id(f"u{number}", "shipment-digest:2026-08-16:school")
            made = owed(mailing=SHIPMENTS.name, guarantee=SHIPMENTS.guarantee, **about)
            ground.delivery(made.changed(id=delivery_id, period_start=due - HOUR, period_end=due))
            assert meter(partial(worker.deliver, delivery_id)).what == "accepted"
        assert len(customer.heard()) == REPORTS
    volume = Volume(customers=REPORTS, runs=1, matches=0, webhooks=1, days=1, calls={})
    meter.assert_predicted(volume, ["deliver", "webhooks"])


def test_the_events_of_the_mails(post: Post, ground: Ground, meter: Meter) -> None:
    sent = [owed(f"j{number}", Status.ACCEPTED) for number in range(REPORTS)]
    ground.put(sent)
    for kind in ("processed", "delivered"):
        now = int(datetime.now(UTC).timestamp())
        told = [
            {
                "event": kind,
                "email": "u1@example.com",
                "timestamp": now,
                "delivery_id": delivery.id,
                "sg_message_id": "a.b",
            }
            for delivery in sent
        ]
        batch = read_batch(parse(json.dumps(told).encode()))
        assert meter(partial(post.app.intake.take, batch))["deliveries"] == REPORTS
    meter.assert_predicted(of_alerts({}, customers=REPORTS, alerts=1), ["events"])


def test_upkeep_of_a_ledger_in_which_nothing_is_due(post: Post, ground: Ground, meter: Meter) -> None:
    fill(ground, "job-alert:x", of_run("job-alert:x", 50, Status.ACCEPTED))
    meter(replace(post.app.sweeper, clock=standing()).sweep)
    meter(lambda: replace(post.app.pruner, clock=standing()).prune(Pass(prune_id="p1")))
    meter.assert_predicted(of_alerts({"sweep": 1, "prune": 1}, alerts=0), ["sweep", "prune"])


def test_to_be_watched(app: App, ground: Ground, meter: Meter) -> None:
    """Of the mailings that are shipped: the ages, and everything of two days on which all was accepted."""
    keys = ["job-alert:2026-08-16", "job-alert:2026-08-15", "daily-digest:a", "weekly-digest:b", "shipment-digest:c"]
    for key in keys:
        fill(ground, key, of_run(key, 480, Status.ACCEPTED), days=0.3)
    meter(lambda: look(app, 0))
    meter(lambda: look(app))
    volume = Volume(customers=600, runs=1, alerts=1, runs_a_day=2, days=1, calls={"status": 1, "identity": 1})
    meter.assert_predicted(volume, ["status"])


def test_look_backs_and_ticks_that_find_nothing(post: Post, ground: Ground, meter: Meter) -> None:
    match(ground)
    post.app.scanner.scan(MAILING)
    meter(lambda: look_back(post.app.scanner, MAILING))
    meter(lambda: post.app.scanner.scan(MAILING))
    meter.assert_predicted(of_alerts({"look-back": 1, "scan": 1}, alerts=0), ["plan alerts"])
