"""Events absorbed: signed batches of the provider's events into the function, new ones and copies."""

import base64
import json
import os
import time
from collections.abc import Callable
from statistics import median
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

BATCH = 1000  # events, of half as many deliveries: SendGrid posts what came together in 30 s
KINDS = ("processed", "delivered")


def measure(ground: Ground, rounds: int) -> Section:
    """A batch of news and the same batch again, so many times."""
    key = ec.generate_private_key(ec.SECP256R1())
    environment = {**ground.environment, "LEDGERMAIL_EVENTS_KEY": _public(key)}
    os.environ.update(environment)
    app = App(read(environment), load(FOLDER))
    with silent():
        found = [_round(ground, app, key, number) for number in range(rounds)]
    rows = [
        (
            name,
            f"{BATCH / median(one[place][0] for one in found):.0f}",
            f"{found[-1][place][1] / BATCH:.2f}+{found[-1][place][2] / BATCH:.2f}",
        )
        for place, name in enumerate(("new", "copies"))
    ]
    return Section(
        "Events absorbed",
        f"Signed batches of {BATCH} events, two for each delivery, into the function `events`, in one process; then the same"
        f" batch again. Medians of {rounds}; operations are billed reads+writes an event.",
        [Table(("events", "a second", "operations an event"), rows)],
    )


Measured = tuple[float, int, int]  # seconds, reads, writes


def _round(ground: Ground, app: App, key: ec.EllipticCurvePrivateKey, number: int) -> list[Measured]:
    first = number * BATCH // len(KINDS)
    owed = [grounds.delivery(first + n, Status.ACCEPTED) for n in range(BATCH // len(KINDS))]
    grounds.write(ground.db, "deliveries", len(owed), lambda n: grounds.delivery_document(owed[n]))
    events = [_event(delivery.id, delivery.user_id, kind) for delivery in owed for kind in KINDS]
    body = json.dumps(events).encode()
    return [_measured(ground, lambda: _post(app, key, body)) for _ in range(2)]


def _measured(ground: Ground, work: Callable[[], None]) -> Measured:
    ground.store.reset_usage(PROJECT)
    begun = time.perf_counter()
    work()
    seconds, usage = time.perf_counter() - begun, ground.store.usage(PROJECT)
    return seconds, usage.reads, usage.writes


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
