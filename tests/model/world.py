"""Everybody who changes deliveries, in any order: planners, workers, a provider, sweepers, events, operators, pruning, time.

The deliveries change by the product's own verbs. Beside them stands what really happened, and the verbs do not see: mails
that the provider took, answers that were lost, tries that an operator asked for. After every step both are compared.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from typing_extensions import override

from ledgermail.errors import ClaimLost, WrongStatus
from ledgermail.ledger import evidence, overrides, transitions
from ledgermail.ledger.delivery import Content, Delivery, Failure, Guarantee, Stage, Status, from_document, to_document
from ledgermail.ledger.policy import Policy
from ledgermail.ledger.transitions import EMAIL, WEBHOOK
from tests.samples import ITEMS, LEASE, NOW, a_delivery

NAMES = st.just("u1_j1")  # deliveries do not meet each other: with one, more happens to it
RARELY = st.integers(0, 9)  # what ends it all happens at one of these only: at 0
TIMEOUT = timedelta(seconds=20)  # of a call to the provider
KNOWN = timedelta(hours=24)  # how long a provider with keys knows a repeated request
STEPS = [1, 30, 100, 125, 400, 3600, 6 * 3600, 30 * 3600, 8 * 86400, 31 * 86400]  # seconds
ANSWERS = [
    "taken",
    "lost",
    "never came",
    "later",
    "no",
    "misconfigured",
]  # what comes of a request; "lost": it was taken
WHY = Failure(category="model")

Verb = Callable[[Delivery], Delivery]


@dataclass(frozen=True)
class Hand:
    """A worker that holds, or held, a claim: of which stage, and what it knows of its request (None: not made yet)."""

    name: str
    claim_id: str
    stage: str
    claimed_at: datetime
    answer: str | None = None


class World(RuleBasedStateMachine):
    """The ledger in memory; a subclass may keep it elsewhere as well."""

    def __init__(self) -> None:
        super().__init__()
        self.now = NOW
        self.ledger: dict[str, Delivery] = {}
        self.hands: list[Hand] = []
        self.claims = 0
        self.intended, self.pruned = Counter[str](), Counter[str]()
        self.taken: dict[str, list[datetime]] = {}  # mails that the provider has really made
        self.doubts, self.openings, self.vouched = Counter[str](), Counter[str](), set[str]()
        self.heard: dict[str, datetime] = {}  # the earliest event of each delivery

    @initialize(guarantee=st.sampled_from(Guarantee), keys=st.booleans(), webhook=st.booleans(), grace=st.booleans())
    def declare(self, guarantee: Guarantee, keys: bool, webhook: bool, grace: bool) -> None:
        self.guarantee, self.keys, self.webhook = guarantee, keys, webhook
        self.policy = Policy(
            repeatable=KNOWN - timedelta(hours=1) if keys else timedelta(),
            evidence_grace=timedelta(hours=1 if grace else 0),
        )
        self.plan("u1_j1")

    @property
    def facts(self) -> dict[str, Any]:
        return {"now": self.now, "policy": self.policy}

    def change(self, name: str, verb: Verb) -> Delivery | None:
        """Apply a verb; None where it refuses."""
        try:
            self.ledger[name] = verb(self.ledger[name])
        except (ClaimLost, WrongStatus):
            return None
        return self.ledger[name]

    @rule(name=NAMES)
    def plan(self, name: str) -> None:
        """A planner, however often: what exists, or was pruned before, is not owed again."""
        if name in self.ledger or self.pruned[name]:
            return
        times: dict[str, Any] = {"due_at": self.now, "created_at": self.now, "wake_at": self.now + self.policy.slack}
        self.ledger[name] = a_delivery(guarantee=self.guarantee, **times)
        self.intended[name] += 1

    @property
    def is_ready(self) -> bool:
        """Whether a delivery waits that is due: of the other wake-ups nothing comes."""
        return any(d.status is Status.PENDING and transitions.is_due(d, self.now) for d in self.ledger.values())

    @precondition(lambda self: self.is_ready)
    @rule(name=NAMES)
    def claim(self, name: str) -> None:
        """A worker that was woken, in time or not."""
        delivery = self.ledger.get(name)
        if delivery is None or delivery.status is not Status.PENDING:
            return
        if transitions.is_over(delivery, self.now, self.policy):
            self.change(name, lambda d: transitions.expire(d, **self.facts))
            return
        self.claims += 1
        claim_id, stage = f"c{self.claims}", WEBHOOK if EMAIL in delivery.stages else EMAIL
        content = delivery.content if stage == WEBHOOK else delivery.content or Content(hash="0" * 64, items=ITEMS)
        facts: dict[str, Any] = {"content": content, "now": self.now, "lease": LEASE, "stage": stage}
        if self.change(name, lambda d: transitions.claim(d, claim_id=claim_id, **facts)):
            self.hands.append(Hand(name, claim_id, stage, self.now))

    @precondition(lambda self: self.is_ready)
    @rule(name=NAMES, answer=st.sampled_from(ANSWERS))
    def attempt(self, name: str, answer: str) -> None:
        """A whole attempt, which nothing comes between."""
        held = len(self.hands)
        self.claim(name)
        if len(self.hands) > held:
            self.hands.insert(0, self.hands.pop())
            self.send(0, answer, False)
            self.hands.insert(0, self.hands.pop())
            self.settle(0)

    @precondition(lambda self: any(hand.answer is None for hand in self.hands))
    @rule(which=st.integers(0, 9), answer=st.sampled_from(ANSWERS), dies=st.booleans())
    def send(self, which: int, answer: str, dies: bool) -> None:
        """A worker makes its request, if there is time left for it; it may die over the answer."""
        waiting = [hand for hand in self.hands if hand.answer is None]
        hand = waiting[which % len(waiting)]
        self.hands.remove(hand)
        if self.now >= hand.claimed_at + LEASE - TIMEOUT:
            self.change(hand.name, lambda d: transitions.release(d, claim_id=hand.claim_id, failure=WHY, **self.facts))
            return
        if hand.stage == EMAIL and answer in {"taken", "lost"}:
            self.take(hand.name, is_heard=answer == "taken" and not dies)
        if not dies:
            self.hands.append(replace(hand, answer=answer))

    def take(self, name: str, *, is_heard: bool) -> None:
        """The provider takes a request; one that it knows by its key makes no second mail."""
        mails = self.taken.setdefault(name, [])
        if not (self.keys and mails and self.now < mails[0] + KNOWN):
            mails.append(self.now)
        self.doubts[name] += not is_heard

    @precondition(lambda self: any(hand.answer for hand in self.hands))
    @rule(which=st.integers(0, 9))
    def settle(self, which: int) -> None:
        """A worker that had an answer writes it down, however late."""
        answered = [hand for hand in self.hands if hand.answer]
        hand = answered[which % len(answered)]
        self.hands.remove(hand)
        self.doubts[hand.name] += self.is_late(hand)
        if hand.name not in self.ledger:
            return
        settled = self.change(hand.name, self.verb_of(hand))
        if settled is None and hand.answer == "taken" and hand.stage == EMAIL:
            self.prove(hand.name, f"r-{hand.claim_id}", self.now)
        elif settled is not None and settled.status is Status.IN_FLIGHT and hand.answer == "taken":
            self.hands.append(replace(hand, stage=WEBHOOK, answer=None))

    def verb_of(self, hand: Hand) -> Verb:
        """The one verb of an answer."""
        facts = {"claim_id": hand.claim_id, **self.facts}
        delay = self.policy.backoff.full_delay(1)
        match hand.answer:
            case "taken" if hand.stage == EMAIL and self.webhook:
                return lambda d: transitions.record_email(d, reference=f"r-{hand.claim_id}", **facts)
            case "taken":
                return lambda d: transitions.accept(d, reference=f"r-{hand.claim_id}", stage=hand.stage, **facts)
            case "lost" | "never came":
                return lambda d: transitions.doubt(d, failure=WHY, delay=delay, **facts)
            case "later":
                return lambda d: transitions.retry(d, failure=WHY, delay=delay, **facts)
            case "no":
                return lambda d: transitions.reject(d, failure=WHY, **facts)
            case _:
                return lambda d: transitions.release(d, failure=WHY, **facts)

    @precondition(lambda self: self.hands)
    @rule(which=st.integers(0, 9))
    def die(self, which: int) -> None:
        """A worker is killed: whatever it knew is gone."""
        hand = self.hands.pop(which % len(self.hands))
        self.doubts[hand.name] += hand.stage == EMAIL and hand.answer == "taken"

    @precondition(lambda self: any(d.wake_at and d.wake_at <= self.now for d in self.ledger.values()))
    @rule(name=NAMES)
    def sweep(self, name: str) -> None:
        if name in self.ledger:
            self.change(name, lambda d: transitions.sweep(d, **self.facts))

    @precondition(lambda self: self.taken and self.ledger)
    @rule(name=NAMES, back=st.integers(0, 5), kind=st.sampled_from(["processed", "delivered", "bounce", "open"]))
    def hear(self, name: str, back: int, kind: str) -> None:
        """An event of a mail that was taken, in any order and any number of copies."""
        if not self.taken.get(name) or name not in self.ledger:
            return
        at = self.taken[name][back % len(self.taken[name])]
        self.heard[name] = min(at, self.heard.get(name, at))
        proof = Stage(at=at, reference=f"e{at.isoformat()}")
        seen: dict[str, Any] = {"seen": {kind: at}, "proof": proof, "webhook": self.webhook}
        self.change(name, lambda d: evidence.observe(d, **seen, **self.facts))

    def prove(self, name: str, reference: str, at: datetime) -> None:
        """An answer that came when another had taken the claim over."""
        proof = Stage(at=at, reference=reference)
        self.change(name, lambda d: evidence.prove(d, proof=proof, webhook=self.webhook, **self.facts))

    @precondition(lambda self: self.ledger)
    @rule(name=NAMES, verb=st.sampled_from([overrides.reopen, overrides.cancel, overrides.vouch]), luck=RARELY)
    def operate(self, name: str, verb: Callable[..., Delivery], luck: int) -> None:
        before = self.ledger[name]
        if before.status is Status.PENDING and luck:
            return
        after = self.change(name, lambda d: verb(d, **self.facts))
        if after is not None and after != before:
            self.openings[name] += verb is overrides.reopen
            self.vouched |= {name} if verb is overrides.vouch else set()

    @precondition(lambda self: self.is_ready)
    @rule(name=NAMES, luck=RARELY)
    def unsubscribe(self, name: str, luck: int) -> None:
        """A worker finds that the user does not want it any more."""
        if luck == 0:
            self.change(name, lambda d: transitions.suppress(d, failure=WHY, **self.facts))

    @precondition(lambda self: any(d.prune_at and d.prune_at <= self.now for d in self.ledger.values()))
    @rule(name=NAMES)
    def prune(self, name: str) -> None:
        delivery = self.ledger.get(name)
        if delivery is not None and delivery.prune_at is not None and delivery.prune_at <= self.now:
            del self.ledger[name]
            self.pruned[name] += 1

    @rule(seconds=st.sampled_from(STEPS))
    def wait(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    @invariant()
    def nothing_is_lost(self) -> None:
        """The identity; and what is unfinished has a time at which somebody looks after it."""
        assert self.intended.total() == len(self.ledger) + self.pruned.total()
        for delivery in self.ledger.values():
            assert (delivery.wake_at is not None) == delivery.unfinished
            assert from_document(delivery.id, to_document(delivery)) == delivery

    @invariant()
    def nobody_gets_more_than_was_promised(self) -> None:
        """At most once: a mail, and one more each time an operator took the risk. At least once: one more for each doubt."""
        for name, mails in self.taken.items():
            risks = (
                0
                if self.guarantee is Guarantee.AT_MOST_ONCE
                else self.doubts[name] + sum(map(self.is_late, self.hands))
            )
            assert len(mails) <= 1 + self.openings[name] + risks, (name, mails)

    def is_late(self, hand: Hand) -> bool:
        """Whether its lease has ended while it kept to itself that the mail was taken."""
        return hand.stage == EMAIL and hand.answer == "taken" and self.now >= hand.claimed_at + LEASE

    @invariant()
    def what_is_accepted_was_taken(self) -> None:
        for name, delivery in self.ledger.items():
            if delivery.status is Status.ACCEPTED:
                assert self.taken.get(name) or name in self.vouched

    @invariant()
    def what_was_heard_is_on_record(self) -> None:
        for name, at in self.heard.items():
            if name in self.ledger and not self.openings[name]:
                assert EMAIL in self.ledger[name].stages
                assert min(self.ledger[name].events.values()) == at

    @override
    def teardown(self) -> None:
        """Once faults stop everything settles by itself, and what was taken is accepted when the events have come."""
        while self.hands:
            self.settle(0) if any(hand.answer for hand in self.hands) else self.send(0, "taken", False)
        for _ in range(40):
            for name, delivery in list(self.ledger.items()):
                self.sweep(name)
                if self.ledger[name].generation > delivery.generation:  # only then is there a new task
                    self.attempt(name, "taken")
            self.now += timedelta(hours=3)
        assert not any(delivery.unfinished for delivery in self.ledger.values())
        for name in [name for name in self.ledger if self.taken.get(name)]:
            self.hear(name, 0, "processed")
            assert self.ledger[name].status is Status.ACCEPTED
        self.nothing_is_lost()
        self.nobody_gets_more_than_was_promised()
        self.what_was_heard_is_on_record()
