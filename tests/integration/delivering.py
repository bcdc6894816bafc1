"""A worker on a Firestore, a queue and a SendGrid of its own, and what a test of it puts there and looks at."""

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from emulator.inbox import Inbox
from emulator.tasks import CloudTasks
from ledgermail.app import App
from ledgermail.clock import Clock
from ledgermail.delivering.worker import Answer, Worker
from ledgermail.ledger import ids
from ledgermail.ledger.delivery import Delivery, Guarantee, Status
from ledgermail.ledger.ledger import DELIVERIES
from ledgermail.ledger.policy import Policy
from tests.integration.conftest import Ground
from tests.samples import a_delivery, a_mailing, a_user

JOB = ids.delivery_id("u1", "j1")
LEASE_OVER = timedelta(minutes=10)


def owed(job_id: str = "j1", status: Status = Status.PENDING, at: datetime | None = None, **changes: Any) -> Delivery:
    """A delivery of this job to u1 that was planned and due at that time, else right now."""
    at = at or datetime.now(UTC)
    times = {"due_at": at, "created_at": at}
    if status is Status.PENDING:
        times["wake_at"] = at + Policy().slack
    return a_delivery(status, id=ids.delivery_id("u1", job_id), subject=job_id, **(times | changes))


def patience(request: pytest.FixtureRequest) -> str:
    """How long an answer is waited for: not long in a test whose parameter is a hang; else a busy machine is no timeout."""
    return "1s" if re.search(r"\bhang", request.node.name) else "20s"


def with_guarantee(app: App, guarantee: Guarantee) -> App:
    """The same deployment, whose mailing has this guarantee."""
    return App(app.settings, {"job-alert": replace(a_mailing(), guarantee=guarantee)})


@dataclass(frozen=True)
class Post:
    """Deliveries of u1 under one guarantee, who wants them, and the worker that tries them."""

    app: App
    ground: Ground
    inbox: Inbox
    queues: CloudTasks
    guarantee: Guarantee

    def owe(self, job_id: str = "j1", **changes: Any) -> str:
        """A delivery that is due now, of a user who wants it; its id."""
        delivery = owed(job_id, guarantee=self.guarantee, **changes)
        self.ground.user("u1", a_user())
        self.ground.delivery(delivery)
        return delivery.id

    def deliver(self, worker: Worker | None = None, delivery_id: str = JOB) -> Answer:
        """One wake-up."""
        return (worker or self.app.worker).deliver(delivery_id)

    def worker(self, **parts: Any) -> Worker:
        """The worker with these parts exchanged."""
        return replace(self.app.worker, **parts)

    def another_instance(self) -> App:
        """A second instance of the same deployment, which has read nothing yet."""
        return App(self.app.settings, self.app.mailings)

    def document(self, delivery_id: str = JOB) -> dict[str, Any]:
        """A delivery's document as it is now."""
        return self.ground.deliveries()[delivery_id]

    def status(self, delivery_id: str = JOB) -> str:
        """What became of a delivery so far."""
        return str(self.document(delivery_id)["status"])

    def mails(self, delivery_id: str = JOB) -> int:
        """How many mails of a delivery the provider took."""
        return len(self.inbox.mails(delivery_id=delivery_id))

    def calls(self) -> int:
        """How many calls the provider has had, those that still hang aside."""
        return int(self.inbox.stats()["requests"])

    def sweep(self, later: timedelta = LEASE_OVER) -> None:
        """What upkeep does when so much time has passed."""
        clock = Clock(now=lambda: datetime.now(UTC) + later)
        replace(self.app.sweeper, clock=clock).sweep()

    def make_due(self, delivery_id: str = JOB) -> None:
        """Let the time of the next attempt come."""
        self.change(delivery_id, next_attempt_at=datetime.now(UTC))

    def change(self, delivery_id: str = JOB, **fields: Any) -> None:
        """Change a delivery's document behind everybody's back."""
        self.ground.db.collection(DELIVERIES).document(delivery_id).update(fields)

    def tasks(self) -> dict[str, datetime]:
        """The waiting wake-ups: name -> time."""
        parent = f"projects/{self.app.settings.project}/locations/europe-west1/queues/deliver"
        with self.queues.client() as client:
            return {task.name.rpartition("/")[2]: task.schedule_time for task in client.list_tasks(parent=parent)}  # type: ignore[misc]


def jumping(seconds: float, *, after: int = 1) -> Clock:
    """A clock that jumps forward after so many readings: the instance was frozen in between."""
    readings = iter([0.0] * after)
    return Clock(monotonic=lambda: next(readings, seconds))


# The marks of a test that asks for both guarantees, or for the second; without one, a test is about the first.
both = pytest.mark.parametrize("post", list(Guarantee), indirect=True)
least = pytest.mark.parametrize("post", [Guarantee.AT_LEAST_ONCE], indirect=True)
