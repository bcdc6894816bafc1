"""The stage `webhook`: tell the customer that the mail of a delivery was accepted, signed as Standard Webhooks has it.

It may be sent more than once; its event id and its body are the same each time, so that the receiver can tell. What may
be called is decided in `egress`.
"""

import base64
import binascii
import json
from datetime import UTC, datetime
from typing import assert_never

from standardwebhooks import Webhook

from ledgermail.clock import Clock
from ledgermail.delivering.outcomes import Kind, Outcome, Rejected, outcome_of
from ledgermail.ledger.delivery import Delivery, Failure
from ledgermail.ledger.transitions import EMAIL
from ledgermail.webhooks.egress import Egress, NoAnswer, Refused

EVENT = "delivery.accepted"
SECRET_PREFIX = "whsec_"  # noqa: S105 # what every secret begins with
SECRET_BYTES = range(24, 65)  # Standard Webhooks 1.0.0, signature scheme
AGAIN = frozenset({408, 425, 429})  # the refusals that are about the moment, and not about the request

BAD_SECRET = Rejected(
    Failure(category=Kind.REJECTED.value, code="bad_secret", detail="not whsec_ and 24 to 64 bytes in base64")
)


class Webhooks:
    """Tells customers, each at an address and with a secret of their own."""

    def __init__(self, egress: Egress, clock: Clock) -> None:
        self._egress = egress
        self._clock = clock

    def send(self, url: object, secret: object, delivery: Delivery) -> Outcome:
        """Make one attempt, with the url and the secret as the user's document has them, usable or not.

        The delivery's email must be on record. The outcome is Accepted with the event id, Rejected or Transient: it may
        be sent again, so that nothing is ambiguous; and what is wrong with one customer's server closes no breaker.
        """
        key = signing_key(secret)
        if key is None:
            return BAD_SECRET
        name, content = event_id(delivery), body(delivery)
        answer = self._egress.post(url, _headers(name, content, key, self._clock.now()), content.encode())
        match answer:
            case int():
                kind = kind_of_status(answer)
                return outcome_of(kind, Failure(category=kind.value, code=str(answer)), reference=name)
            case Refused(code):
                return outcome_of(Kind.REJECTED, Failure(category=Kind.REJECTED.value, code=code))
            case NoAnswer(code, detail):
                return outcome_of(Kind.TRANSIENT, Failure(category=Kind.TRANSIENT.value, code=code, detail=detail))
        assert_never(answer)


def kind_of_status(status: int) -> Kind:
    """What the customer's answer says of the attempt. Never `throttled`: that would hold everybody's mail back."""
    if 200 <= status <= 299:
        return Kind.ACCEPTED
    return Kind.TRANSIENT if status in AGAIN or status >= 500 else Kind.REJECTED


def event_id(delivery: Delivery) -> str:
    """The same at each attempt. Without a full stop, which separates what is signed; no delivery id has a %2E."""
    return f"{delivery.id.replace('.', '%2E')}:accepted"


def body(delivery: Delivery) -> str:
    """What is told: the same bytes at each attempt, of what is on record. No address, and nothing of the mail."""
    email = delivery.stages[EMAIL]
    told = {
        "type": EVENT,
        "delivery_id": delivery.id,
        "mailing": delivery.mailing,
        "run_key": delivery.run_key,
        "subject": delivery.subject,
        "accepted_at": email.at.astimezone(UTC).isoformat(timespec="milliseconds"),
        "reference": email.reference,
    }
    return json.dumps(told, separators=(",", ":"))


def signing_key(secret: object) -> bytes | None:
    """The key, or None. The library skips what is not base64, and would sign with what is left."""
    if not isinstance(secret, str) or not secret.startswith(SECRET_PREFIX):
        return None
    encoded = secret.removeprefix(SECRET_PREFIX).rstrip("=")
    try:
        key = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
    return key if len(key) in SECRET_BYTES else None


def _headers(name: str, content: str, key: bytes, now: datetime) -> dict[str, str]:
    return {
        "Content-Type": "application/json",
        "User-Agent": "ledgermail",
        "webhook-id": name,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(key).sign(name, now.astimezone(UTC), content),
    }
