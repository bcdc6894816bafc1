"""The verbs: every way a delivery may change, each a pure function `(delivery, facts, now) -> delivery`.

    (plan) ──► pending ──claim──► in_flight ──accept──► accepted
                 │  ▲                │ ├──reject──► rejected
                 │  └─retry, release─┘ ├──doubt───► unknown     (at_most_once; at_least_once goes back to pending)
                 │  └──── sweep ───────┤
                 │                     └──sweep───► unknown     (a lease that ended without an answer, at_most_once)
                 ├──suppress──► suppressed
                 ├──refuse────► rejected
                 ├──empty─────► empty
                 └──expire────► expired       (also by retry, doubt and sweep, past the last day)

A wrong starting status raises WrongStatus, another's claim ClaimLost. Asking again under the same claim changes nothing,
so a commit whose answer was lost is settled by applying the verb once more to what was read back.

The claim id stays on record after the claim. A worker whose lease ended may therefore still bring proof (`accept`,
`reject`) as long as nobody has claimed since: an answer of the provider outweighs our own doubt. What proves the same without
a claim is in evidence.py, what an operator may ask for in overrides.py.

Where the provider knows a repeated request by its key, a lost answer is repeated, under either guarantee, as long as it does.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from ledgermail.errors import ClaimLost, WrongStatus
from ledgermail.ledger.delivery import Content, Delivery, Failure, Guarantee, Stage, Status
from ledgermail.ledger.policy import Policy

LEASE_ENDED = Failure(category="lease_ended", detail="the worker's lease ended without an answer on record")
TOO_LATE = Failure(category="expired", detail="the last day for an attempt has passed")
NOTHING = Failure(category="nothing_to_say")
CLOCKS_DIFFER = timedelta(seconds=2)  # a task may come this early by Firestore's clock, and it comes only once
# The stages, in their order. Each is on record, with its time and reference, before the next one starts.
RENDER, EMAIL, WEBHOOK = "render", "email", "webhook"


def claim(
    delivery: Delivery, *, claim_id: str, content: Content | None, now: datetime, lease: timedelta, stage: str = EMAIL
) -> Delivery:
    """pending -> in_flight: an exclusive right to one attempt until `now + lease`. Not due is ClaimLost, too.

    `content` is what was rendered: with the claim it is frozen, and the stage `render` is on record. ClaimLost, as well, when
    meanwhile another froze something else, or put on record that the mail was taken: `stage` is not owed any more.
    """
    if delivery.status is Status.IN_FLIGHT and delivery.claim_id == claim_id:
        return delivery
    if (EMAIL in delivery.stages) != (stage == WEBHOOK) or _frozen_otherwise(delivery, content):
        raise ClaimLost(f"{stage}: is not what is owed any more")
    if delivery.status is not Status.PENDING or delivery.claim_id == claim_id or not is_due(delivery, now):
        raise ClaimLost(f"{delivery.status} under another claim")
    rendered = {RENDER: Stage(at=now, reference=content.hash)} if content else {}
    return delivery.changed(
        status=Status.IN_FLIGHT,
        stages={**rendered, **delivery.stages},
        claim_id=claim_id,
        content=content,
        attempt=delivery.attempt + 1,
        first_claimed_at=delivery.first_claimed_at or now,
        first_attempt_at=delivery.first_attempt_at or now,
        next_attempt_at=None,
        lease_expires_at=now + lease,
        wake_at=now + lease,
    )


def accept(
    delivery: Delivery, *, claim_id: str, reference: str, now: datetime, policy: Policy, stage: str = EMAIL
) -> Delivery:
    """in_flight -> accepted; also any other but rejected -> accepted, as the late proof of a claim that was given up: that the
    provider took the mail outweighs what we made of its silence.

    `stage` is the last one, which this puts on record; a mailing with a webhook records its email first. An email that is
    on record stays as it is: an event was faster, where the mailing has a webhook and the user none.
    """
    _must_hold(delivery, claim_id)
    if delivery.status is Status.ACCEPTED:
        return delivery
    _must_be(delivery, *(set(Status) - {Status.REJECTED}))
    recorded = delivery if stage in delivery.stages else on_record(delivery, stage, reference, now)
    return finish(recorded, Status.ACCEPTED, None, now, policy)


def record_email(delivery: Delivery, *, claim_id: str, reference: str, now: datetime, policy: Policy) -> Delivery:
    """in_flight -> in_flight: the provider took the mail, and the webhook comes next.

    As the late proof of a claim that was given up: pending -> pending, which then owes only the webhook; any other but
    rejected -> accepted, without one.
    """
    _must_hold(delivery, claim_id)
    if EMAIL in delivery.stages:
        return delivery
    _must_be(delivery, *(set(Status) - {Status.REJECTED}))
    recorded = on_record(delivery, EMAIL, reference, now)
    return recorded if delivery.unfinished else finish(recorded, Status.ACCEPTED, None, now, policy)


def reject(
    delivery: Delivery, *, claim_id: str, failure: Failure, now: datetime, policy: Policy, stage: str = EMAIL
) -> Delivery:
    """in_flight -> rejected; also pending | unknown -> rejected, as the late proof of the claim that was given up.

    What has ended in another way stays so: nothing was sent in any case. Where meanwhile an earlier attempt is known to have
    sent the mail, its refusal by this one ends nothing: the webhook is owed. Nor does it end what was opened again since.
    """
    _must_hold(delivery, claim_id)
    is_opened_again = delivery.status is Status.PENDING and delivery.first_attempt_at is None
    if is_opened_again or delivery.status not in {Status.IN_FLIGHT, Status.PENDING, Status.UNKNOWN}:
        return delivery
    if stage == EMAIL and EMAIL in delivery.stages:
        return release(delivery, claim_id=claim_id, failure=failure, now=now, policy=policy)
    return finish(delivery, Status.REJECTED, failure, now, policy)


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
    return _in_doubt(delivery, failure, now, delay, policy)


def release(delivery: Delivery, *, claim_id: str, failure: Failure, now: datetime, policy: Policy) -> Delivery:
    """in_flight -> pending, due at once and without the attempt: nothing was sent, through no fault of this message.

    With the email on record the attempt stays: it may be the one that sent it.
    """
    _must_hold(delivery, claim_id)
    if delivery.status is not Status.IN_FLIGHT:
        return delivery
    if EMAIL not in delivery.stages:
        first = delivery.first_attempt_at if delivery.attempt > 1 else None
        delivery = delivery.changed(attempt=delivery.attempt - 1, first_attempt_at=first)
    return _pend(delivery, failure, None, now + policy.slack)


def suppress(delivery: Delivery, *, failure: Failure, now: datetime, policy: Policy) -> Delivery:
    """pending -> suppressed: the recipient may not or does not want to get it."""
    return close(delivery, Status.SUPPRESSED, failure, now, policy)


def refuse(delivery: Delivery, *, failure: Failure, now: datetime, policy: Policy) -> Delivery:
    """pending -> rejected: we ourselves cannot make a mail of it."""
    return close(delivery, Status.REJECTED, failure, now, policy)


def empty(delivery: Delivery, *, now: datetime, policy: Policy) -> Delivery:
    """pending -> empty: there is nothing to say, and its period is on record all the same."""
    return close(delivery, Status.EMPTY, NOTHING, now, policy)


def expire(delivery: Delivery, *, now: datetime, policy: Policy) -> Delivery:
    """pending -> expired: its last day for an attempt has passed; unknown, where one may have been sent and must not again.

    ClaimLost when an operator has opened it again since it was read: then its last day is another.
    """
    if delivery.status is Status.PENDING and not is_over(delivery, now, policy):
        raise ClaimLost("its last day has not passed")
    return close(delivery, _last_word(delivery), TOO_LATE, now, policy)


def sweep(delivery: Delivery, *, now: datetime, policy: Policy) -> Delivery:
    """What upkeep does with a delivery whose wake_at has come; one that has moved on since is left as it is.

    in_flight -> unknown (at_most_once) | pending | expired when the lease has ended;
    pending -> pending with a new generation, whose task is then made | expired.
    """
    if delivery.wake_at is None or delivery.wake_at > now:
        return delivery
    if delivery.status is Status.IN_FLIGHT:
        return _in_doubt(delivery, LEASE_ENDED, now, timedelta(), policy)
    if is_over(delivery, now, policy):
        return expire(delivery, now=now, policy=policy)
    # A queue may only be behind: each time a delivery is found waiting, it is left alone for as long again.
    waited = now - (delivery.next_attempt_at or delivery.due_at)
    pause = max(policy.slack, min(waited, policy.backoff.cap))
    return delivery.changed(generation=delivery.generation + 1, wake_at=now + pause)


def is_due(delivery: Delivery, now: datetime) -> bool:
    """Whether its time has come, give or take what two clocks of Google's may differ by."""
    return (delivery.next_attempt_at or delivery.due_at) <= now + CLOCKS_DIFFER


def is_over(delivery: Delivery, at: datetime, policy: Policy) -> bool:
    """Whether an attempt at `at` is one too many: past the last day, or of what must not be sent twice and the provider would
    not know for a repetition any more. The last day is by default 7 days from the first attempt, or the due time.
    """
    opened = delivery.first_attempt_at or delivery.reopened_at or delivery.due_at
    if delivery.doubted_at and _only_once(delivery, at, policy):
        return True
    return at > opened + policy.backoff.deadline


def _frozen_otherwise(delivery: Delivery, content: Content | None) -> bool:
    return delivery.content is not None and content is not None and delivery.content.hash != content.hash


def _only_once(delivery: Delivery, at: datetime, policy: Policy) -> bool:
    """Whether what is under way must not be repeated at this time. With the email on record it is the webhook, which may."""
    if delivery.guarantee is not Guarantee.AT_MOST_ONCE or EMAIL in delivery.stages:
        return False
    return not _is_known(delivery, at, policy)


def _is_known(delivery: Delivery, at: datetime, policy: Policy) -> bool:
    """Whether the provider would at this time know a repeated request for one, and send nothing."""
    return at < (delivery.first_attempt_at or at) + policy.repeatable


def _in_doubt(delivery: Delivery, failure: Failure, now: datetime, delay: timedelta, policy: Policy) -> Delivery:
    """No answer came. What may be in doubt is the mail, or, with that on record, only the webhook."""
    if EMAIL in delivery.stages:
        return _back(delivery, failure, now, now + delay, policy)
    doubted = delivery.changed(doubted_at=delivery.doubted_at or now)
    if _is_known(doubted, now + delay, policy):
        return _back(doubted, failure, now, now + delay, policy)
    if _only_once(doubted, now + delay, policy):
        return finish(doubted, Status.UNKNOWN, failure, now, policy)
    return _back(doubted, failure, now, now + max(delay, policy.evidence_grace), policy)


def _last_word(delivery: Delivery) -> Status:
    """What becomes of one that is not tried again."""
    in_doubt = delivery.doubted_at is not None and delivery.guarantee is Guarantee.AT_MOST_ONCE
    return Status.UNKNOWN if in_doubt else Status.EXPIRED


def on_record(delivery: Delivery, stage: str, reference: str, now: datetime) -> Delivery:
    """With this stage done; nothing else is decided by it."""
    return delivery.changed(stages={**delivery.stages, stage: Stage(at=now, reference=reference)})


def _must_be(delivery: Delivery, *statuses: Status) -> None:
    if delivery.status not in statuses:
        raise WrongStatus(f"{delivery.status}, and not one of {', '.join(statuses)}")


def _must_hold(delivery: Delivery, claim_id: str) -> None:
    if delivery.claim_id != claim_id:
        raise ClaimLost(f"{delivery.status} under another claim")


def _back(delivery: Delivery, failure: Failure, now: datetime, at: datetime, policy: Policy) -> Delivery:
    if is_over(delivery, at, policy):
        return finish(delivery, _last_word(delivery), failure, now, policy)
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


def close(delivery: Delivery, status: Status, failure: Failure, now: datetime, policy: Policy) -> Delivery:
    """pending -> this terminal status; again, nothing."""
    if delivery.status is _end(delivery, status):
        return delivery
    if delivery.status is not Status.PENDING:
        raise ClaimLost(f"{delivery.status} meanwhile")
    return finish(delivery, status, failure, now, policy)


def _end(delivery: Delivery, status: Status) -> Status:
    """With the email on record a delivery ends as accepted, whatever became of its webhook: last_error says that."""
    return Status.ACCEPTED if EMAIL in delivery.stages else status


def finish(delivery: Delivery, status: Status, failure: Failure | None, now: datetime, policy: Policy) -> Delivery:
    """To a terminal status, or from one to a better founded one; the frozen items go, the compact facts stay."""
    content = delivery.content
    status = _end(delivery, status)
    return delivery.changed(
        status=status,
        content=content and replace(content, items=None),
        next_attempt_at=None,
        lease_expires_at=None,
        wake_at=None,
        settled_at=now,
        prune_at=now + policy.kept(status),
        last_error=failure or delivery.last_error,
    )
