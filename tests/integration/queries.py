"""Everything that the product asks Firestore in the life of a deployment, each query at least once."""

from dataclasses import replace
from datetime import timedelta

from ledgermail.app import App
from ledgermail.delivery import Status
from ledgermail.lookback import look_back
from ledgermail.prune import Pass
from tests.integration.conftest import Ground
from tests.integration.scans import MAILING, at, scanner_of, seed
from tests.samples import NOW, a_delivery, a_match

LATER = timedelta(days=31)


def ask_everything(app: App, ground: Ground, *, count: int) -> None:
    """Scan so many matches, look back, report, sweep (while mail is held back, too) and prune as many deliveries."""
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
