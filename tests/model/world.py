"""Everybody who changes deliveries, in any order: planners, workers, a provider, sweepers, events, operators, pruning, time.

The deliveries change by the product's own verbs. Beside them stands what really happened, and the verbs do not see: mails
that the provider made, answers that were lost, what an operator asked for. Every change and every state is held against that.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, cast

from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant
from typing_extensions import override

from ledgermail.events.events import Batch, Event
from ledgermail.events.intake import Intake
from ledgermail.events.suppressions import Suppressions
from ledgermail.ledger import overrides, transitions
from ledgermail.ledger.delivery import Delivery, Guarantee, Status
from ledgermail.ledger.ledger import Ledger
from ledgermail.planning.page import Match, plan_page
from tests.model import promises
from tests.model.hand import Act, Finding, Hand
from tests.model.provider import KNOWN, Mail, Reply
from tests.model.records import NAMES, TERMS
from tests.model.workers import Replies, Workers
from tests.samples import a_match, a_user

ALL_WELL = (Reply.TAKEN, Reply.TAKEN)
Meanwhile = str | Callable[..., Delivery] | None  # an event, what an operator asks for, or nothing
Pace = tuple[int, int, int, int]  # how many steps a worker makes, another, then the first, and the other again


class World(Workers):
    """All of them; a subclass may keep the ledger elsewhere as well."""

    @initialize(
        terms=st.lists(st.sampled_from([*TERMS, *TERMS[-1:]]), min_size=len(NAMES), max_size=len(NAMES)),
        keys=st.booleans(),
        grace=st.booleans(),
    )
    def declare(self, terms: list[tuple[Guarantee, bool]], keys: bool, grace: bool) -> None:
        self.prepare(terms, keys, grace)
        self.books: list[Any] = []
        mailings = {truth.mailing.name: truth.mailing for truth in self.truths.values()}
        tools: dict[str, Any] = {"mailings": mailings, "clock": self.clock, "archive": ""}
        self.intake = Intake(ledger=cast(Ledger, self), suppressions=cast(Suppressions, None), **tools)
        self.open_book()
        self.plan_next()

    def unplanned(self) -> list[str]:
        return [name for name, truth in self.truths.items() if truth.matched_at is None]

    def plan_next(self) -> None:
        """Something new is matched."""
        self.books.append(self.read_book())
        self.plan_match(len(self.books) - 1, self.unplanned()[0])

    def open_book(self) -> None:
        """A planner reads how far planning has come; it may be slow, and another overtake it."""
        self.books.append(self.read_book())

    def plan(self, planner: int, which: int) -> None:
        """It finds what was matched before. What exists, or was pruned before, is not owed again."""
        names = [name for name, truth in self.truths.items() if truth.matched_at is not None]
        self.plan_match(planner % len(self.books), names[which % len(names)])

    def plan_match(self, planner: int, name: str) -> None:
        """It commits a page: a job that was matched twice."""
        book, truth, user_id = self.books.pop(planner), self.truths[name], name.partition("_")[0]
        truth.matched_at = truth.matched_at or self.now
        matches = [Match(f"m{copy}", truth.matched_at, user_id, "j1", a_match()["job"]) for copy in range(2)]
        users = {user_id: a_user(mailings={truth.mailing.name: {"active": True}})}
        page = plan_page(truth.mailing, matches, users, now=self.now, shards=4)
        new = self.add_page(book, page)
        assert not (new and new.deliveries and truth.pruned), "what was pruned is not owed again"
        if new and new.deliveries:
            truth.opened_at = self.now

    def arrive(self, which: int) -> None:
        """A request whose sender gave up comes in."""
        self.provider.arrive(which, self.now)

    def sweep(self, which: int, skew: int) -> None:
        """Upkeep comes by, at any time and by a clock of its own."""
        names = [name for name, delivery in self.ledger.items() if delivery.unfinished]
        self.swept(names[which % len(names)], self.now + skew * promises.SKEW)

    def swept(self, name: str, now: datetime) -> Delivery | None:
        policy = self.truths[name].mailing.policy
        return self.change(name, lambda d: transitions.sweep(d, now=now, policy=policy), Act.SWEEP, now=now)

    def outlive(
        self, which: int, meanwhile: Meanwhile, pace: Pace, replies: Replies, others: Replies, finding: Finding
    ) -> None:
        """A lease ends before its worker has said what came of its call, upkeep comes by, another worker as soon as it may,
        perhaps an event or an operator: then the first gets on, and the other."""
        slow = self.holders()[which % len(self.holders())]
        if slow.outcome is None:
            self.go(slow, pace[0], replies)
        self.now = max(self.now, slow.lease_end)
        swept = self.swept(slow.name, self.now)
        if swept is not None and swept.status is Status.IN_FLIGHT:
            assert slow is not self.truths[slow.name].claims[-1], "a lease that has ended is over"
        other = None
        if swept is not None and swept.status is Status.PENDING:
            self.now = max(self.now, swept.next_attempt_at or self.now)
            other = self.look(slow.name, finding)
        self.go(other, pace[1], others)
        self.meet(slow.name, meanwhile)
        self.go(slow, pace[2], replies)
        self.go(other, pace[3], others)

    def meet(self, name: str, meanwhile: Meanwhile) -> None:
        """What comes between two steps of its workers: the first event of its mail, or what an operator asks for."""
        mails = self.provider.of(name)
        if callable(meanwhile):
            self.ask(name, meanwhile)
        elif meanwhile and mails:
            self.post([(mails[0], meanwhile, timedelta())])

    @override
    def send(self, hand: Hand, reply: Reply) -> None:
        super().send(hand, reply)
        if reply in {Reply.TOLD, Reply.NO_MORE}:
            self.meet(hand.name, "processed")

    def hear_of_another(self, which: int) -> None:
        """An event of a delivery that was pruned long ago and had the same id: it says nothing of this one."""
        name = sorted(self.ledger)[which % len(self.ledger)]
        before = self.ledger[name]
        at = before.created_at - timedelta(days=1) if before.attempt else self.now
        event = Event(kind="open", at=at, delivery_id=name, reference="e-0", email="", cause=None)
        self.intake.take(Batch((event,), Counter()))
        assert self.ledger[name] == before, "an event of another is taken for its own"

    def hear(self, heard: list[tuple[int, str, timedelta]]) -> None:
        """The provider posts a batch of events of the mails that it made, in any order and any number of copies."""
        mails = self.provider.mails
        self.post([(mails[-1 - which % len(mails)], kind, off) for which, kind, off in heard])

    def post(self, told: Sequence[tuple[Mail, str, timedelta]]) -> None:
        events = []
        for mail, kind, off in told:
            name, at = mail.hand.name, mail.at + off
            reference = f"e-{mail.hand.claim_id}"
            events.append(Event(kind=kind, at=at, delivery_id=name, reference=reference, email="", cause=None))
            if name in self.ledger:
                truth = self.truths[name]
                truth.proved = True
                truth.heard[kind] = min(at, truth.heard.get(kind, at))
        self.intake.take(Batch(tuple(events), Counter()))

    def operate(self, which: int, verb: Callable[..., Delivery], ended: bool) -> None:
        """An operator asks for what the console offers, of any delivery or of one that has ended."""
        names = [name for name, d in self.ledger.items() if not ended or d.status in overrides.REOPENABLE]
        if not names:
            return
        self.ask(names[which % len(names)], verb)

    def prune(self) -> None:
        for name, delivery in list(self.ledger.items()):
            if delivery.prune_at is not None and delivery.prune_at <= self.now:
                self.remove(name)
                self.truths[name].pruned = True

    def remove(self, name: str) -> None:
        del self.ledger[name]

    def wait(self, seconds: int) -> None:
        self.now += timedelta(seconds=seconds)

    def wait_for(self, which: int, seconds: int) -> None:
        """Time passes to just about one of the moments at which something becomes possible, or ends."""
        moments = {mail.at + KNOWN for mail in self.provider.mails if self.provider.keys}
        for d in self.ledger.values():
            moments |= {at for at in (d.lease_expires_at, d.next_attempt_at, d.wake_at) if at is not None}
        coming = sorted(at for at in moments if at > self.now)
        if coming:
            self.now = max(self.now, coming[which % len(coming)] + timedelta(seconds=seconds))

    def wait_out(self, which: int, seconds: int) -> None:
        """Time passes to just about somebody's last day."""
        last_days = sorted(
            self.truths[name].starts[1] + promises.LAST_DAY for name, d in self.ledger.items() if d.unfinished
        )
        self.now = max(self.now, last_days[which % len(last_days)] + timedelta(seconds=seconds))

    @invariant()
    def nothing_is_lost(self) -> None:
        assert self.intended == len(self.ledger) + sum(truth.pruned for truth in self.truths.values())

    @invariant()
    def nobody_gets_more_than_was_promised(self) -> None:
        for name, truth in self.truths.items():
            promises.hold_for_mails(truth, self.provider.of(name))

    @invariant()
    def what_is_on_record_is_what_is_known(self) -> None:
        for name, delivery in self.ledger.items():
            promises.hold_for_state(self.truths[name], delivery, self.provider.of(name))

    @override
    def teardown(self) -> None:
        """Once faults stop everything settles by itself, and what was taken is accepted when the events have come."""
        if self.stopped:
            return  # what was broken is to be seen, not what comes of it
        while self.hands:
            self.step(self.hands[0], ALL_WELL)
        for _ in range(40):
            for name in [name for name, delivery in self.ledger.items() if delivery.unfinished]:
                generation = self.ledger[name].generation
                self.swept(name, self.now)
                if self.ledger[name].generation > generation:  # only then is there a new task
                    self.deliver(name)
            self.now += timedelta(hours=3)
        assert not any(delivery.unfinished for delivery in self.ledger.values()), "all comes to an end"
        for mail in reversed(self.provider.mails):
            self.post([(mail, "processed", timedelta())])
        for name, delivery in self.ledger.items():
            promises.hold_when_all_is_heard(self.truths[name], delivery, self.provider.of(name))
        self.nothing_is_lost()
        self.nobody_gets_more_than_was_promised()
        self.what_is_on_record_is_what_is_known()

    def deliver(self, name: str) -> None:
        """A whole attempt, where nothing goes wrong."""
        hand = self.look(name) if name in self.waiting() else None
        while hand in self.hands:
            self.step(hand, ALL_WELL)
