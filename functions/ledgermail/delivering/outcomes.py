"""What an attempt came to, and the table that decides it where it was asked for over HTTP: status -> outcome.

The difference that matters is whether the provider may have the mail. Accepted is not delivered; that comes later, as an event.
"""

from dataclasses import dataclass
from datetime import timedelta
from enum import Enum

from ledgermail.ledger.delivery import Failure


@dataclass(frozen=True)
class Accepted:
    """The provider took it; `reference` is its message id."""

    reference: str


@dataclass(frozen=True)
class Rejected:
    """The provider refuses this message and always will."""

    failure: Failure


@dataclass(frozen=True)
class Transient:
    """Nothing was sent, and a later attempt may succeed; `hold` is how long everybody should wait, where it was said."""

    failure: Failure
    hold: timedelta | None = None


@dataclass(frozen=True)
class Ambiguous:
    """The request left and no usable answer came: the provider may have the mail."""

    failure: Failure


@dataclass(frozen=True)
class Misconfigured:
    """Nothing is wrong with this message: our key, sender or address of the provider is. No attempt is spent."""

    failure: Failure


Outcome = Accepted | Rejected | Transient | Ambiguous | Misconfigured


class Kind(Enum):
    """The outcome types, as the tables name them."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    THROTTLED = "throttled"  # transient, and said to everybody
    TRANSIENT = "transient"
    AMBIGUOUS = "ambiguous"
    MISCONFIGURED = "misconfigured"


# SendGrid's documented answers (Mail Send, responses and errors) and what Cloud load balancers answer in its place.
BY_STATUS = {
    400: Kind.REJECTED,
    401: Kind.MISCONFIGURED,
    403: Kind.MISCONFIGURED,  # unverified sender, or a block for repeated bad requests
    408: Kind.AMBIGUOUS,
    413: Kind.REJECTED,
    415: Kind.REJECTED,
    422: Kind.REJECTED,
    429: Kind.THROTTLED,
    503: Kind.TRANSIENT,
}


def kind_of_status(status: int) -> Kind:
    """What an HTTP status says of the attempt. Any 2xx is acceptance; any other 5xx may hide one.

    What is not in the table (a redirect, 404, 405 ...) is about where we post, not about this message: nothing is lost by
    holding back.
    """
    if 200 <= status <= 299:
        return Kind.ACCEPTED
    if status in BY_STATUS:
        return BY_STATUS[status]
    return Kind.AMBIGUOUS if status >= 500 else Kind.MISCONFIGURED


def outcome_of(kind: Kind, failure: Failure, *, reference: str = "", hold: timedelta | None = None) -> Outcome:
    """The outcome of this kind, carrying what it needs."""
    match kind:
        case Kind.ACCEPTED:
            return Accepted(reference)
        case Kind.REJECTED:
            return Rejected(failure)
        case Kind.THROTTLED | Kind.TRANSIENT:
            return Transient(failure, hold)
        case Kind.AMBIGUOUS:
            return Ambiguous(failure)
        case Kind.MISCONFIGURED:
            return Misconfigured(failure)
