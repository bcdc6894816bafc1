"""The ledger in memory, changed by the product's own verbs; every change is noted beside it, and held against the promises."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from ledgermail.clock import Clock
from ledgermail.delivering.outcomes import Accepted, Ambiguous, Misconfigured, Transient
from ledgermail.errors import ClaimLost, WrongStatus
from ledgermail.ledger.delivery import Delivery, Guarantee, Status
from ledgermail.ledger.policy import Policy
from ledgermail.ledger.transitions import EMAIL
from ledgermail.mailing import Mailing
from ledgermail.planning.page import Page
from tests.model import promises
from tests.model.hand import Act, Hand, Truth, Verb
from tests.model.moves import Mover
from tests.model.provider import KNOWN, Provider
from tests.samples import NOW, a_mailing

SHORTEST = timedelta(seconds=30)  # of all delays of a retry, with its jitter
NAMES = [f"u{number}_j1" for number in range(1, 7)]
ALERT = a_mailing()  # read once: reading it took a fifth of a run
TERMS = [(guarantee, webhook) for guarantee in Guarantee for webhook in (False, True)]


def mailing_of(guarantee: Guarantee, webhook: bool, policy: Policy) -> Mailing:
    """A kind of mail on these terms."""
    name = f"{guarantee}-{'webhook' if webhook else 'alone'}".replace("_", "-")
    return replace(ALERT, name=name, guarantee=guarantee, webhook=webhook, policy=policy)


class Records(Mover):
    """What there is, and what really was; a subclass may keep the ledger elsewhere as well."""

    def __init__(self) -> None:
        super().__init__()
        self.now = NOW
        self.clock = Clock(now=lambda: self.now, monotonic=lambda: self.seconds(self.now))
        self.ledger: dict[str, Delivery] = {}
        self.truths: dict[str, Truth] = {}
        self.provider = Provider()
        self.pages = 0  # that the planners committed: their fence
        self.intended = 0

    @staticmethod
    def seconds(moment: datetime) -> float:
        """A moment by the monotonic clock."""
        return (moment - NOW).total_seconds()

    def read(self, name: str) -> Any:
        """What a change may be told that was read before; nothing in memory."""
        return name and None

    def read_book(self) -> Any:
        """The planners' fence as it stands."""
        return self.pages

    def add_page(self, book: Any, page: Page) -> Page | None:
        """Commit a page behind its fence; what of it is new, or None where another planner was faster."""
        if book != self.pages:
            return None
        self.pages += 1
        new = page.without(set(self.ledger))
        self.ledger |= {delivery.id: delivery for delivery in new.deliveries}
        self.intended += len(new.deliveries)
        return new

    def change(self, name: str, verb: Verb, act: Act, hand: Hand | None = None, **seen: Any) -> Delivery | None:
        """Apply a verb; None where it refuses. `seen`: what was read before (`known`), another clock's `now`."""
        before = self.ledger.get(name)
        after = None if before is None else self.apply(name, verb, **seen)
        if before is not None and after is not None:
            self.hold(before, after, act, hand, seen.get("now", self.now))
        return after

    def change_all(self, asked: Mapping[str, Verb]) -> Mapping[str, Delivery | None]:
        """The ledger's face to those who take events in."""
        return {name: self.change(name, verb, Act.PROOF) for name, verb in asked.items() if name in self.ledger}

    def apply(self, name: str, verb: Verb, **_seen: Any) -> Delivery | None:
        """Change what is stored."""
        try:
            after = self.ledger[name] = verb(self.ledger[name])
        except (ClaimLost, WrongStatus):
            return None
        assert verb(after) == after, "asked again, as after a lost answer, it changes nothing"
        return after

    def hold(self, before: Delivery, after: Delivery, act: Act, hand: Hand | None, now: datetime) -> None:
        """Hold a change against the promises, and note what it means."""
        truth = self.truths[after.id]
        if act is Act.ANSWER and hand is not None:
            promises.hold_for_answer(truth, after, hand)
        if after != before:
            if act is Act.CLAIM and hand is not None:
                promises.hold_for_claim(truth, hand, hand.stage, self.provider.keys, now)
                hand.excused = frozenset(truth.in_doubt())
                truth.claims.append(hand)
                truth.not_before = None
            promises.hold_for_change(truth, before, after, act, hand, now)
        note: dict[Act, Callable[[], None]] = {
            Act.ANSWER: lambda: self._note_answer(truth, before, hand),
            Act.SWEEP: lambda: self._note_sweep(truth, before, after, now),
            Act.OPERATE: lambda: self._note_override(truth, before, after),
        }
        note.get(act, lambda: None)()

    def _note_answer(self, truth: Truth, before: Delivery, hand: Hand | None) -> None:
        if hand is None:
            return
        if isinstance(hand.outcome, Accepted):
            truth.answered = truth.answered or not truth.proved
            truth.proved = True
        elif before.status is Status.IN_FLIGHT and before.claim_id == hand.claim_id:
            if isinstance(hand.outcome, Ambiguous):
                self._doubt(truth, before, self.now, SHORTEST)
                hand.is_lost = EMAIL not in before.stages
            else:
                hand.is_firm = True
                hand.is_released = isinstance(hand.outcome, Misconfigured) and EMAIL not in before.stages
                truth.not_before = self.now + SHORTEST if isinstance(hand.outcome, Transient) else None

    def _note_sweep(self, truth: Truth, before: Delivery, after: Delivery, now: datetime) -> None:
        if before.status is Status.IN_FLIGHT and after.status is not Status.IN_FLIGHT:
            self._doubt(truth, before, now, timedelta())

    def _doubt(self, truth: Truth, before: Delivery, now: datetime, delay: timedelta) -> None:
        """From now on it is on record that nobody knows; where there are no keys, the next attempt waits for proof."""
        if EMAIL not in before.stages:
            truth.doubted_at = truth.doubted_at or now
            delay = delay if self.provider.keys else max(delay, truth.mailing.policy.evidence_grace)
        truth.not_before = now + delay

    def _note_override(self, truth: Truth, before: Delivery, after: Delivery) -> None:
        if after.status is Status.PENDING and not before.unfinished:
            truth.epoch += 1
            truth.opened_at, truth.doubted_at, truth.not_before = self.now, None, None
            truth.proved = truth.answered = False
        elif after != before and after.status is Status.ACCEPTED and EMAIL not in before.stages:
            truth.proved = truth.vouched = True

    def prepare(self, terms: list[tuple[Guarantee, bool]], keys: bool, grace: bool) -> None:
        """As many deliveries as there are terms; nothing is planned yet."""
        self.provider = Provider(keys)
        repeatable = KNOWN - timedelta(hours=1) if keys else timedelta()
        policy = replace(ALERT.policy, repeatable=repeatable, evidence_grace=timedelta(hours=1 if grace else 0))
        for name, (guarantee, webhook) in zip(NAMES, terms, strict=False):
            self.truths[name] = Truth(mailing_of(guarantee, webhook, policy), NOW)
