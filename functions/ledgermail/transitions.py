"""The verbs: every way a delivery may change, each a pure function `(delivery, facts, now) -> delivery`.

    (plan) ──► pending ──claim──► in_flight ──accept──► accepted
                 │  ▲                │ ├──reject──► rejected
                 │  └─retry, release─┘ ├──doubt───► unknown     (at_most_once; at_least_once goes back to pending)
                 │  └──── sweep ───────┤
                 │                     └──sweep───► unknown     (a lease that ended without an answer, at_most_once)
                 ├──suppress──► suppressed
                 ├──refuse────► rejected
                 └──expire────► expired       (also by retry, doubt and sweep, past the last day)

A wrong starting status raises WrongStatus, another's claim ClaimLost. Asking again under the same claim changes nothing,
so a commit whose answer was lost is settled by applying the verb once more to what was read back.

The claim id stays on record after the claim. A worker whose lease ended may therefore still bring proof (`accept`,
`reject`) as long as nobody has claimed since: an answer of the provider outweighs our own doubt.
"""

from datetime import datetime, timedelta

from ledgermail.delivery import Content, Delivery, Failure, Guarantee, Stage, Status
from ledgermail.errors import ClaimLost, WrongStatus
from ledgermail.policy import Policy

LEASE_ENDED = Failure(category="lease_ended", detail="the worker's lease ended without an answer on record")
TOO_LATE = Failure(category="expired", detail="the last day for an attempt has passed")
CLOCKS_DIFFER = timedelta(seconds=2)  # a task may come this early by Firestore's clock, and it comes only once
EMAIL = "email"  # the stage that a provider's acceptance settles


def claim(delivery: Delivery, *, claim_id: str, content: Content | None, now: datetime, lease: timedelta) -> Delivery:
    """pending -> in_flight: an exclusive right to one attempt until `now + lease`. Not due is ClaimLost, too."""
    if delivery.status is Status.IN_FLIGHT and delivery.claim_id == claim_id:
        return delivery
    if delivery.status is not Status.PENDING or delivery.claim_id == claim_id or not is_due(delivery, now):
        raise ClaimLost(f"{delivery.status} under another claim")
    return delivery.changed(
        status=Status.IN_FLIGHT,
        claim_id=claim_id,
        content=content,
        attempt=delivery.attempt + 1,
        first_claimed_at=delivery.first_claimed_at or now,
        first_attempt_at=delivery.first_attempt_at or now,
        next_attempt_at=None,
        lease_expires_at=now + lease,
        wake_at=now + lease,
    )


def accept(delivery: Delivery, *, claim_id: str, reference: str, now: datetime, policy: Policy) -> Delivery:
    """in_flight -> accepted; also pending | unknown -> accepted, as the late proof of the claim that was given up."""
    _must_hold(delivery, claim_id)
    if delivery.status is Status.ACCEPTED:
        return delivery
    _must_be(delivery, Status.IN_FLIGHT, Status.PENDING, Status.UNKNOWN)
    stages = {**delivery.stages, EMAIL: Stage(at=now, reference=reference)}
    return _finish(delivery, Status.ACCEPTED, None, now, policy).changed(stages=stages)


def reject(delivery: Delivery, *, claim_id: str, failure: Failure, now: datetime, policy: Policy) -> Delivery:
    """in_flight -> rejected; also pending | unknown -> rejected, as the late proof of the claim that was given up."""
    _must_hold(delivery, claim_id)
    if delivery.status is Status.REJECTED:
        return delivery
    _must_be(delivery, Status.IN_FLIGHT, Status.PENDING, Status.UNKNOWN)
    return _finish(delivery, Status.REJECTED, failure, now, policy)


def retry(
    delivery: Delivery, *, claim_id: str, failure: Failure, now: datetime, policy: Policy, delay: timedelta
) -> Delivery:
    """in_flight -> pending | expired: nothing was sent; again after `delay`, unless that is past the last day."""
    _must_hold(delivery, claim_id)
    if delivery.status is not Status.IN_FLIGHT:
        return delivery
    return _back(delivery, failure, now, now + delay, policy)


def doubt(
    delivery: Delivery, *, claim_id: str, failure: Failure, now: datetime, policy: Policy, delay: timedelta
) -> Delivery:
    """in_flight -> unknown (at_most_once) | pending | expired: it may have been sent; the guarantee says what next."""
    _must_hold(delivery, claim_id)
    if delivery.status is not Status.IN_FLIGHT:
        return delivery
    if delivery.guarantee is Guarantee.AT_MOST_ONCE:
        return _finish(delivery, Status.UNKNOWN, failure, now, policy)
    return _back(delivery, failure, now, now + delay, policy)


def release(delivery: Delivery, *, claim_id: str, failure: Failure, now: datetime, policy: Policy) -> Delivery:
    """in_flight -> pending, due at once and without the attempt: nothing was sent, through no fault of this message."""
    _must_hold(delivery, claim_id)
    if delivery.status is not Status.IN_FLIGHT:
        return delivery
    first = delivery.first_attempt_at if delivery.attempt > 1 else None
    unspent = delivery.changed(attempt=delivery.attempt - 1, first_attempt_at=first)
    return _pend(unspent, failure, None, now + policy.slack)


def suppress(delivery: Delivery, *, failure: Failure, now: datetime, policy: Policy) -> Delivery:
    """pending -> suppressed: the recipient may not or does not want to get it."""
    return _close(delivery, Status.SUPPRESSED, failure, now, policy)


def refuse(delivery: Delivery, *, failure: Failure, now: datetime, policy: Policy) -> Delivery:
    """pending -> rejected: we ourselves cannot make a mail of it."""
    return _close(delivery, Status.REJECTED, failure, now, policy)


def expire(delivery: Delivery, *, now: datetime, policy: Policy) -> Delivery:
    """pending -> expired: its last day for an attempt has passed."""
    return _close(delivery, Status.EXPIRED, TOO_LATE, now, policy)


def sweep(delivery: Delivery, *, now: datetime, policy: Policy) -> Delivery:
    """What upkeep does with a delivery whose wake_at has come; one that has moved on since is left as it is.

    in_flight -> unknown (at_most_once) | pending | expired when the lease has ended;
    pending -> pending with a new generation, whose task is then made | expired.
    """
    if delivery.wake_at is None or delivery.wake_at > now:
        return delivery
    if delivery.status is Status.IN_FLIGHT and delivery.guarantee is Guarantee.AT_MOST_ONCE:
        return _finish(delivery, Status.UNKNOWN, LEASE_ENDED, now, policy)
    if delivery.status is Status.IN_FLIGHT:
        return _back(delivery, LEASE_ENDED, now, now, policy)
    if is_too_late(delivery, now, policy):
        return expire(delivery, now=now, policy=policy)
    # A queue may only be behind: each time a delivery is found waiting, it is left alone for as long again.
    waited = now - (delivery.next_attempt_at or delivery.due_at)
    pause = max(policy.slack, min(waited, policy.backoff.cap))
    return delivery.changed(generation=delivery.generation + 1, wake_at=now + pause)


def is_due(delivery: Delivery, now: datetime) -> bool:
    """Whether its time has come, give or take what two clocks of Google's may differ by."""
    return (delivery.next_attempt_at or delivery.due_at) <= now + CLOCKS_DIFFER


def is_too_late(delivery: Delivery, at: datetime, policy: Policy) -> bool:
    """Whether an attempt at `at` is past the last day: by default 7 days from the first attempt, or the due time."""
    return at > (delivery.first_attempt_at or delivery.due_at) + policy.backoff.deadline


def _must_be(delivery: Delivery, *statuses: Status) -> None:
    if delivery.status not in statuses:
        raise WrongStatus(f"{delivery.status}, and not one of {', '.join(statuses)}")


def _must_hold(delivery: Delivery, claim_id: str) -> None:
    if delivery.claim_id != claim_id:
        raise ClaimLost(f"{delivery.status} under another claim")


def _back(delivery: Delivery, failure: Failure, now: datetime, at: datetime, policy: Policy) -> Delivery:
    if is_too_late(delivery, at, policy):
        return _finish(delivery, Status.EXPIRED, failure, now, policy)
    return _pend(delivery, failure, at, at + policy.slack)


def _pend(delivery: Delivery, failure: Failure, at: datetime | None, wake_at: datetime) -> Delivery:
    return delivery.changed(
        status=Status.PENDING,
        generation=delivery.generation + 1,
        next_attempt_at=at,
        lease_expires_at=None,
        wake_at=wake_at,
        last_error=failure,
    )


def _close(delivery: Delivery, status: Status, failure: Failure, now: datetime, policy: Policy) -> Delivery:
    if delivery.status is status:
        return delivery
    if delivery.status is not Status.PENDING:
        raise ClaimLost(f"{delivery.status} meanwhile")
    return _finish(delivery, status, failure, now, policy)


def _finish(delivery: Delivery, status: Status, failure: Failure | None, now: datetime, policy: Policy) -> Delivery:
    """To a terminal status, or from one to a better founded one; the frozen items go, the compact facts stay."""
    content = delivery.content
    return delivery.changed(
        status=status,
        content=None if content is None else Content(hash=content.hash, version=content.version),
        next_attempt_at=None,
        lease_expires_at=None,
        wake_at=None,
        settled_at=now,
        prune_at=now + policy.retention,
        last_error=failure or delivery.last_error,
    )
