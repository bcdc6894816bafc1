"""What SendGrid tells of a mail after it took it: read one batch of its events, and say how far a mail has got.

The fields are those of the Event Webhook's documentation. Each event is read on its own: one that makes no sense must not
have all the others posted again, and then lost.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ledgermail.errors import InvalidDocument, InvalidId
from ledgermail.events.suppression import Cause, Reason
from ledgermail.ledger import ids

# Every event about a mail that SendGrid documents, by how far it has got then: what the later ones imply comes before.
# `blocked` is a bounce of that type: the address may be sound. One mail is never dropped and delivered; where two were sent,
# the better end counts.
RANKS = {
    "processed": 0,
    "dropped": 1,
    "deferred": 2,
    "blocked": 3,
    "delivered": 4,
    "bounce": 5,  # also after `delivered`: some servers refuse only then
    "open": 6,
    "click": 7,
    "group_resubscribe": 8,
    "group_unsubscribe": 9,
    "unsubscribe": 10,
    "spamreport": 11,
}
# Why SendGrid drops a mail of a recipient whom it knows for more than this mail; any other reason is about the mail alone.
DROPPED = {
    "bounced address": Reason.BOUNCE,
    "invalid": Reason.INVALID,
    "spam reporting address": Reason.SPAM_REPORT,
    "unsubscribed address": Reason.UNSUBSCRIBE,
}
SUPPRESSING = {
    "bounce": Reason.BOUNCE,
    "spamreport": Reason.SPAM_REPORT,
    "unsubscribe": Reason.UNSUBSCRIBE,
    "group_unsubscribe": Reason.UNSUBSCRIBE,
}


@dataclass(frozen=True, kw_only=True)
class Event:
    """One event: its type (a key of RANKS), when, of which delivery (None: it does not say), and whom it suppresses."""

    kind: str
    at: datetime
    delivery_id: str | None
    reference: str  # SendGrid's message id, as the answer to the send gave it
    email: str
    cause: Cause | None


@dataclass(frozen=True)
class Batch:
    """The events that can be used, and how many cannot: `malformed`, or of a type that is `not_ours`."""

    events: tuple[Event, ...]
    counts: Counter[str]


def read_batch(body: object) -> Batch:
    """The events of a posted JSON array. Raises InvalidDocument when it is none."""
    if not isinstance(body, list):
        raise InvalidDocument("events: must be a list")
    events, counts = [], Counter[str]()
    for document in body:
        try:
            event = read_event(document)
        except InvalidDocument:
            counts["malformed"] += 1
            continue
        if event is None:
            counts["not_ours"] += 1
        else:
            events.append(event)
    return Batch(tuple(events), counts)


def read_event(document: object) -> Event | None:
    """One event; None for a type that is not about a mail, or not known. Raises InvalidDocument naming the field."""
    if not isinstance(document, dict):
        raise InvalidDocument("event: must be a map")
    kind = _text(document, "event")
    if not kind:
        raise InvalidDocument("event: is missing")
    kind = "blocked" if kind == "bounce" and _is_soft(document) else kind
    if kind not in RANKS:
        return None
    at, email = _time(document), _text(document, "email")
    reason = DROPPED.get(_text(document, "reason").lower()) if kind == "dropped" else SUPPRESSING.get(kind)
    return Event(
        kind=kind,
        at=at,
        delivery_id=_delivery_id(document),
        reference=_text(document, "sg_message_id").partition(".")[0],
        email=email,
        cause=None if reason is None else Cause(reason, at, _text(document, "sg_event_id"), email),
    )


def fate(events: Iterable[str]) -> str | None:
    """How far a mail has got: the type of the highest rank; None where there are no events."""
    return max((kind for kind in events if kind in RANKS), key=RANKS.__getitem__, default=None)


def parse(raw: bytes) -> object:
    """The JSON of a body. Raises InvalidDocument."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise InvalidDocument("events: are not JSON") from error


def _is_soft(document: Mapping[str, Any]) -> bool:
    """Whether it says more of the moment than of the address: a block, or a temporary failure that was given up (4.x.x)."""
    return _text(document, "type") == "blocked" or _text(document, "status").startswith("4")


def _delivery_id(document: Mapping[str, Any]) -> str | None:
    delivery_id = document.get("delivery_id")
    try:
        ids.user_of(delivery_id if isinstance(delivery_id, str) else "")
    except InvalidId:
        return None
    return str(delivery_id)


def _time(document: Mapping[str, Any]) -> datetime:
    seconds = document.get("timestamp")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise InvalidDocument("timestamp: must be a number of seconds")
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise InvalidDocument("timestamp: is no time") from error


def _text(document: Mapping[str, Any], name: str) -> str:
    value = document.get(name)
    if value is None:
        return ""
    if not isinstance(value, str) or not _is_whole(value):
        raise InvalidDocument(f"{name}: must be text")
    return value


def _is_whole(text: str) -> bool:
    """Whether it can be written down: JSON can hold half a character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
