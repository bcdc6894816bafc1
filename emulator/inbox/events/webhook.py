"""Posts batches of events, signed: ECDSA P-256 over the timestamp and the raw body."""

import base64
import json
import secrets
import threading
from collections.abc import Mapping

import httpx
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from emulator.clock import Clock
from emulator.inbox.events.outbox import Batch, Outbox
from emulator.inbox.events.plan import MOST_AT_ONCE

POST_SECONDS = 15
ENDING_SECONDS = 1  # a post that is under way when the server ends is waited for so long
SIGNATURE = "X-Twilio-Email-Event-Webhook-Signature"
TIMESTAMP = "X-Twilio-Email-Event-Webhook-Timestamp"


class Webhook:
    """The posting side of an outbox. Nothing runs, and no client is made, before start()."""

    def __init__(self, outbox: Outbox, clock: Clock) -> None:
        self._outbox = outbox
        self._clock = clock
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._threads: list[threading.Thread] = []
        self._starting = threading.Lock()

    @property
    def public_key(self) -> str:
        """What verifies the signatures, as SendGrid shows it: DER in base64."""
        return base64.b64encode(
            self._key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
        ).decode()

    def start(self) -> None:
        """Post from now on. To start it again changes nothing."""
        with self._starting:
            if not self._threads:
                http = httpx.Client(
                    timeout=POST_SECONDS,
                    trust_env=False,
                    # A connection that its receiver is about to close would fail a post that nobody wanted to fail.
                    limits=httpx.Limits(max_keepalive_connections=0),
                    headers={"User-Agent": "SendGrid Event API"},
                )
                for _ in range(MOST_AT_ONCE):
                    # A daemon: a receiver that does not answer must not keep the process alive.
                    self._threads.append(threading.Thread(target=self._run, args=[http], daemon=True))
                    self._threads[-1].start()

    def stop(self) -> None:
        """End; what was not posted yet is lost."""
        self._outbox.close()
        for thread in self._threads:
            thread.join(ENDING_SECONDS / len(self._threads))

    def _run(self, http: httpx.Client) -> None:
        while (batch := self._outbox.take()) is not None:
            self._outbox.done(batch, self._post(http, batch))

    def _post(self, http: httpx.Client, batch: Batch) -> str | None:
        """Post it once: None when it was taken, or else what went wrong."""
        body = _body(batch)
        timestamp = str(int(self._clock.now().timestamp()))
        signature = self._key.sign(timestamp.encode() + body, ec.ECDSA(SHA256()))
        headers = {
            "Content-Type": "application/json",
            SIGNATURE: base64.b64encode(signature).decode(),
            TIMESTAMP: timestamp,
        }
        try:
            answer = http.post(batch.url, content=body, headers=headers)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return type(error).__name__
        return None if answer.is_success else str(answer.status_code)


def _body(batch: Batch) -> bytes:
    """The real one, too, ends its body with a line break, which the signature covers (sendgrid-python's example)."""
    events: list[Mapping[str, object]] = [posting.happened.body for posting in batch.postings]
    if batch.new_ids:
        events = [{**event, "sg_event_id": secrets.token_urlsafe(16)} for event in events]
    return json.dumps(events, ensure_ascii=False, separators=(",", ":")).encode() + b"\r\n"
