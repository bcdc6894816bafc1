"""Suppression: who must not be mailed any more, why, and what ends that. Pure, over the fields of a user's document.

    suppressed: {reason, at, event, address}     suppression_lifted: {at, by}

A bounce is about an address: it holds as long as the user has that one. A complaint is about the person. What happened before
a suppression was lifted does not suppress again: events come in copies, and late.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from ledgermail.delivering.addresses import same_address


class Reason(StrEnum):
    """Why somebody is suppressed, the weakest first. A stronger one takes the place of a weaker."""

    BOUNCE = "bounce"  # the address does not exist, or refuses for good
    INVALID = "invalid"  # it is none
    UNSUBSCRIBE = "unsubscribe"
    SPAM_REPORT = "spam_report"


OF_ADDRESS = frozenset({Reason.BOUNCE, Reason.INVALID})
STRENGTH = {str(reason): strength for strength, reason in enumerate(Reason)}
STRONGEST = len(STRENGTH)  # one that the adopter, or an operator, has written


@dataclass(frozen=True)
class Cause:
    """What suppresses: the reason, when it arose, by which event of the provider, and of which address."""

    reason: str
    at: datetime
    event: str
    address: str

    def document(self) -> dict[str, Any]:
        """As it is written to the user."""
        written: dict[str, Any] = {"reason": str(self.reason), "at": self.at, "event": self.event}
        return written | ({"address": self.address} if self.reason in OF_ADDRESS else {})


def applies(user: Mapping[str, Any]) -> str | None:
    """The reason for which this user must not be mailed now (perhaps empty); None when there is none."""
    suppressed = user.get("suppressed")
    if not suppressed:
        return None
    if not isinstance(suppressed, dict):
        return ""
    address = suppressed.get("address")
    if isinstance(address, str) and address and not same_address(user.get("email"), address):
        return None
    return str(suppressed.get("reason", ""))


def suppressed_by(user: Mapping[str, Any], causes: Iterable[Cause]) -> dict[str, Any] | None:
    """What `suppressed` is to say of this user after these; None when it says so already, or none of them counts.

    The strongest reason wins, of equal ones the earliest: in any order and any number of copies, the same.
    """
    lifted = user.get("suppression_lifted")
    at = lifted.get("at") if isinstance(lifted, dict) else None
    since = at if isinstance(at, datetime) else None  # whatever else stands there must not hold a batch up
    counting = [cause for cause in causes if _counts(user, cause) and not (since and cause.at <= since)]
    if not counting:
        return None
    written = min((cause.document() for cause in counting), key=_order)
    known = user.get("suppressed") if applies(user) is not None else None
    if known is None:
        return written
    if not isinstance(known, dict) or _order(known) <= _order(written):
        return None
    return written


def _counts(user: Mapping[str, Any], cause: Cause) -> bool:
    return cause.reason not in OF_ADDRESS or same_address(user.get("email"), cause.address)


def _order(suppressed: Mapping[str, Any]) -> tuple[int, float, str]:
    """Sorts first what is to stay."""
    at = suppressed.get("at")
    seconds = at.timestamp() if isinstance(at, datetime) else float("-inf")
    strength = STRENGTH.get(str(suppressed.get("reason", "")), STRONGEST)
    return -strength, seconds, str(suppressed.get("event", ""))
