"""One claimed attempt at a stage of a delivery, and the verb that its outcome asks for."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, assert_never

from ledgermail.clock import Clock
from ledgermail.delivering.outcomes import Accepted, Ambiguous, Misconfigured, Outcome, Rejected, Transient
from ledgermail.errors import ClaimLost
from ledgermail.ledger import transitions
from ledgermail.ledger.delivery import Delivery
from ledgermail.ledger.ledger import Stored
from ledgermail.ledger.policy import Policy
from ledgermail.ledger.transitions import EMAIL

Verb = Callable[[Delivery], Delivery]


@dataclass(frozen=True)
class Attempt:
    """The delivery as claimed, the stage to try, the request for the email, the webhook that follows it.

    `started` is when its reading began, on the monotonic clock: the lease counts from then.
    """

    claimed: Stored
    stage: str
    request: bytes | None
    webhook: tuple[object, object] | None  # url and secret
    policy: Policy
    started: float

    def now(self, clock: Clock) -> datetime:
        """Now by Firestore's clock: when it was read, and what has passed since."""
        return self.claimed.read_at + timedelta(seconds=clock.monotonic() - self.started)


def as_judged(judged: Delivery, verb: Verb) -> Verb:
    """The verb, for as long as no operator has opened the delivery again: what was read and judged before that counts no more.

    They open it again because something was mended: the address, the job, the template.
    """

    def change(delivery: Delivery) -> Delivery:
        if delivery.reopened_at != judged.reopened_at:
            raise ClaimLost("opened again meanwhile")
        return verb(delivery)

    return change


def verb_of(attempt: Attempt, outcome: Outcome, clock: Clock) -> Verb:
    """Outcome -> exactly one verb, under the attempt's claim."""
    policy = attempt.policy
    delay = policy.backoff.delay(attempt.claimed.delivery.attempt, random.random())  # noqa: S311 # jitter
    facts: dict[str, Any] = {"claim_id": attempt.claimed.delivery.claim_id, "now": attempt.now(clock), "policy": policy}
    match outcome:
        case Accepted(reference) if attempt.stage == EMAIL and attempt.webhook is not None:
            return lambda d: transitions.record_email(d, reference=reference, **facts)
        case Accepted(reference):
            return lambda d: transitions.accept(d, reference=reference, stage=attempt.stage, **facts)
        case Rejected(failure):
            return lambda d: transitions.reject(d, failure=failure, stage=attempt.stage, **facts)
        case Transient(failure, hold):
            later = max(delay, hold or delay)
            return lambda d: transitions.retry(d, failure=failure, delay=later, **facts)
        case Ambiguous(failure):
            return lambda d: transitions.doubt(d, failure=failure, delay=delay, **facts)
        case Misconfigured(failure):
            return lambda d: transitions.release(d, failure=failure, **facts)
    assert_never(outcome)
