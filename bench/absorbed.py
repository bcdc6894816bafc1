"""Events absorbed: signed batches of the provider's events into the function, in copies and in any order."""

import base64
import json
import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from flask import Request
from werkzeug.datastructures import Headers
from werkzeug.test import EnvironBuilder

from bench import ground as grounds
from bench.ground import Ground, silent
from bench.report import Section, Table
from emulator.cloud import PROJECT
from ledgermail import endpoints
from ledgermail.app import App
from ledgermail.ledger.delivery import Status
from ledgermail.mailing import load
from ledgermail.settings import FOLDER, read

KINDS = ("processed", "delivered", "open")
COPIES = 3  # as often as users of SendGrid report to have got each
BATCH = 2000  # events; SendGrid posts what came together in 30 s


@dataclass(frozen=True)
class Post:
    """One batch: how many events of how many deliveries, the seconds it took, and what would be billed."""

    events: int
    deliveries: int
    seconds: float
    reads: int
    writes: int


def measure(ground: Ground, count: int) -> Section:
    """Every event of so many deliveries, in copies and in any order; then all of it once more."""
    key = ec.generate_private_key(ec.SECP256R1())
    environment = {**ground.environment, "LEDGERMAIL_EVENTS_KEY": _public(key)}
    os.environ.update(environment)
    app = App(read(environment), load(FOLDER))
    owed = [grounds.delivery(number, Status.ACCEPTED) for number in range(count)]
    grounds.write(ground.db, "deliveries", count, lambda number: grounds.delivery_document(owed[number]))
    events = [_event(delivery.id, delivery.user_id, kind) for delivery in owed for kind in KINDS] * COPIES
    random.Random(1).shuffle(events)  # noqa: S311 # the same order each time
    with silent():
        rows = [_row(name, _posted(ground, app, key, events)) for name in ("news and copies", "all of it again")]
    header = ("events", "posts", "a second", "reads an event", "writes an event", "writes a delivery and post, at most")
    return Section(
        "Events absorbed",
        f"{len(KINDS)} events of each of {count:,} deliveries, {COPIES} copies of each, in any order: signed batches of"
        f" {BATCH:,} into the function `events`, in one process; then all of them again.",
        [Table(header, rows)],
        {"events: writes a delivery and post, at most": float(rows[0][-1])},
    )


def _row(name: str, posts: list[Post]) -> tuple[str, ...]:
    total = sum(post.events for post in posts)
    each = (sum(post.reads for post in posts) / total, sum(post.writes for post in posts) / total)
    speed = total / sum(post.seconds for post in posts)
    most = max(post.writes / post.deliveries for post in posts)
    return (name, str(len(posts)), f"{speed:.0f}", f"{each[0]:.2f}", f"{each[1]:.2f}", f"{most:.2f}")


def _posted(ground: Ground, app: App, key: ec.EllipticCurvePrivateKey, events: list[dict[str, Any]]) -> list[Post]:
    batches = [events[first : first + BATCH] for first in range(0, len(events), BATCH)]
    return [_measured(ground, batch, lambda body: _post(app, key, body)) for batch in batches]


def _measured(ground: Ground, batch: list[dict[str, Any]], post: Callable[[bytes], None]) -> Post:
    body, deliveries = json.dumps(batch).encode(), len({event["delivery_id"] for event in batch})
    ground.store.reset_usage(PROJECT)
    begun = time.perf_counter()
    post(body)
    seconds, usage = time.perf_counter() - begun, ground.store.usage(PROJECT)
    return Post(len(batch), deliveries, seconds, usage.reads, usage.writes)


def _post(app: App, key: ec.EllipticCurvePrivateKey, body: bytes) -> None:
    at = str(int(time.time()))
    signature = base64.b64encode(key.sign(at.encode() + body, ec.ECDSA(hashes.SHA256()))).decode()
    headers = {
        "X-Twilio-Email-Event-Webhook-Signature": signature,
        "X-Twilio-Email-Event-Webhook-Timestamp": at,
    }
    asked = EnvironBuilder(method="POST", data=body, headers=Headers(headers), content_type="application/json")
    answer = endpoints.events(app, Request(asked.get_environ()))
    assert answer.status_code == 200, answer.data


def _event(delivery_id: str, user_id: str, kind: str) -> dict[str, Any]:
    named = {"event": kind, "delivery_id": delivery_id, "mailing": "job-alert", "email": f"{user_id}@example.com"}
    return named | {"timestamp": int(time.time()), "sg_event_id": f"{delivery_id}{kind}", "sg_message_id": "a.recvd-b"}


def _public(key: ec.EllipticCurvePrivateKey) -> str:
    """As SendGrid shows it."""
    public = key.public_key()
    der = public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(der).decode()
