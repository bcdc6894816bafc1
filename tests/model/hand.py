"""A worker's hand on a delivery: what it read, the claim it got, the answer it had; and what really was, beside the ledger."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from ledgermail.delivering.attempt import Attempt
from ledgermail.delivering.eligibility import Verdict
from ledgermail.delivering.outcomes import Outcome
from ledgermail.ledger.delivery import Delivery, Guarantee
from ledgermail.ledger.transitions import EMAIL
from ledgermail.mailing import Mailing
from tests.samples import LEASE

Verb = Callable[[Delivery], Delivery]


class Act(StrEnum):
    """Who changes a delivery, and why that may be."""

    CLAIM = "a worker that asks for it"
    ANSWER = "a worker that had an answer"
    CLOSE = "a worker that finds nothing to send"
    PROOF = "somebody who knows that the mail was taken"
    SWEEP = "upkeep"
    OPERATE = "an operator"


class Finding(StrEnum):
    """What a worker finds when it reads the user and the items."""

    MAIL = "a mail to be sent"
    UNTOLD = "a mail to be sent, to a user without a webhook"
    UNWANTED = "a user who does not want it now"
    BROKEN = "items that make no mail"
    NOTHING = "no items"


@dataclass(eq=False)
class Hand:
    """A worker from its reading on. It may keep what it knows to itself, for as long as it likes."""

    name: str
    claim_id: str
    read: Delivery
    read_at: datetime
    verdict: Verdict
    finding: Finding
    known: Any = None  # the document as it was read, where there is a Firestore
    attempt: Attempt | None = None  # from its claim on
    outcome: Outcome | None = None  # from its answer on
    epoch: int = 0  # in which it read
    stage: str = EMAIL  # that it claimed first
    is_firm: bool = False  # it is on record that nothing was sent
    is_released: bool = False  # it is on record that the provider was not asked, or not for this message
    is_lost: bool = False  # it is on record that its answer was lost
    excused: frozenset["Hand"] = frozenset()  # the earlier claims that were in doubt when it claimed

    @property
    def lease_end(self) -> datetime:
        return self.read_at + LEASE


@dataclass
class Truth:
    """What really became of one delivery. An epoch begins each time an operator opens it again."""

    mailing: Mailing
    opened_at: datetime
    matched_at: datetime | None = None  # from its first planning on
    epoch: int = 0
    claims: list[Hand] = field(default_factory=list)
    doubted_at: datetime | None = None  # when it was first written that an answer was lost, in this epoch
    not_before: datetime | None = None  # when it may be tried again at the earliest
    proved: bool = False  # that the mail was taken has come in, in this epoch
    answered: bool = False  # the first to say so was the claim's own answer
    vouched: bool = False
    heard: dict[str, datetime] = field(default_factory=dict)  # the earliest event of each type
    pruned: bool = False

    @property
    def only_once(self) -> bool:
        return self.mailing.guarantee is Guarantee.AT_MOST_ONCE

    @property
    def starts(self) -> tuple[datetime, datetime]:
        """From when on, at the earliest and at the latest, its time counts: an attempt that was given back need not."""
        claims = [hand for hand in self.claims if hand.epoch == self.epoch]
        made = [hand for hand in claims if not hand.is_released]
        earliest = claims[0].read_at if made else self.opened_at
        return earliest, min((hand.read_at for hand in made or claims), default=self.opened_at)

    @property
    def tries(self) -> int:
        """The attempts that were made."""
        return sum(not hand.is_released for hand in self.claims)

    def in_doubt(self) -> list[Hand]:
        """The claims of this epoch that may have sent the mail, as far as anybody can know."""
        return [hand for hand in self.claims if hand.epoch == self.epoch and hand.stage == EMAIL and not hand.is_firm]
