"""What is measured runs on: a local Firestore, Cloud Tasks and SendGrid in processes of their own, and documents in bulk."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from google.cloud import firestore

from emulator import firestore as local_firestore
from emulator import inbox, tasks
from emulator.cloud import LOCATION, PROJECT, create_queues, environment_of
from emulator.firestore import Firestore
from emulator.inbox import Inbox
from emulator.tasks import CloudTasks
from ledgermail.ledger import ids
from ledgermail.ledger.delivery import Content, Delivery, Guarantee, Status, to_document
from ledgermail.ledger.policy import Policy
from ledgermail.planning.page import content_hash

BATCH = 500  # documents a commit
USERS = 50  # among whom matches and deliveries are shared out
JOB = {"title": "Data Engineer", "company": "Acme", "url": "https://jobs.example.com/1", "city": "Berlin"}


@dataclass(frozen=True)
class Ground:
    """The servers, and the environment in which the functions find them."""

    store: Firestore
    tasks: CloudTasks
    inbox: Inbox
    environment: Mapping[str, str]

    @property
    def db(self) -> firestore.Client:
        """A new client."""
        return self.store.client(PROJECT)


@contextmanager
def ground() -> Iterator[Ground]:
    """Start the servers, and end them afterwards. Tasks are made and not dispatched: their queues are paused."""
    with local_firestore.start("embedded") as store:
        queues, mailbox = tasks.start(), inbox.start()
        try:
            parent = f"projects/{PROJECT}/locations/{LOCATION}"
            create_queues(queues, parent)
            with queues.client() as client:
                for name in ("deliver", "upkeep"):
                    client.pause_queue(name=f"{parent}/queues/{name}")
            yield Ground(store, queues, mailbox, _environment(store, queues, mailbox))
        finally:
            mailbox.stop()
            queues.stop()


def _environment(store: Firestore, queues: CloudTasks, mailbox: Inbox) -> dict[str, str]:
    """As the local cloud's, for callers without a token."""
    environment = environment_of(store, queues, mailbox, port=9)
    return {name: value for name, value in environment.items() if name != "LEDGERMAIL_AUDIENCE"}


def write(
    db: firestore.Client, collection: str, count: int, document: Callable[[int], tuple[str, dict[str, Any]]]
) -> None:
    """Write so many documents, each an (id, fields) by its number, 500 a commit."""
    for start in range(0, count, BATCH):
        batch = db.batch()
        for number in range(start, min(start + BATCH, count)):
            document_id, fields = document(number)
            batch.set(db.collection(collection).document(document_id), fields)
        batch.commit()


def user(number: int) -> tuple[str, dict[str, Any]]:
    """A user who wants alerts."""
    mailings = {"job-alert": {"active": True}}
    return f"u{number}", {"email": f"u{number}@example.com", "name": "Ada", "timezone": "UTC", "mailings": mailings}


def match(number: int, users: int, at: datetime) -> tuple[str, dict[str, Any]]:
    """A match, of one of so many users in turn."""
    return f"m{number}", {"user_id": f"u{number % users}", "job_id": f"j{number}", "matched_at": at, "job": JOB}


def delivery(number: int, status: Status = Status.PENDING, *, users: int = USERS, **changes: Any) -> Delivery:
    """A delivery in this status, of one of so many users in turn; a pending one is due now, others ended a day ago."""
    user_id, job_id, now = f"u{number % users}", f"j{number}", datetime.now(UTC)
    delivery_id, items = ids.delivery_id(user_id, job_id), ({**JOB, "job_id": job_id},)
    ended = {"settled_at": now - timedelta(days=1), "prune_at": now + timedelta(days=29), "attempt": 1, "claim_id": "c"}
    fields: dict[str, Any] = {
        "id": delivery_id,
        "mailing": "job-alert",
        "guarantee": Guarantee.AT_MOST_ONCE,
        "run_key": ids.run_key("job-alert", now.date().isoformat()),
        "user_id": user_id,
        "subject": job_id,
        "status": status,
        "due_at": now,
        "created_at": now,
        "shard": ids.shard_of(delivery_id, 4),
        "content": Content(hash=content_hash(items), items=items if status is Status.PENDING else None),
    }
    fields |= {"wake_at": now + Policy().slack} if status is Status.PENDING else ended
    return Delivery(**(fields | changes))


def delivery_document(made: Delivery) -> tuple[str, dict[str, Any]]:
    """A delivery as it is written."""
    return made.id, to_document(made)


@contextmanager
def silent() -> Iterator[None]:
    """Without the log, which goes to standard output: it is written, and nobody has to read it."""
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        yield
