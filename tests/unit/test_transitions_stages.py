"""The verbs of digests and of stages: nothing to say, a mail on record with a webhook to come, and how that ends."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from ledgermail.errors import ClaimLost, WrongStatus
from ledgermail.ledger import transitions
from ledgermail.ledger.delivery import TERMINAL, UNFINISHED, Content, Delivery, Guarantee, Stage, Status
from ledgermail.ledger.policy import Policy
from ledgermail.ledger.transitions import EMAIL, RENDER, WEBHOOK
from tests.samples import ITEMS, LEASE, NOW, REFUSED, a_delivery

POLICY = Policy(evidence_grace=timedelta(hours=1))
LATER = NOW + timedelta(seconds=30)
OVERDUE = NOW + timedelta(hours=1)
OVER = NOW + timedelta(days=8)  # past the last day
MINUTE = timedelta(minutes=1)
SENT = {EMAIL: Stage(at=NOW, reference="m1")}
FACTS: dict[str, Any] = {"claim_id": "c1", "now": LATER, "policy": POLICY}

Verb = Callable[[Delivery], Delivery]
VERBS: dict[str, Verb] = {
    "empty": lambda d: transitions.empty(d, now=LATER, policy=POLICY),
    "record_email": lambda d: transitions.record_email(d, reference="m2", **FACTS),
    "accept": lambda d: transitions.accept(d, reference="w1", stage=WEBHOOK, **FACTS),
    "reject": lambda d: transitions.reject(d, failure=REFUSED, stage=WEBHOOK, **FACTS),
    "retry": lambda d: transitions.retry(d, failure=REFUSED, delay=MINUTE, **FACTS),
    "doubt": lambda d: transitions.doubt(d, failure=REFUSED, delay=MINUTE, **FACTS),
    "release": lambda d: transitions.release(d, failure=REFUSED, **FACTS),
    "suppress": lambda d: transitions.suppress(d, failure=REFUSED, now=LATER, policy=POLICY),
    "refuse": lambda d: transitions.refuse(d, failure=REFUSED, now=LATER, policy=POLICY),
    "expire": lambda d: transitions.expire(d, now=OVER, policy=POLICY),
    "sweep": lambda d: transitions.sweep(d, now=OVERDUE, policy=POLICY),
}
GUARANTEES = pytest.mark.parametrize("guarantee", list(Guarantee))


@pytest.mark.parametrize("status", list(Status))
def test_only_what_is_still_owed_may_turn_out_to_have_nothing_to_say(status: Status) -> None:
    delivery = a_delivery(status, content=None)
    if status in (Status.PENDING, Status.EMPTY):
        assert VERBS["empty"](delivery).status is Status.EMPTY
        return
    with pytest.raises(ClaimLost):
        VERBS["empty"](delivery)


def test_an_empty_period_is_on_record_without_an_attempt() -> None:
    done = VERBS["empty"](a_delivery(content=None, period_start=NOW, period_end=LATER))
    assert (done.attempt, done.claim_id, done.stages, done.last_error) == (0, None, {}, transitions.NOTHING)
    assert (done.period_start, done.period_end) == (NOW, LATER)
    assert (done.settled_at, done.prune_at) == (LATER, LATER + POLICY.retention)


# What is claimed is what is owed


def test_a_mail_that_was_put_on_record_meanwhile_is_not_claimed_again() -> None:
    """A late answer of the worker before may come between the reading and the claim."""
    with pytest.raises(ClaimLost):
        claim(a_delivery(stages=SENT), a_delivery().content)


def test_a_webhook_is_not_claimed_before_its_mail_is_on_record() -> None:
    with pytest.raises(ClaimLost):
        transitions.claim(a_delivery(), claim_id="c1", content=None, now=LATER, lease=LEASE, stage=WEBHOOK)


def test_a_mail_that_another_froze_otherwise_is_not_claimed_as_rendered_here() -> None:
    with pytest.raises(ClaimLost):
        claim(a_delivery(), Content(hash="another"))


# The first stage: what was rendered


def claim(delivery: Delivery, content: Content | None) -> Delivery:
    return transitions.claim(delivery, claim_id="c2", content=content, now=LATER, lease=LEASE)


def test_a_claim_freezes_what_was_rendered_and_says_when() -> None:
    frozen = Content(hash="h1", items=ITEMS)
    claimed = claim(a_delivery(content=None), frozen)
    assert (claimed.content, claimed.stages) == (frozen, {RENDER: Stage(at=LATER, reference="h1")})


def test_the_first_rendering_stays_on_record_at_a_second_claim() -> None:
    rendered = {RENDER: Stage(at=NOW, reference="h0")}
    assert claim(a_delivery(stages=rendered, content=None), Content(hash="h1", items=ITEMS)).stages == rendered


def test_a_claim_for_the_webhook_alone_leaves_the_stages_as_they_are() -> None:
    delivery = a_delivery(stages={RENDER: Stage(at=NOW, reference="h0"), **SENT})
    claimed = transitions.claim(
        delivery, claim_id="c2", content=delivery.content, now=LATER, lease=LEASE, stage=WEBHOOK
    )
    assert claimed.stages == delivery.stages


# The mail is taken, and its webhook comes next


@GUARANTEES
def test_a_mail_is_on_record_before_its_webhook_under_the_same_claim(guarantee: Guarantee) -> None:
    delivery = a_delivery(Status.IN_FLIGHT, guarantee=guarantee)
    recorded = VERBS["record_email"](delivery)
    assert recorded == delivery.changed(stages={EMAIL: Stage(at=LATER, reference="m2")})
    assert VERBS["record_email"](recorded) == recorded


@pytest.mark.parametrize("status", [Status.IN_FLIGHT, Status.PENDING, Status.UNKNOWN])
def test_a_mail_that_was_taken_is_never_forgotten_whenever_the_answer_comes(status: Status) -> None:
    recorded = VERBS["record_email"](a_delivery(status, claim_id="c1"))
    assert recorded.stages[EMAIL].reference == "m2"
    assert recorded.status is (status if status in UNFINISHED else Status.ACCEPTED)


def test_a_mail_that_is_on_record_is_not_put_there_again() -> None:
    for status in Status:
        delivery = a_delivery(status, claim_id="c1", stages=SENT)
        assert VERBS["record_email"](delivery) == delivery


@pytest.mark.parametrize("verb", ["record_email", "accept", "reject", "retry", "doubt", "release"])
@pytest.mark.parametrize("status", list(Status))
def test_an_answer_under_another_claim_changes_nothing(verb: str, status: Status) -> None:
    with pytest.raises(ClaimLost):
        VERBS[verb](a_delivery(status, claim_id="c9", stages=SENT))


# The end of a delivery whose mail is on record


@GUARANTEES
def test_a_webhook_that_was_taken_is_the_end(guarantee: Guarantee) -> None:
    done = VERBS["accept"](a_delivery(Status.IN_FLIGHT, stages=SENT, guarantee=guarantee))
    assert done.stages == {**SENT, WEBHOOK: Stage(at=LATER, reference="w1")}
    assert (done.status, done.last_error) == (Status.ACCEPTED, None)


@GUARANTEES
@pytest.mark.parametrize("verb", ["retry", "doubt", "release", "sweep"])
def test_a_webhook_that_did_not_get_through_is_tried_again_under_either_guarantee(
    verb: str, guarantee: Guarantee
) -> None:
    again = VERBS[verb](a_delivery(Status.IN_FLIGHT, stages=SENT, guarantee=guarantee))
    assert (again.status, again.stages, again.generation) == (Status.PENDING, SENT, 1)
    assert again.last_error in (REFUSED, transitions.LEASE_ENDED)


@GUARANTEES
@pytest.mark.parametrize("verb", ["reject", "suppress", "refuse", "expire"])
def test_what_was_sent_ends_as_accepted_and_says_what_became_of_its_webhook(verb: str, guarantee: Guarantee) -> None:
    status = Status.IN_FLIGHT if verb == "reject" else Status.PENDING
    done = VERBS[verb](a_delivery(status, claim_id="c1", stages=SENT, guarantee=guarantee))
    assert (done.status, done.stages) == (Status.ACCEPTED, SENT)
    assert done.last_error == (transitions.TOO_LATE if verb == "expire" else REFUSED)
    assert done.content is not None
    assert done.content.items is None
    assert VERBS[verb](done) == done


@GUARANTEES
@pytest.mark.parametrize("verb", ["retry", "doubt", "sweep"])
def test_a_webhook_past_the_last_day_is_given_up_and_the_mail_stays_accepted(verb: str, guarantee: Guarantee) -> None:
    long_ago = NOW - POLICY.backoff.deadline - MINUTE
    late = a_delivery(Status.IN_FLIGHT, stages=SENT, guarantee=guarantee, first_attempt_at=long_ago, due_at=long_ago)
    done = VERBS[verb](late)
    assert (done.status, done.stages) == (Status.ACCEPTED, SENT)
    assert done.last_error in (REFUSED, transitions.LEASE_ENDED)
    pending = a_delivery(stages=SENT, guarantee=guarantee, first_attempt_at=long_ago, due_at=long_ago)
    assert VERBS["sweep"](pending).status is Status.ACCEPTED


@pytest.mark.parametrize("kept", [timedelta(days=3), timedelta(days=9)])
def test_it_is_kept_as_long_as_what_was_accepted_is(kept: timedelta) -> None:
    policy = Policy(retentions={Status.ACCEPTED: kept})
    done = transitions.expire(a_delivery(stages=SENT), now=OVER, policy=policy)
    assert done.prune_at == OVER + kept


def test_letting_go_of_a_webhook_spends_no_attempt_and_takes_none_back() -> None:
    """The attempt may be the one that sent the mail."""
    released = VERBS["release"](a_delivery(Status.IN_FLIGHT, stages=SENT))
    assert (released.attempt, released.first_attempt_at, released.next_attempt_at) == (1, NOW, None)


@pytest.mark.parametrize("verb", list(VERBS))
@pytest.mark.parametrize("status", list(Status))
@GUARANTEES
def test_repeating_what_was_just_done_changes_nothing(verb: str, status: Status, guarantee: Guarantee) -> None:
    delivery = a_delivery(status, claim_id="c1", guarantee=guarantee, stages=SENT)
    try:
        once = VERBS[verb](delivery)
    except (ClaimLost, WrongStatus):
        return
    assert VERBS[verb](once) == once


@pytest.mark.parametrize("verb", list(VERBS))
@pytest.mark.parametrize("status", sorted(TERMINAL))
def test_nothing_that_has_ended_is_owed_again(verb: str, status: Status) -> None:
    for stages in ({}, SENT):
        try:
            changed = VERBS[verb](a_delivery(status, claim_id="c1", stages=stages))
        except (ClaimLost, WrongStatus):
            continue
        assert not changed.unfinished
