"""Valid things to test with: change what the test is about, and leave the rest."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from ledgermail.clock import Clock
from ledgermail.delivering.content import Rendered
from ledgermail.delivering.eligibility import Recipient
from ledgermail.delivering.message import Message
from ledgermail.ledger import ids
from ledgermail.ledger.delivery import Content, Delivery, Failure, Guarantee, Status
from ledgermail.ledger.policy import Policy
from ledgermail.mailing import Mailing, load
from ledgermail.planning.page import content_hash
from ledgermail.settings import FOLDER, Settings, read
from ledgermail.webhooks.egress import Egress
from ledgermail.webhooks.webhook import Webhooks

NOW = datetime(2026, 8, 16, 9, 30, tzinfo=UTC)
LINK = "https://mail.example.com/preferences?token=t"  # as in every mail
LEASE = timedelta(minutes=2)
ITEMS: tuple[Mapping[str, Any], ...] = (
    {"job_id": "j1", "title": "Data Engineer", "company": "Acme", "url": "https://jobs.example.com/1"},
)
RENDERED = Rendered("A job", "<p>A job</p>", "A job")
REFUSED = Failure(category="rejected", code="400", detail="no")


def a_delivery(status: Status = Status.PENDING, **changes: Any) -> Delivery:
    """A delivery in this status, with all that the status brings."""
    fields: dict[str, Any] = {
        "id": ids.delivery_id("u1", "j1"),
        "mailing": "job-alert",
        "guarantee": Guarantee.AT_MOST_ONCE,
        "run_key": "job-alert:2026-08-16",
        "user_id": "u1",
        "subject": "j1",
        "status": status,
        "due_at": NOW,
        "created_at": NOW,
        "shard": 0,
        "content": Content(hash=content_hash(ITEMS), items=ITEMS),
    }
    if status is Status.PENDING:
        fields["wake_at"] = NOW + Policy().slack
    elif status is Status.IN_FLIGHT:
        claimed = {"first_claimed_at": NOW, "first_attempt_at": NOW, "attempt": 1, "claim_id": "c1"}
        fields |= claimed | {"lease_expires_at": NOW + LEASE, "wake_at": NOW + LEASE}
    else:
        fields |= {"claim_id": "c1", "attempt": 1, "settled_at": NOW, "prune_at": NOW + Policy().retention}
    return Delivery(**(fields | changes))


def about(**job: Any) -> Delivery:
    """A pending delivery about this job."""
    items = ({"job_id": "j1", "title": "Cook", **job},)
    return a_delivery(content=Content(hash=content_hash(items), items=items))


def a_message(*, name: str = "Ada", content: Rendered = RENDERED, delivery_id: str = "u1_j1") -> Message:
    """A mail to u1, ready to be sent."""
    return Message(delivery_id, "job-alert", Recipient("u1@example.com", name), content, LINK)


def a_user(**changes: Any) -> dict[str, Any]:
    """A user's document who wants job alerts."""
    user = {"email": "u1@example.com", "name": "Ada", "timezone": "UTC", "mailings": {"job-alert": {"active": True}}}
    return user | changes


def a_match(**changes: Any) -> dict[str, Any]:
    """A match's document."""
    job = {"title": "Data Engineer", "company": "Acme", "url": "https://jobs.example.com/1"}
    return {"user_id": "u1", "job_id": "j1", "matched_at": NOW, "job": job} | changes


def an_event(kind: str = "delivered", **fields: Any) -> dict[str, Any]:
    """An event as SendGrid posts it; a field that is None is left out."""
    whole = {
        "email": "u1@example.com",
        "timestamp": int(NOW.timestamp()),
        "event": kind,
        "sg_event_id": "e1",
        "sg_message_id": "m1.recvd-abc-0",
        "delivery_id": "u1_j1",
        "mailing": "job-alert",
    }
    return {name: value for name, value in (whole | fields).items() if value is not None}


def a_mailing() -> Mailing:
    """The shipped job alert."""
    return load(FOLDER)["job-alert"]


ENVIRONMENT = {
    "LEDGERMAIL_PROJECT": "demo",
    "LEDGERMAIL_LOCATION": "europe-west1",
    "LEDGERMAIL_FUNCTION_URL": "http://127.0.0.1:8080/{function}",
    "LEDGERMAIL_TASK_ACCOUNT": "tasks@demo.iam.gserviceaccount.com",
    "LEDGERMAIL_SENDER": "alerts@example.com",
    "LEDGERMAIL_SENDGRID_KEY": "SG.local",
    "LEDGERMAIL_TRIGGER_KEY": "open-sesame",
    "LEDGERMAIL_TOKEN_KEY": "a-key-of-at-least-thirty-two-characters",
    "LEDGERMAIL_CONSOLE_KEY": "one-more-of-at-least-thirty-two-characters",
}


def settings(**changes: str) -> Settings:
    """Settings as read from a good environment with these variables (without their prefix) changed."""
    return read(ENVIRONMENT | {f"LEDGERMAIL_{name.upper()}": value for name, value in changes.items()})


def telling(timeout: timedelta = timedelta(seconds=5), clock: Clock | None = None, **egress: Any) -> Webhooks:
    """What tells customers; `egress` is what it may do and whom it asks for addresses."""
    clock = clock or Clock()
    return Webhooks(Egress(timeout, clock, **egress), clock)
