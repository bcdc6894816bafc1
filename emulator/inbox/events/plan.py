"""What becomes of mails, where that is told, and how the telling goes wrong."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import NoneType
from urllib.parse import urlsplit


class EventPlanError(Exception):
    """The wanted plan cannot be read; the text names the field."""


class Fate(StrEnum):
    """What becomes of a mail at one recipient. The local part of an address that begins with one decides for it."""

    DELIVERED = "delivered"
    DEFERRED = "deferred"  # put off once, then delivered
    BOUNCE = "bounce"
    BLOCKED = "blocked"  # a bounce of type blocked
    DROPPED = "dropped"  # never sent, for one of the reasons
    SPAMREPORT = "spamreport"
    OPEN = "open"
    CLICK = "click"
    UNSUBSCRIBE = "unsubscribe"
    SILENT = "silent"  # nothing is ever told


@dataclass(frozen=True, kw_only=True)
class EventPlan:
    """Where and how events are posted. ``rates`` are shares of all recipients and sum to at most 1; the rest is delivered.

    Whatever comes late comes late by the server's own clock: ``Inbox.advance`` reaches it.
    """

    url: str | None = None  # None: no events
    seed: int = 0
    rates: Mapping[Fate, float] = field(default_factory=dict)
    batch: int = 500  # events in one post, at most
    at_once: int = 1  # posts under way together, at most
    retry_seconds: float = 5  # until a post that failed is tried again; doubled each time, for a day
    copies: int = 1  # each event is posted so often, every time in another batch
    new_ids: bool = False  # each time an event is posted it has another sg_event_id
    shuffle: bool = False  # what is due goes out in any order
    delay_seconds: float = 0  # each posting of an event waits for a time drawn up to this
    loss: float = 0  # share of events that are never posted
    bare: float = 0  # share of events posted without the custom arguments


MOST_AT_ONCE = 4
_NUMBER = (int, float)
_TYPES: Mapping[str, tuple[type, ...]] = {
    "url": (str, NoneType),
    "seed": (int,),
    "rates": (dict,),
    "batch": (int,),
    "at_once": (int,),
    "retry_seconds": _NUMBER,
    "copies": (int,),
    "new_ids": (bool,),
    "shuffle": (bool,),
    "delay_seconds": _NUMBER,
    "loss": _NUMBER,
    "bare": _NUMBER,
}


def read_plan(wanted: Mapping[str, object]) -> EventPlan:
    """The plan in a JSON object whose keys are the fields of EventPlan. Raises EventPlanError."""
    for name, value in wanted.items():
        if name not in _TYPES:
            raise EventPlanError(f"{name}: events are an object of {', '.join(_TYPES)}")
        if not isinstance(value, _TYPES[name]):
            raise EventPlanError(f"{name}: {value!r} is of the wrong type")
    rates = wanted.get("rates", {})
    assert isinstance(rates, dict)
    try:
        shares = {Fate(name): float(share) for name, share in rates.items()}
    except (TypeError, ValueError) as error:
        raise EventPlanError(f"rates: {error}") from error
    plan = EventPlan(**{**wanted, "rates": shares})  # type: ignore[arg-type] # looked at above
    _check(plan)
    return plan


def _check(plan: EventPlan) -> None:
    if plan.url is not None and not (urlsplit(plan.url).scheme in ("http", "https") and urlsplit(plan.url).hostname):
        raise EventPlanError("url: an http or https address")
    if min(plan.rates.values(), default=0) < 0 or sum(plan.rates.values()) > 1 + 1e-9:
        raise EventPlanError("rates: each is at least 0, and together they are at most 1")
    if plan.batch < 1 or plan.copies < 1:
        raise EventPlanError("batch, copies: at least 1")
    if not 1 <= plan.at_once <= MOST_AT_ONCE:
        raise EventPlanError(f"at_once: from 1 to {MOST_AT_ONCE}")
    if plan.retry_seconds <= 0 or plan.delay_seconds < 0:
        raise EventPlanError("retry_seconds: above 0; delay_seconds: at least 0")
    if not (0 <= plan.loss <= 1 and 0 <= plan.bare <= 1):
        raise EventPlanError("loss, bare: from 0 to 1")
