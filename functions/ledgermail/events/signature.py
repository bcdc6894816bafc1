"""Check that a batch of events comes from the provider: over the raw bytes, before anybody reads what they say."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from werkzeug.datastructures import Headers

from ledgermail.web import Refused

SIGNATURE = "X-Twilio-Email-Event-Webhook-Signature"
TIMESTAMP = "X-Twilio-Email-Event-Webhook-Timestamp"
# What is refused is posted again for one to three days, and it is not documented whether with a new signature. A batch that
# comes twice changes nothing, so the window is wide; it only ends what a recording could be used for.
WINDOW = timedelta(days=4)
AHEAD = timedelta(minutes=10)  # by how much the provider's clock may be before ours
NOT_SIGNED = Refused(403, "the signature is missing, wrong or too old")


def check(raw: bytes, headers: Headers, keys: Sequence[str], now: datetime) -> None:
    """Raise Refused (403) unless one of these public keys (base64, as SendGrid shows it) has signed the body."""
    signature, timestamp = headers.get(SIGNATURE, ""), headers.get(TIMESTAMP, "")
    if not keys:
        raise Refused(403, "there are no events here: LEDGERMAIL_EVENTS_KEY is not set")
    if not signature or not _is_recent(timestamp, now) or not any(_signed(raw, signature, timestamp, k) for k in keys):
        raise NOT_SIGNED


def _is_recent(timestamp: str, now: datetime) -> bool:
    if not (timestamp.isascii() and timestamp.isdecimal() and len(timestamp) <= len("4294967295")):
        return False
    return -AHEAD.total_seconds() <= now.timestamp() - int(timestamp) <= WINDOW.total_seconds()


def _signed(raw: bytes, signature: str, timestamp: str, key: str) -> bool:
    """The package's helper wants text, and raises where it cannot read a signature or a body."""
    try:
        signed: bool = _verifier(key).verify_signature(raw.decode("utf-8"), signature, timestamp)
    except (ValueError, TypeError):
        return False
    return signed


@lru_cache(maxsize=8)
def _verifier(key: str) -> Any:
    from sendgrid.helpers.eventwebhook import EventWebhook

    return EventWebhook(key)
