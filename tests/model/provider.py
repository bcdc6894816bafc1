"""The provider, as it really is and no worker sees it: which mails it made, which requests are still on their way to it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from ledgermail.delivering.outcomes import Accepted, Ambiguous, Misconfigured, Outcome, Rejected, Transient
from ledgermail.ledger.delivery import Failure
from tests.model.hand import Hand

KNOWN = timedelta(hours=24)  # how long a provider with keys knows a repeated request
ON_ITS_WAY = timedelta(minutes=10)  # how long a request whose sender gave up may still arrive


class Reply(StrEnum):
    """What comes of a request."""

    TAKEN = "taken"
    TOLD = "taken, and an event is faster than the answer"
    LOST = "taken, and the answer lost"
    DELAYED = "given up, and perhaps taken later"
    NEVER = "given up, and never taken"
    LATER = "not now"
    NO = "refused"
    NO_MORE = "refused, and an event of an earlier mail is faster than the answer"
    MISCONFIGURED = "not for this key"

    def outcome(self, reference: str) -> Outcome:
        """What the worker learns of it."""
        why = Failure(category="model", detail=reference)
        match self:
            case Reply.TAKEN | Reply.TOLD:
                return Accepted(reference)
            case Reply.LOST | Reply.DELAYED | Reply.NEVER:
                return Ambiguous(why)
            case Reply.LATER:
                return Transient(why)
            case Reply.NO | Reply.NO_MORE:
                return Rejected(why)
            case Reply.MISCONFIGURED:
                return Misconfigured(why)


REPLIES: Sequence[Reply] = [
    *Reply,
    Reply.TAKEN,
    Reply.LOST,
    Reply.LOST,
    Reply.NO,
    Reply.MISCONFIGURED,
]  # the dangerous ones often


@dataclass(frozen=True)
class Mail:
    """A mail that was made: for which claim, and when."""

    hand: Hand
    at: datetime


@dataclass
class Provider:
    """With `keys` it makes no second mail of a request that it knows."""

    keys: bool = False
    mails: list[Mail] = field(default_factory=list)
    on_their_way: list[tuple[Hand, datetime]] = field(default_factory=list)

    def of(self, name: str) -> list[Mail]:
        """The mails of a delivery."""
        return [mail for mail in self.mails if mail.hand.name == name]

    def asked(self, hand: Hand, reply: Reply, now: datetime) -> None:
        """A request comes in, or is delayed on its way."""
        if reply in {Reply.TAKEN, Reply.TOLD, Reply.LOST}:
            self._take(hand, now)
        elif reply is Reply.DELAYED:
            self.on_their_way.append((hand, now))

    def arrive(self, which: int, now: datetime) -> None:
        """A request that was delayed comes in after all, unless it is too late for that."""
        hand, sent_at = self.on_their_way.pop(which % len(self.on_their_way))
        if now < sent_at + ON_ITS_WAY:
            self._take(hand, now)

    def _take(self, hand: Hand, now: datetime) -> None:
        if not (self.keys and any(now < mail.at + KNOWN for mail in self.of(hand.name))):
            self.mails.append(Mail(hand, now))
