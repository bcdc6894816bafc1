"""The noun: what a delivery is, what its statuses mean, and how it is written down."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar

from ledgermail.errors import InvalidDocument, NewerSchema

SCHEMA_VERSION = 1
DETAIL_CHARS = 300  # of a provider's words: enough for support, too short to keep a body

Document = dict[str, Any]
Choice = TypeVar("Choice", bound=StrEnum)


class Status(StrEnum):
    """Where a delivery stands. Only the first two are unfinished; the identity counts every one of them."""

    PENDING = "pending"  # owed: waits for its due time, its task, or its next attempt
    IN_FLIGHT = "in_flight"  # claimed by one worker until lease_expires_at
    ACCEPTED = "accepted"  # the provider took it; not the same as delivered
    REJECTED = "rejected"  # the provider, or we, refused this message for good; last_error says why
    EXPIRED = "expired"  # its last day for an attempt has passed
    SUPPRESSED = "suppressed"  # the recipient may not or does not want to get it
    EMPTY = "empty"  # there was nothing to say
    CANCELLED = "cancelled"  # an operator called it off
    UNKNOWN = "unknown"  # it may have been sent and is never sent again (at_most_once)


UNFINISHED = frozenset({Status.PENDING, Status.IN_FLIGHT})
TERMINAL = frozenset(Status) - UNFINISHED


class Guarantee(StrEnum):
    """How often a mailing's messages may go out when an answer is lost."""

    AT_MOST_ONCE = "at_most_once"  # claim on record, then send: a lost answer is never sent again
    AT_LEAST_ONCE = "at_least_once"  # send, then record: a lost answer is tried again


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Why an attempt did not end well: a category of ours, the other side's code, its words cut short."""

    category: str
    code: str = ""
    detail: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "detail", self.detail[:DETAIL_CHARS])


@dataclass(frozen=True, kw_only=True)
class Content:
    """What the mail is about, frozen: `items` until the delivery is finished, `hash` of them until it is pruned."""

    hash: str
    items: tuple[Mapping[str, Any], ...] | None = None
    total: int | None = None  # how many items there were, where more than these
    version: str | None = None  # of the templates that rendered it


@dataclass(frozen=True, kw_only=True)
class Stage:
    """A step that is done and must not be repeated: when, and the other side's reference."""

    at: datetime
    reference: str


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """One message to one recipient: one document in `deliveries`."""

    id: str
    schema_version: int = SCHEMA_VERSION
    mailing: str
    guarantee: Guarantee
    run_key: str
    user_id: str
    subject: str  # what it is about: a job, or a run
    status: Status
    due_at: datetime
    created_at: datetime
    shard: int  # the index range of its upkeep
    attempt: int = 0  # provider calls so far
    generation: int = 0  # of its task: each wake-up is a new one
    content: Content | None = None
    period_start: datetime | None = None  # a digest's window is half-open: [start, end)
    period_end: datetime | None = None
    topic: str | None = None  # of a report, and the version of it that its run froze
    version: str | None = None
    first_claimed_at: datetime | None = None
    first_attempt_at: datetime | None = None
    doubted_at: datetime | None = None  # when it was first not known whether an attempt had sent it
    evidence_at: datetime | None = None  # when something other than its claim's own answer proved that it was sent
    reopened_at: datetime | None = None  # when an operator last had it tried again
    next_attempt_at: datetime | None = None
    claim_id: str | None = None  # kept after the claim ends, so that its own late or repeated answer is known
    lease_expires_at: datetime | None = None  # set while in flight
    wake_at: datetime | None = None  # set while unfinished: the sweeper's index
    settled_at: datetime | None = None  # set when finished
    prune_at: datetime | None = None  # set when finished: the pruner's index
    stages: Mapping[str, Stage] = field(default_factory=dict)
    last_error: Failure | None = None
    events: Mapping[str, datetime] = field(default_factory=dict)

    def __post_init__(self) -> None:
        unfinished = self.status in UNFINISHED
        _require(unfinished == (self.wake_at is not None), "wake_at: is set while unfinished, and only then")
        _require(unfinished == (self.settled_at is None), "settled_at: is set when finished, and only then")
        _require(unfinished == (self.prune_at is None), "prune_at: is set when finished, and only then")
        in_flight = self.status is Status.IN_FLIGHT
        _require(in_flight == (self.lease_expires_at is not None), "lease_expires_at: is set in flight, and only then")
        _require(not in_flight or bool(self.claim_id), "claim_id: is set in flight")
        naive = [name for name in TIMES if (value := getattr(self, name)) is not None and value.tzinfo is None]
        _require(not naive, f"{', '.join(naive)}: has no time zone")

    @property
    def unfinished(self) -> bool:
        """Whether it still counts as pending or in flight."""
        return self.status in UNFINISHED

    def changed(self, **changes: Any) -> "Delivery":
        """A copy with these fields changed."""
        return Delivery(**vars(self) | changes)

    def log_fields(self) -> dict[str, Any]:
        """How a delivery names itself in every log line."""
        return {
            "delivery_id": self.id,
            "mailing": self.mailing,
            "run_key": self.run_key,
            "status": self.status,
            "attempt": self.attempt,
            "generation": self.generation,
        }


NESTED = (Content, Stage, Failure)  # what is a map in the document
TIMES = tuple(f.name for f in dataclasses.fields(Delivery) if f.name.endswith("_at"))
FIELDS = frozenset(f.name for f in dataclasses.fields(Delivery)) - {"id"}


def to_document(delivery: Delivery) -> Document:
    """The fields of its document. Absent is how None is written: the upkeep's indexes hold only what is set."""
    return without_none(fields_of(delivery))


def fields_of(delivery: Delivery) -> Document:
    """What its document is made from, None among it.

    `unfinished_since` is the due time of an unfinished delivery, or when it was opened again: it answers "how old is the
    oldest" with one read a shard.
    """
    fields = vars(delivery) | {"unfinished_since": None}
    del fields["id"]
    if delivery.unfinished:
        fields["unfinished_since"] = delivery.reopened_at or delivery.due_at
    return fields


def from_document(delivery_id: str, document: Mapping[str, Any]) -> Delivery:
    """Read a document back. Raises NewerSchema for one of a newer version, InvalidDocument naming the field otherwise."""
    version = document.get("schema_version")
    if isinstance(version, int) and version > SCHEMA_VERSION:
        raise NewerSchema(f"schema_version {version} is above {SCHEMA_VERSION}")
    _require(version == SCHEMA_VERSION, f"schema_version: {version!r} is not known")
    fields: dict[str, Any] = {name: value for name, value in document.items() if name in FIELDS}
    try:
        fields["status"] = _choice(Status, fields, "status")
        fields["guarantee"] = _choice(Guarantee, fields, "guarantee")
        fields["content"] = _content(fields["content"]) if "content" in fields else None
        fields["stages"] = {name: Stage(**stage) for name, stage in fields.get("stages", {}).items()}
        fields["last_error"] = Failure(**fields["last_error"]) if "last_error" in fields else None
        for name, kind in REQUIRED.items():
            _require(isinstance(fields[name], kind), f"{name}: must be {kind.__name__}")
        return Delivery(id=delivery_id, **fields)
    except KeyError as error:
        raise InvalidDocument(f"{error.args[0]}: is missing") from error
    except (TypeError, AttributeError) as error:
        raise InvalidDocument(str(error)) from error


REQUIRED: Mapping[str, type] = {
    "mailing": str,
    "run_key": str,
    "user_id": str,
    "subject": str,
    "due_at": datetime,
    "created_at": datetime,
    "shard": int,
    "attempt": int,
    "generation": int,
}


def _choice(kind: type[Choice], fields: Mapping[str, Any], name: str) -> Choice:
    try:
        return kind(fields[name])
    except ValueError as error:
        raise InvalidDocument(f"{name}: {fields[name]!r} is not known") from error


def _content(fields: Mapping[str, Any]) -> Content:
    items = fields.get("items")
    return Content(
        hash=fields["hash"],
        items=None if items is None else tuple(items),
        total=fields.get("total"),
        version=fields.get("version"),
    )


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise InvalidDocument(problem)


def without_none(fields: Mapping[str, Any]) -> Document:
    """These fields as they are written. Not by dataclasses.asdict, whose deep copies took a fifth of a delivery's time."""
    written: Document = {}
    for name, value in fields.items():
        if isinstance(value, NESTED):
            written[name] = without_none(vars(value))
        elif isinstance(value, dict):
            written[name] = without_none(value)
        elif value is not None:
            written[name] = list(value) if isinstance(value, tuple) else value
    return written
