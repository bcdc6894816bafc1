"""Everything that the product asks Firestore in the life of a deployment, each query at least once."""

from dataclasses import replace
from datetime import timedelta
from itertools import product

from ledgermail.app import App
from ledgermail.clock import Clock
from ledgermail.console.chart import last_days
from ledgermail.console.days import count_days
from ledgermail.delivering.items import MOST_FROZEN
from ledgermail.ledger.delivery import Status
from ledgermail.planning.audience import Cohort
from ledgermail.planning.lookback import look_back
from ledgermail.status.bill import Bill
from ledgermail.upkeep.prune import Pass
from tests.integration.conftest import Ground
from tests.integration.planning import SHIPPED
from tests.integration.planning import at as day
from tests.integration.scans import MAILING, at, scanner_of, seed
from tests.samples import NOW, a_delivery, a_match

LATER = timedelta(days=31)


def ask_everything(app: App, ground: Ground, *, count: int) -> None:
    """Scan so many matches, look back, report, sweep (while mail is held back, too) and prune as many deliveries; then all
    that digests and reports, and at last operators ask.
    """
    seed(ground, count)
    scanner = scanner_of(app)
    scanner.scan(MAILING)
    ground.match("late", a_match(job_id="late", matched_at=NOW - timedelta(hours=2)))
    look_back(scanner, MAILING)
    replace(app.statuses, clock=at()).report()
    many = [a_delivery(id=f"u1_m{number}") for number in range(count)]
    ground.put(many)
    replace(app.sweeper, clock=at(timedelta(minutes=6))).sweep()
    app.gates.pause(True)
    held_back = replace(app.sweeper, clock=at(timedelta(minutes=6)), gates=type(app.gates)(app.client, at()))
    held_back.sweep()
    ground.put([a_delivery(Status.ACCEPTED, id=delivery.id) for delivery in many])
    replace(app.pruner, clock=at(LATER)).prune(Pass(prune_id="p1"))
    ask_for_digests(App(app.settings, SHIPPED, Clock(now=lambda: day(0))), ground)
    ask_for_operators(app)


def ask_for_digests(app: App, ground: Ground) -> None:
    """Open runs for who has a schedule and who has none, part an audience, go on, close; read what a long digest lists."""
    preferences = {"active": True, "schedule": "0 8 * * *", "topics": ["school"], "since": day(-1)}
    for user_id in ("u1", "u2"):
        ground.user(user_id, {"mailings": {"daily-digest": preferences, "shipment-digest": preferences}})
    version = ground.db.collection("reports").document("school").collection("versions").document("v1")
    version.set({"published_at": day(0, 6), "rows": [{}]})
    app.coordinator.tick()
    for mailing, schedule, topic in product(("daily-digest",), (None, "0 8 * * *"), (None, "school")):
        cohort = Cohort(mailing=mailing, schedule=schedule, topic=topic)
        app.coordinator.audience.split(cohort, "", 2)
        app.coordinator.audience.page(cohort, "u0", "u9")
        app.coordinator.audience.count(cohort)
    many = {f"long{n}": a_match(job_id=f"j{n}", matched_at=day(0, 1 + n / 100)) for n in range(MOST_FROZEN)}
    ground.matches(many)
    app.worker.items.of(a_delivery(content=None, period_start=day(0, 0), period_end=day(0, 8)))


def ask_for_operators(app: App) -> None:
    """What became of a user's mail, who did what, who is suppressed, whose address it is."""
    app.ledger.newest_of("u1", 1)
    app.worker.items.of(a_delivery(content=None))
    app.suppressions.newest(1)
    app.suppressions.of_address("u1@example.com")
    for about in ({}, {"delivery_id": "u1_j1"}, {"user_id": "u1"}):
        app.operations.audits.newest(**about)
    count_days(app.client, ["job-alert"], last_days(NOW.date()), Bill())
