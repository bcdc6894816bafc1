"""What an attempt came to, and the tables that decide it: HTTP status, and what Resend adds to it -> outcome.

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

# What Resend's documented errors (https://resend.com/docs/api-reference/errors) say other than their status does.
RESEND_BY_NAME = {
    # Only what has been sent is kept under a key: an earlier attempt of this delivery was taken, and since then its
    # template, sender or address has changed. To send the new one, too, would be the second mail.
    (409, "invalid_idempotent_request"): Kind.ACCEPTED,
    # An earlier attempt is under way at Resend, and may yet be taken.
    (409, "concurrent_idempotent_requests"): Kind.AMBIGUOUS,
    (422, "invalid_from_address"): Kind.MISCONFIGURED,
    (422, "invalid_access"): Kind.MISCONFIGURED,
    (422, "invalid_region"): Kind.MISCONFIGURED,
}
# Where an error that is a message's own, by status and name, is one of ours: a wrong key may be a 400.
RESEND_OURS = ("api key is invalid", "invalid `from`")


def kind_of_status(status: int) -> Kind:
    """What an HTTP status says of the attempt. Any 2xx is acceptance; any other 5xx may hide one.

    What is in no table (a redirect, 404, 405 ...) is about where we post, not about this message: nothing is lost by
    holding back.
    """
    if 200 <= status <= 299:
        return Kind.ACCEPTED
    if status in BY_STATUS:
        return BY_STATUS[status]
    return Kind.AMBIGUOUS if status >= 500 else Kind.MISCONFIGURED


def kind_of_resend(status: int, name: str, words: str) -> Kind:
    """What an answer of Resend says of the attempt, by its status, its error's name and words (empty: not JSON)."""
    kind = RESEND_BY_NAME.get((status, name)) or kind_of_status(status)
    return Kind.MISCONFIGURED if kind is Kind.REJECTED and words.lower().startswith(RESEND_OURS) else kind


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
