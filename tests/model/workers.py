"""Workers: each reads, claims, sends and settles, and between any two of these everybody else may act, or it dies."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from ledgermail.delivering.attempt import Attempt, verb_of
from ledgermail.delivering.eligibility import Expire, Leave, Notify, Suppress, judge
from ledgermail.delivering.outcomes import Accepted, Misconfigured
from ledgermail.ledger import evidence, transitions
from ledgermail.ledger.delivery import Content, Delivery, Stage, Status
from ledgermail.ledger.ledger import Stored
from ledgermail.ledger.transitions import EMAIL, WEBHOOK
from tests.model.hand import Act, Hand
from tests.model.promises import PATIENCE
from tests.model.provider import WHY, Reply
from tests.model.records import Records
from tests.samples import ITEMS, LEASE, a_user

TIMEOUT = timedelta(seconds=20)  # of a call to the provider
HOOK = ("https://customer.example/hook", None)


class Workers(Records):
    """Any number of workers, at whatever point of their work."""

    def __init__(self) -> None:
        super().__init__()
        self.hands: list[Hand] = []
        self.started = 0
        self.unwanted: set[str] = set()  # whose user does not want it now

    def waiting(self) -> list[str]:
        """The pending deliveries, those first that are due."""
        pending = [d for d in self.ledger.values() if d.status is Status.PENDING]
        return [d.id for d in sorted(pending, key=lambda d: not transitions.is_due(d, self.now))]

    def start(self, which: int, steps: int, reply: Reply) -> None:
        """A worker is woken, in time or not, and gets as far as this."""
        names = self.waiting()
        hand = self.look(names[which % len(names)])
        for _ in range(steps - 1):
            if hand in self.hands:
                self.step(hand, reply)

    def go_on(self, which: int, reply: Reply) -> None:
        """A worker gets on with what it was at."""
        self.step(self.hands[which % len(self.hands)], reply)

    def die(self, which: int) -> None:
        """A worker is killed: whatever it knew is gone."""
        del self.hands[which % len(self.hands)]

    def change_of_mind(self, which: int) -> None:
        """A user does not want it any more, or again."""
        if which < len(self.truths):
            self.unwanted ^= {sorted(self.truths)[which]}

    def look(self, name: str) -> Hand | None:
        """Read a delivery and its user, and judge."""
        delivery, mailing = self.ledger[name], self.truths[name].mailing
        user = a_user(mailings={mailing.name: {"active": name not in self.unwanted}})
        verdict = judge(delivery, user, mailing, self.now)
        if isinstance(verdict, Leave):
            return None
        self.started += 1
        stage = WEBHOOK if isinstance(verdict, Notify) else EMAIL
        hand = Hand(name, f"c{self.started}", delivery, self.now, verdict, self.read(name), stage=stage)
        self.hands.append(hand)
        return hand

    def step(self, hand: Hand, reply: Reply) -> None:
        """The next step of its work."""
        self.hands.remove(hand)
        if hand.outcome is not None:
            self.settle(hand)
        elif hand.attempt is not None:
            self.send(hand, reply)
        elif self.now < hand.read_at + PATIENCE:
            self.claim(hand)

    def claim(self, hand: Hand) -> None:
        """Get the right to try, or close what is not to be tried."""
        mailing, now = self.truths[hand.name].mailing, hand.read_at
        if isinstance(hand.verdict, Expire | Suppress):
            self.close(hand, hand.verdict)
            return
        content = hand.read.content
        if hand.stage == EMAIL:
            content = content or Content(hash="0" * 64, items=ITEMS)

        def verb(d: Delivery) -> Delivery:
            return transitions.claim(d, claim_id=hand.claim_id, content=content, now=now, lease=LEASE, stage=hand.stage)

        claimed = self.change(hand.name, verb, Act.CLAIM, hand, known=hand.known)
        if claimed is not None:
            stored = Stored(claimed, now, now)
            webhook = HOOK if mailing.webhook else None
            hand.attempt = Attempt(stored, hand.stage, None, webhook, mailing.policy, self.seconds(now))
            hand.known = self.read(hand.name)
            self.hands.append(hand)

    def close(self, hand: Hand, verdict: Expire | Suppress) -> None:
        """End what is not to be tried."""
        facts: dict[str, Any] = {"now": hand.read_at, "policy": self.truths[hand.name].mailing.policy}

        def verb(d: Delivery) -> Delivery:
            if isinstance(verdict, Suppress):
                return transitions.suppress(d, failure=verdict.failure, **facts)
            return transitions.expire(d, **facts)

        self.change(hand.name, verb, Act.CLOSE, hand, known=hand.known)

    def send(self, hand: Hand, reply: Reply) -> None:
        """Make the request of a stage, unless the lease could end during it."""
        assert hand.attempt is not None
        if self.now >= hand.read_at + LEASE - TIMEOUT:
            hand.outcome = Misconfigured(WHY)
            self.settle(hand)
            return
        if hand.attempt.stage == EMAIL:
            self.provider.asked(hand, reply, self.now)
        hand.outcome = reply.outcome(f"r-{hand.claim_id}")
        self.hands.append(hand)

    def settle(self, hand: Hand) -> None:
        """Write down what came of it, however late."""
        assert hand.attempt is not None
        assert hand.outcome is not None
        verb = verb_of(hand.attempt, hand.outcome, self.clock)
        settled = self.change(hand.name, verb, Act.ANSWER, hand, known=hand.known)
        is_taken = isinstance(hand.outcome, Accepted) and hand.attempt.stage == EMAIL
        if settled is None and is_taken:
            self.prove(hand)
        elif settled is not None and settled.status is Status.IN_FLIGHT:
            hand.attempt, hand.outcome = replace(hand.attempt, stage=WEBHOOK), None
            hand.known = self.read(hand.name)
            self.hands.append(hand)

    def prove(self, hand: Hand) -> None:
        """An answer that came when another had taken the claim over."""
        mailing, now = self.truths[hand.name].mailing, self.now
        proof = Stage(at=now, reference=f"r-{hand.claim_id}")

        def verb(d: Delivery) -> Delivery:
            return evidence.prove(d, proof=proof, webhook=mailing.webhook, now=now, policy=mailing.policy)

        if self.change(hand.name, verb, Act.PROOF) is not None:
            self.truths[hand.name].proved = True
