"""Workers: each reads, claims, sends and settles, and between any two of these everybody else may act, or it dies."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

from ledgermail.delivering.attempt import Attempt, as_judged, verb_of
from ledgermail.delivering.eligibility import Expire, Leave, Notify, Recipient, Suppress, judge
from ledgermail.delivering.outcomes import Accepted, Misconfigured
from ledgermail.ledger import evidence, overrides, transitions
from ledgermail.ledger.delivery import Content, Delivery, Failure, Stage, Status
from ledgermail.ledger.ledger import Stored
from ledgermail.ledger.transitions import EMAIL, WEBHOOK
from tests.model.hand import Act, Finding, Hand, Verb
from tests.model.promises import PATIENCE
from tests.model.provider import Reply
from tests.model.records import Records
from tests.samples import ITEMS, LEASE, a_user

TIMEOUT = timedelta(seconds=20)  # of a call to the provider
HOOK = ("https://customer.example/hook", None)
Replies = tuple[Reply, Reply]  # to the mail, and to the webhook
TOO_LATE = Failure(category="model", detail="the lease was too near its end")
BROKEN = Failure(category="model", detail="no mail can be made of it")


class Workers(Records):
    """Any number of workers, at whatever point of their work."""

    def __init__(self) -> None:
        super().__init__()
        self.hands: list[Hand] = []
        self.started = 0

    def waiting(self) -> list[str]:
        """The pending deliveries, those first that are due."""
        pending = [d for d in self.ledger.values() if d.status is Status.PENDING]
        return [d.id for d in sorted(pending, key=lambda d: not transitions.is_due(d, self.now))]

    def holders(self) -> list[Hand]:
        """The workers that got a claim, and may have it still; those first that have an answer."""
        holders = [hand for hand in self.hands if hand.attempt is not None]
        return sorted(holders, key=lambda hand: hand.outcome is None)

    def start(self, which: int, steps: int, replies: Replies, finding: Finding) -> None:
        """A worker is woken, in time or not, and gets as far as this."""
        names = self.waiting()
        self.go(self.look(names[which % len(names)], finding), steps, replies)

    def start_two(self, which: int, again: bool, steps: int, then: int, replies: Replies, finding: Finding) -> None:
        """A task comes twice: a worker stays at what it has read, while the other gets on, and perhaps an operator."""
        names = self.waiting()
        name = names[which % len(names)]
        slow = self.look(name, finding)
        self.go(self.look(name), steps, replies)
        if again:
            self.now += timedelta(seconds=1)
            self.ask(name, overrides.reopen)
        self.go(slow, then, replies)

    def ask(self, name: str, verb: Callable[..., Delivery]) -> None:
        """An operator asks for this."""
        facts: dict[str, Any] = {"now": self.now, "policy": self.truths[name].mailing.policy}
        self.change(name, lambda d: verb(d, **facts), Act.OPERATE)

    def go_on(self, which: int, steps: int, replies: Replies) -> None:
        """A worker gets on with what it was at."""
        self.go(self.hands[which % len(self.hands)], steps, replies)

    def go(self, hand: Hand | None, steps: int, replies: Replies) -> None:
        """So many steps, if there are as many."""
        for _ in range(steps):
            if hand in self.hands:
                self.step(hand, replies)

    def die(self, which: int) -> None:
        """A worker is killed: whatever it knew is gone."""
        del self.hands[which % len(self.hands)]

    def look(self, name: str, finding: Finding = Finding.MAIL) -> Hand | None:
        """Read a delivery and its user, and judge."""
        delivery, mailing = self.ledger[name], self.truths[name].mailing
        user = a_user(mailings={mailing.name: {"active": finding is not Finding.UNWANTED}})
        verdict = judge(delivery, user, mailing, self.now)
        if isinstance(verdict, Leave):
            return None
        self.started += 1
        stage = WEBHOOK if isinstance(verdict, Notify) else EMAIL
        hand = Hand(name, f"c{self.started}", delivery, self.now, verdict, finding, self.read(name), stage=stage)
        hand.epoch = self.truths[name].epoch
        self.hands.append(hand)
        return hand

    def step(self, hand: Hand, replies: Replies) -> None:
        """The next step of its work."""
        self.hands.remove(hand)
        if hand.outcome is not None:
            self.settle(hand)
        elif hand.attempt is not None:
            self.send(hand, replies[hand.attempt.stage == WEBHOOK])
        elif self.now < hand.read_at + PATIENCE:
            self.claim(hand)

    def claim(self, hand: Hand) -> None:
        """Get the right to try, or close what is not to be tried."""
        mailing, now = self.truths[hand.name].mailing, hand.read_at
        closing = self.closing(hand)
        if closing is not None:
            self.change(hand.name, as_judged(hand.read, closing), Act.CLOSE, hand, known=hand.known)
            return
        content = hand.read.content
        if hand.stage == EMAIL:
            content = content or Content(hash=hand.claim_id, items=ITEMS)

        def verb(d: Delivery) -> Delivery:
            return transitions.claim(d, claim_id=hand.claim_id, content=content, now=now, lease=LEASE, stage=hand.stage)

        claimed = self.change(hand.name, as_judged(hand.read, verb), Act.CLAIM, hand, known=hand.known)
        if claimed is not None:
            stored = Stored(claimed, now, now)
            webhook = HOOK if mailing.webhook and hand.finding is not Finding.UNTOLD else None
            hand.attempt = Attempt(stored, hand.stage, None, webhook, mailing.policy, self.seconds(now))
            hand.known = self.read(hand.name)
            self.hands.append(hand)

    def closing(self, hand: Hand) -> Verb | None:
        """What ends a delivery that is not to be tried."""
        facts: dict[str, Any] = {"now": hand.read_at, "policy": self.truths[hand.name].mailing.policy}
        match hand.verdict:
            case Expire():
                return lambda d: transitions.expire(d, **facts)
            case Suppress(failure):
                return lambda d: transitions.suppress(d, failure=failure, **facts)
            case Recipient() if hand.finding is Finding.BROKEN:
                return lambda d: transitions.refuse(d, failure=BROKEN, **facts)
            case Recipient() if hand.finding is Finding.NOTHING:
                return lambda d: transitions.empty(d, **facts)
        return None

    def send(self, hand: Hand, reply: Reply) -> None:
        """Make the request of a stage, unless the lease could end during it."""
        assert hand.attempt is not None
        if self.now >= hand.read_at + LEASE - TIMEOUT:
            hand.outcome = Misconfigured(TOO_LATE)
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
