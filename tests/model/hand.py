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


@dataclass(eq=False)
class Hand:
    """A worker from its reading on. It may keep what it knows to itself, for as long as it likes."""

    name: str
    claim_id: str
    read: Delivery
    read_at: datetime
    verdict: Verdict
    known: Any = None  # the document as it was read, where there is a Firestore
    attempt: Attempt | None = None  # from its claim on
    outcome: Outcome | None = None  # from its answer on
    epoch: int = 0  # in which it claimed
    stage: str = EMAIL  # that it claimed first
    is_firm: bool = False  # it is on record that nothing was sent
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
    epoch: int = 0
    claims: list[Hand] = field(default_factory=list)
    doubted_at: datetime | None = None  # when it was last written that an answer was lost, in this epoch
    not_before: datetime | None = None  # when it may be tried again at the earliest
    proved: bool = False  # that the mail was taken has come in, in this epoch
    vouched: bool = False
    heard: dict[str, datetime] = field(default_factory=dict)  # the earliest event of each type
    pruned: bool = False

    @property
    def only_once(self) -> bool:
        return self.mailing.guarantee is Guarantee.AT_MOST_ONCE

    def in_doubt(self) -> list[Hand]:
        """The claims of this epoch that may have sent the mail, as far as anybody can know."""
        return [hand for hand in self.claims if hand.epoch == self.epoch and hand.stage == EMAIL and not hand.is_firm]
