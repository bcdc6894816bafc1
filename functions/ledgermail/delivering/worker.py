"""Deliver: the steps of one attempt, in order, each short enough to see through.

    gate -> read -> judge -> render -> claim -> send -> settle (-> webhook -> settle) -> wake

Nothing is sent before the claim is on record, and nothing stands between two changes of the ledger but the provider's call.
What is wrong with a delivery is written down and answered 200, so that Cloud Tasks is done with it; what is wrong with the
world around it is answered 503 with Retry-After, which slows the queue and spends no attempt.
"""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, assert_never

from ledgermail.clock import Clock
from ledgermail.delivering.attempt import Attempt, as_judged, verb_of
from ledgermail.delivering.content import render
from ledgermail.delivering.eligibility import Expire, Leave, Notify, Recipient, Suppress, judge
from ledgermail.delivering.gate import MISCONFIGURED_WAIT, Gates
from ledgermail.delivering.items import Items
from ledgermail.delivering.message import Message
from ledgermail.delivering.outcomes import Accepted, Kind, Misconfigured, Outcome, Transient
from ledgermail.delivering.tasks import Tasks, wake_of
from ledgermail.errors import (
    ClaimLost,
    ContentError,
    InvalidDocument,
    LedgermailError,
    LedgerUnavailable,
    NewerSchema,
    WrongStatus,
)
from ledgermail.ledger import evidence, transitions
from ledgermail.ledger.delivery import Content, Delivery, Failure, Stage, Status
from ledgermail.ledger.ledger import Found, Ledger, Stored, stored
from ledgermail.ledger.policy import Policy
from ledgermail.ledger.transitions import EMAIL, WEBHOOK
from ledgermail.log import log
from ledgermail.mailing import Mailing
from ledgermail.preferences.links import Links

if TYPE_CHECKING:
    from ledgermail.providers.provider import AnyProvider
    from ledgermail.webhooks.webhook import Webhooks

INFRASTRUCTURE_WAIT = timedelta(seconds=30)  # what a task is told to wait when the ledger or a newer worker is needed
THROTTLED_WAIT = timedelta(seconds=30)  # where a 429 does not say how long
NO_WEBHOOK = ("", "")  # what is left of one whose url was taken away meanwhile: refused, and so on record
TOO_LATE_TO_SEND = Failure(category="late", detail="the lease was too near its end to send")


@dataclass(frozen=True)
class Answer:
    """What a wake-up came to. With `wait`, the task is to come again, not before that; without, it is done."""

    what: str
    wait: timedelta | None = None


@dataclass(frozen=True, kw_only=True)
class Worker:
    """What an attempt works with."""

    ledger: Ledger
    gates: Gates
    tasks: Tasks
    provider: "AnyProvider"
    webhooks: "Callable[[], Webhooks]"  # made when there is one to tell: few mailings have that stage
    items: Items
    links: Links
    mailings: Mapping[str, Mailing]
    clock: Clock
    lease: timedelta
    provider_timeout: timedelta

    def deliver(self, delivery_id: str) -> Answer:
        """Answer one wake-up of a delivery. Raises InvalidId for what cannot be a delivery's id."""
        started = self.clock.monotonic()
        try:
            wait = self.gates.read().wait(self.clock.now())
            if wait is not None:
                return Answer("held_back", wait)
            return self._try(self.ledger.find(delivery_id), started)
        except (LedgerUnavailable, NewerSchema) as error:
            log("delivery.put_off", severity="WARNING", delivery_id=delivery_id, error=str(error))
            return Answer("put_off", INFRASTRUCTURE_WAIT)
        except ClaimLost as error:
            log("delivery.not_mine", delivery_id=delivery_id, reason=str(error))
            return Answer("not_mine")
        except InvalidDocument as problem:
            log("delivery.gone", severity="ERROR", delivery_id=delivery_id, problem=str(problem))
            return Answer("gone")  # deleted, or made unreadable, since it was read

    def _try(self, found: Found, started: float) -> Answer:
        if not found.document.exists:
            log("delivery.no_such", severity="WARNING", delivery_id=found.document.id)
            return Answer("no_such_delivery")
        try:
            current = stored(found.document)
        except InvalidDocument as problem:
            if not self.ledger.set_aside(found.document, problem, Policy()):
                raise LedgerUnavailable("set aside: not written") from problem
            log("delivery.invalid", severity="ERROR", delivery_id=found.document.id, problem=str(problem))
            return Answer("invalid")
        mailing = self.mailings.get(current.delivery.mailing)
        if mailing is None:
            return self._refuse(current, Policy(), f"mailing: there is no {current.delivery.mailing!r}")
        return self._judged(current, mailing, found, started)

    def _judged(self, current: Stored, mailing: Mailing, found: Found, started: float) -> Answer:
        now, policy = current.read_at, mailing.policy
        verdict = judge(current.delivery, found.user, mailing, now)
        match verdict:
            case Leave(reason):
                return Answer(reason)
            case Expire():
                return self._close(current, lambda d: transitions.expire(d, now=now, policy=policy))
            case Suppress(failure):
                return self._close(current, lambda d: transitions.suppress(d, failure=failure, now=now, policy=policy))
            case Notify():
                claimed = self._claim(current, current.delivery.content, WEBHOOK)
                return self._make(Attempt(claimed, WEBHOOK, None, _webhook(mailing, found), policy, started))
            case Recipient():
                return self._prepared(current, mailing, verdict, found, started)
        assert_never(verdict)

    def _prepared(self, current: Stored, mailing: Mailing, to: Recipient, found: Found, started: float) -> Answer:
        """Render before the claim: what cannot become a mail never costs an attempt."""
        now, policy = current.read_at, mailing.policy
        try:
            items = self.items.of(current.delivery)
            if items is None:
                return self._close(current, lambda d: transitions.empty(d, now=now, policy=policy))
            url, user = self.links.url(current.delivery.user_id, mailing.name), found.user or {}
            content = render(mailing, current.delivery, items.content, user, items.columns, unsubscribe_url=url)
            request = self.provider.prepare(Message(current.delivery.id, mailing.name, to, content, url))
        except ContentError as error:
            return self._refuse(current, policy, str(error), error.category)
        claimed = self._claim(current, items.frozen and replace(items.frozen, version=mailing.version), EMAIL)
        return self._make(Attempt(claimed, EMAIL, request, _webhook(mailing, found), policy, started))

    def _claim(self, current: Stored, frozen: Content | None, stage: str) -> Stored:
        claim_id, now = uuid.uuid4().hex, current.read_at

        def claim(delivery: Delivery) -> Delivery:
            return transitions.claim(
                delivery, claim_id=claim_id, content=frozen, now=now, lease=self.lease, stage=stage
            )

        claimed = self.ledger.change(current.delivery.id, as_judged(current.delivery, claim), known=current)
        log("delivery.claimed", **claimed.delivery.log_fields())
        return claimed

    def _make(self, attempt: Attempt) -> Answer:
        """Make the call of a stage, unless the lease could end during it: an instance may have been frozen since the claim."""
        if self.clock.monotonic() - attempt.started >= (self.lease - self.provider_timeout).total_seconds():
            return self._let_go(attempt)
        if attempt.request is not None:
            return self._settle(attempt, self.provider.send(attempt.request, attempt.claimed.delivery.id))
        return self._settle(attempt, self.webhooks().send(*(attempt.webhook or NO_WEBHOOK), attempt.claimed.delivery))

    def _settle(self, attempt: Attempt, outcome: Outcome) -> Answer:
        """Outcome -> exactly one verb, under our claim; then its next stage or task, and what it says to everybody."""
        verb = verb_of(attempt, outcome, self.clock)
        try:
            settled = self.ledger.change(attempt.claimed.delivery.id, verb, known=attempt.claimed)
        except (ClaimLost, WrongStatus):
            if isinstance(outcome, Accepted) and attempt.stage == EMAIL:
                return self._prove(attempt, outcome)
            raise
        except LedgermailError:
            # The only trace of the provider's answer: the lease ends, and the guarantee decides without it.
            fields = attempt.claimed.delivery.log_fields()
            log(
                "delivery.not_settled",
                severity="ERROR",
                outcome=type(outcome).__name__,
                **fields,
                **_reference(outcome),
            )
            raise
        log(f"delivery.{settled.delivery.status}", outcome=type(outcome).__name__, **settled.delivery.log_fields())
        if settled.delivery.status is Status.IN_FLIGHT:  # the mail is on record, and the webhook comes next
            return self._make(replace(attempt, claimed=settled, stage=WEBHOOK, request=None))
        return self._follow_up(settled.delivery, outcome)

    def _prove(self, attempt: Attempt, outcome: Accepted) -> Answer:
        """Keep as evidence that the provider took the mail of a claim which another has taken over, or refused, meanwhile."""
        now = attempt.now(self.clock)
        proof = Stage(at=now, reference=outcome.reference)
        webhook = self.mailings[attempt.claimed.delivery.mailing].webhook

        def prove(delivery: Delivery) -> Delivery:
            return evidence.prove(delivery, proof=proof, webhook=webhook, now=now, policy=attempt.policy)

        proven = self.ledger.change(attempt.claimed.delivery.id, prove).delivery
        log("delivery.proven", severity="WARNING", reference=outcome.reference, **proven.log_fields())
        return Answer(proven.status)

    def _follow_up(self, settled: Delivery, outcome: Outcome) -> Answer:
        if isinstance(outcome, Misconfigured):  # its own task comes again: no new one
            self.gates.open_breaker(MISCONFIGURED_WAIT, f"{outcome.failure.code} {outcome.failure.detail}".strip())
            return Answer("held_back", MISCONFIGURED_WAIT)
        if settled.status is Status.PENDING:
            self.tasks.wake([wake_of(settled)])
        if isinstance(outcome, Transient) and outcome.failure.category == Kind.THROTTLED.value:
            self.gates.open_breaker(outcome.hold or THROTTLED_WAIT, outcome.failure.code)
        return Answer(settled.status)

    def _let_go(self, attempt: Attempt) -> Answer:
        """Give an attempt back that has not been made."""
        late = verb_of(attempt, Misconfigured(TOO_LATE_TO_SEND), self.clock)  # nothing sent, nothing spent
        return self._close(attempt.claimed, late, INFRASTRUCTURE_WAIT)

    def _refuse(self, current: Stored, policy: Policy, problem: str, category: str = ContentError.category) -> Answer:
        """End a delivery that cannot become a mail; one that is not pending is left as it is."""
        if current.delivery.status is not Status.PENDING:
            return Answer("finished")
        failure = Failure(category=category, detail=problem)
        return self._close(
            current, lambda d: transitions.refuse(d, failure=failure, now=current.read_at, policy=policy)
        )

    def _close(self, current: Stored, verb: Callable[[Delivery], Delivery], wait: timedelta | None = None) -> Answer:
        settled = self.ledger.change(current.delivery.id, as_judged(current.delivery, verb), known=current).delivery
        log(f"delivery.{settled.status}", **settled.log_fields(), **_why(settled))
        return Answer(settled.status, wait)


def _webhook(mailing: Mailing, found: Found) -> tuple[object, object] | None:
    """The url and the secret of the user's webhook, where the mailing has that stage and the user an url."""
    user = found.user or {}
    return (user["webhook_url"], user.get("webhook_secret")) if mailing.webhook and user.get("webhook_url") else None


def _reference(outcome: Outcome) -> dict[str, str]:
    return {"reference": outcome.reference} if isinstance(outcome, Accepted) else {}


def _why(delivery: Delivery) -> dict[str, str]:
    return {"reason": delivery.last_error.category} if delivery.last_error else {}
