"""A digest and a report of u1 that are due now, the worker that makes them, and what of theirs a test looks at."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from emulator.inbox import Inbox
from emulator.tasks import CloudTasks
from ledgermail.app import App
from ledgermail.delivering.worker import Answer, Worker
from ledgermail.ledger import ids
from ledgermail.ledger.delivery import Delivery, Guarantee
from ledgermail.mailing import Mailing
from ledgermail.planning.matches import MATCHES
from tests.integration.conftest import Ground
from tests.integration.delivering import Post, owed
from tests.integration.planning import DAILY, SHIPMENTS, a_subscriber
from tests.samples import a_match

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
TICK = timedelta(microseconds=1)
DIGEST = ids.run_delivery_id("u1", "daily-digest:2026-08-16")
REPORT = ids.run_delivery_id("u1", "shipment-digest:2026-08-16:school")


@dataclass(frozen=True)
class Desk:
    """One delivery of u1 that is due, its user's document, and the worker that tries it."""

    post: Post
    delivery: Delivery

    @property
    def start(self) -> datetime:
        """When the delivery's period starts."""
        assert self.delivery.period_start is not None
        return self.delivery.period_start

    def user(self, **changes: Any) -> None:
        """The user, who wants the mailing."""
        self.post.ground.user("u1", a_subscriber("u1", self.delivery.mailing) | changes)

    def match(self, *hours: float, **job: Any) -> None:
        """Matches so long after the period's start, of jobs that are numbered from 0."""
        self.matches({f"j{number}": self.start + hour * HOUR for number, hour in enumerate(hours)}, **job)

    def matches(self, times: dict[str, datetime], **job: Any) -> None:
        """Matches of these jobs at these times."""
        documents = {
            job_id: a_match(job_id=job_id, matched_at=at, job={"title": f"Job {job_id}.", **job})
            for job_id, at in times.items()
        }
        self.post.ground.matches(documents)

    def withdraw(self, job_id: str) -> None:
        """Take a match away."""
        self.post.ground.db.collection(MATCHES).document(job_id).delete()

    def deliver(self, worker: Worker | None = None) -> Answer:
        """One wake-up."""
        return self.post.deliver(worker, self.delivery.id)

    def again(self, worker: Worker | None = None) -> Answer:
        """The next wake-up, whose time has come."""
        self.post.make_due(self.delivery.id)
        return self.deliver(worker)

    def document(self) -> dict[str, Any]:
        """The delivery's document as it is now."""
        return self.post.document(self.delivery.id)

    def status(self) -> str:
        """What became of the delivery so far."""
        return self.post.status(self.delivery.id)

    def change(self, **fields: Any) -> None:
        """Change the delivery's document behind everybody's back."""
        self.post.change(self.delivery.id, **fields)

    def mails(self) -> Sequence[dict[str, Any]]:
        """The mails that the provider took, the first one first."""
        return self.post.inbox.mails(delivery_id=self.delivery.id)[::-1]

    def text(self) -> str:
        """The words of the only mail."""
        (mail,) = self.mails()
        return str(mail["text"])


def desk(app: App, ground: Ground, inbox: Inbox, queues: CloudTasks, mailing: Mailing, **changes: Any) -> Desk:
    """A delivery of this mailing that is due now, of the day before."""
    post = Post(App(app.settings, {mailing.name: mailing}), ground, inbox, queues, mailing.guarantee)
    made = Desk(post, replace(_delivery(mailing), **changes))
    made.user()
    ground.delivery(made.delivery)
    ground.db.collection("runs").document(made.delivery.run_key).set({"intended": 1, "opened_at": made.start})
    return made


def _delivery(mailing: Mailing) -> Delivery:
    now = datetime.now(UTC)
    made = owed(mailing=mailing.name, guarantee=mailing.guarantee, content=None, period_start=now - DAY, period_end=now)
    if mailing.name == DAILY.name:
        return replace(made, id=DIGEST, subject="daily-digest:2026-08-16", run_key="daily-digest:2026-08-16:~default")
    assert mailing.name == SHIPMENTS.name
    subject = "shipment-digest:2026-08-16:school"
    return replace(made, id=REPORT, subject=subject, run_key=f"{subject}:~default", topic="school", version="v1")


def at_most_once(mailing: Mailing) -> Mailing:
    """The same mailing under the other guarantee."""
    return replace(mailing, guarantee=Guarantee.AT_MOST_ONCE)
