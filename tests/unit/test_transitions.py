"""Every status x transition: what it becomes, or why it may not."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from ledgermail.errors import ClaimLost, WrongStatus
from ledgermail.ledger import transitions
from ledgermail.ledger.delivery import TERMINAL, Delivery, Failure, Guarantee, Status
from ledgermail.ledger.policy import Policy
from tests.samples import LEASE, NOW, REFUSED, a_delivery

POLICY = Policy()
LATER = NOW + timedelta(seconds=30)
OVERDUE = NOW + timedelta(hours=1)
OVER = NOW + timedelta(days=8)  # past the last day
MINUTE = timedelta(minutes=1)
UNCHANGED, LOST, WRONG = "unchanged", ClaimLost, WrongStatus

Verb = Callable[[Delivery], Delivery]
VERBS: dict[str, Verb] = {
    "claim": lambda d: transitions.claim(d, claim_id="c2", content=d.content, now=LATER, lease=LEASE),
    "accept": lambda d: transitions.accept(d, claim_id="c1", reference="m1", now=LATER, policy=POLICY),
    "reject": lambda d: transitions.reject(d, claim_id="c1", failure=REFUSED, now=LATER, policy=POLICY),
    "retry": lambda d: transitions.retry(d, claim_id="c1", failure=REFUSED, now=LATER, policy=POLICY, delay=MINUTE),
    "doubt": lambda d: transitions.doubt(d, claim_id="c1", failure=REFUSED, now=LATER, policy=POLICY, delay=MINUTE),
    "release": lambda d: transitions.release(d, claim_id="c1", failure=REFUSED, now=LATER, policy=POLICY),
    "suppress": lambda d: transitions.suppress(d, failure=REFUSED, now=LATER, policy=POLICY),
    "refuse": lambda d: transitions.refuse(d, failure=REFUSED, now=LATER, policy=POLICY),
    "expire": lambda d: transitions.expire(d, now=OVER, policy=POLICY),
    "sweep": lambda d: transitions.sweep(d, now=OVERDUE, policy=POLICY),
}

S = Status
ALL_OTHERS = [S.EXPIRED, S.SUPPRESSED, S.EMPTY, S.CANCELLED]
# For a pending delivery the claim c1 has ended (swept, or retried); for the others c1 is the claim on record.
TABLE: dict[str, dict[Status, object]] = {
    "claim": {S.PENDING: S.IN_FLIGHT, **dict.fromkeys([S.IN_FLIGHT, *TERMINAL], LOST)},
    "accept": {
        **dict.fromkeys([S.PENDING, S.IN_FLIGHT, S.UNKNOWN, *ALL_OTHERS], S.ACCEPTED),
        S.ACCEPTED: UNCHANGED,
        S.REJECTED: WRONG,
    },
    "reject": {
        **dict.fromkeys([S.PENDING, S.IN_FLIGHT, S.UNKNOWN], S.REJECTED),
        **dict.fromkeys([S.REJECTED, S.ACCEPTED, *ALL_OTHERS], UNCHANGED),
    },
    "retry": {S.IN_FLIGHT: S.PENDING, **dict.fromkeys([S.PENDING, *TERMINAL], UNCHANGED)},
    "doubt": {S.IN_FLIGHT: S.UNKNOWN, **dict.fromkeys([S.PENDING, *TERMINAL], UNCHANGED)},
    "release": {S.IN_FLIGHT: S.PENDING, **dict.fromkeys([S.PENDING, *TERMINAL], UNCHANGED)},
    "suppress": {
        S.PENDING: S.SUPPRESSED,
        **dict.fromkeys([S.IN_FLIGHT, *TERMINAL], LOST),
        S.SUPPRESSED: UNCHANGED,
    },
    "refuse": {S.PENDING: S.REJECTED, **dict.fromkeys([S.IN_FLIGHT, *TERMINAL], LOST), S.REJECTED: UNCHANGED},
    "expire": {S.PENDING: S.EXPIRED, **dict.fromkeys([S.IN_FLIGHT, *TERMINAL], LOST), S.EXPIRED: UNCHANGED},
    "sweep": {S.PENDING: S.PENDING, S.IN_FLIGHT: S.UNKNOWN, **dict.fromkeys(TERMINAL, UNCHANGED)},
}
ROWS = [(verb, status) for verb in VERBS for status in Status]


@pytest.mark.parametrize(("verb", "status"), ROWS)
def test_every_status_and_transition(verb: str, status: Status) -> None:
    delivery = a_delivery(status, claim_id="c1", first_attempt_at=NOW)
    expected = TABLE[verb][status]
    if isinstance(expected, type):
        with pytest.raises(expected):
            VERBS[verb](delivery)
        return
    changed = VERBS[verb](delivery)
    assert (changed == delivery) == (expected == UNCHANGED)
    assert expected in (UNCHANGED, changed.status)


@pytest.mark.parametrize("verb", ["accept", "reject", "retry", "doubt", "release"])
@pytest.mark.parametrize("status", list(Status))
def test_an_answer_under_another_claim_changes_nothing(verb: str, status: Status) -> None:
    with pytest.raises(ClaimLost):
        VERBS[verb](a_delivery(status, claim_id="c9"))


@pytest.mark.parametrize("verb", list(VERBS))
@pytest.mark.parametrize("status", list(Status))
@pytest.mark.parametrize("guarantee", list(Guarantee))
def test_repeating_what_was_just_done_changes_nothing(verb: str, status: Status, guarantee: Guarantee) -> None:
    """So a commit whose answer was lost may be asked for again."""
    delivery = a_delivery(status, claim_id="c1", guarantee=guarantee)
    try:
        once = VERBS[verb](delivery)
    except (ClaimLost, WrongStatus):
        return
    assert VERBS[verb](once) == once


def test_the_same_claim_after_it_was_swept_is_lost() -> None:
    claimed = VERBS["claim"](a_delivery(guarantee=Guarantee.AT_LEAST_ONCE))
    swept = VERBS["sweep"](claimed)
    assert swept.status is Status.PENDING
    with pytest.raises(ClaimLost):
        transitions.claim(swept, claim_id="c2", content=swept.content, now=OVERDUE, lease=LEASE)


def test_a_claim_leaves_a_lease_and_counts_an_attempt() -> None:
    claimed = VERBS["claim"](a_delivery())
    assert (claimed.claim_id, claimed.attempt) == ("c2", 1)
    assert claimed.lease_expires_at == claimed.wake_at == LATER + LEASE
    assert claimed.first_claimed_at == claimed.first_attempt_at == LATER


def test_a_later_attempt_leaves_on_record_when_it_was_first_claimed_and_first_in_doubt() -> None:
    policy = Policy(repeatable=timedelta(hours=23))
    delivery = a_delivery()
    for attempt, now in enumerate([NOW, OVERDUE], start=1):
        claim_id = f"c{attempt}"
        claimed = transitions.claim(delivery, claim_id=claim_id, content=delivery.content, now=now, lease=LEASE)
        delivery = transitions.doubt(
            claimed, claim_id=claim_id, failure=REFUSED, now=now + MINUTE, policy=policy, delay=MINUTE
        )
    assert (delivery.attempt, delivery.first_claimed_at, delivery.doubted_at) == (2, NOW, NOW + MINUTE)


def test_a_delivery_that_is_not_due_cannot_be_claimed() -> None:
    with pytest.raises(ClaimLost):
        VERBS["claim"](a_delivery(next_attempt_at=LATER + MINUTE))


def test_a_task_that_comes_a_moment_early_by_the_other_clock_is_not_lost() -> None:
    early = a_delivery(next_attempt_at=LATER + transitions.CLOCKS_DIFFER)
    assert VERBS["claim"](early).status is Status.IN_FLIGHT


def test_a_lost_answer_is_never_resent_at_most_once() -> None:
    assert VERBS["doubt"](a_delivery(Status.IN_FLIGHT)).status is Status.UNKNOWN


def test_a_lost_answer_is_tried_again_at_least_once() -> None:
    doubted = VERBS["doubt"](a_delivery(Status.IN_FLIGHT, guarantee=Guarantee.AT_LEAST_ONCE))
    assert (doubted.status, doubted.next_attempt_at) == (Status.PENDING, LATER + MINUTE)


def test_a_dead_lease_is_tried_again_at_least_once() -> None:
    swept = VERBS["sweep"](a_delivery(Status.IN_FLIGHT, guarantee=Guarantee.AT_LEAST_ONCE))
    assert (swept.status, swept.next_attempt_at) == (Status.PENDING, OVERDUE)
    assert swept.last_error == transitions.LEASE_ENDED


@pytest.mark.parametrize("status", [Status.PENDING, Status.IN_FLIGHT])
def test_a_sweep_leaves_alone_what_is_not_overdue(status: Status) -> None:
    delivery = a_delivery(status)
    assert transitions.sweep(delivery, now=NOW, policy=POLICY) == delivery


def test_a_queue_that_is_only_behind_is_not_filled_again_at_every_sweep() -> None:
    swept, wakes = a_delivery(), 0
    for minute in range(120):
        after = transitions.sweep(swept, now=NOW + minute * MINUTE, policy=POLICY)
        wakes += after != swept
        swept = after
    assert wakes == 5  # after 5, 10, 20, 40 and 80 minutes


@pytest.mark.parametrize(
    ("since", "now", "pause"),
    [
        ({"next_attempt_at": NOW + timedelta(hours=1)}, NOW + timedelta(hours=2), timedelta(hours=1)),
        ({}, NOW + timedelta(days=3), POLICY.backoff.cap),
        ({}, NOW + MINUTE, POLICY.slack),
    ],
    ids=["not counted from the due time", "never longer than a retry", "never shorter than a task may take"],
)
def test_what_is_swept_waits_for_as_long_as_it_has_waited(
    since: dict[str, Any], now: datetime, pause: timedelta
) -> None:
    swept = transitions.sweep(a_delivery(wake_at=now, **since), now=now, policy=POLICY)
    assert swept.wake_at == now + pause


def test_each_wake_up_is_a_new_generation() -> None:
    in_flight = a_delivery(Status.IN_FLIGHT)
    assert [VERBS[verb](in_flight).generation for verb in ("retry", "release")] == [1, 1]
    assert VERBS["sweep"](a_delivery()).generation == 1


def test_a_misconfigured_provider_costs_no_attempt() -> None:
    released = VERBS["release"](a_delivery(Status.IN_FLIGHT))
    assert (released.attempt, released.first_attempt_at, released.next_attempt_at) == (0, None, None)
    again = VERBS["release"](a_delivery(Status.IN_FLIGHT, attempt=3))
    assert (again.attempt, again.first_attempt_at) == (2, NOW)


@pytest.mark.parametrize("verb", ["retry", "doubt", "sweep"])
def test_there_is_no_attempt_after_the_last_day(verb: str) -> None:
    long_ago = NOW - POLICY.backoff.deadline - MINUTE
    at_least_once = a_delivery(
        Status.IN_FLIGHT, guarantee=Guarantee.AT_LEAST_ONCE, first_attempt_at=long_ago, due_at=long_ago
    )
    assert VERBS[verb](at_least_once).status is Status.EXPIRED
    pending = a_delivery(first_attempt_at=long_ago)
    assert VERBS["sweep"](pending).status is Status.EXPIRED


@pytest.mark.parametrize("verb", ["accept", "reject", "doubt"])
def test_the_end_drops_the_items_and_keeps_the_facts(verb: str) -> None:
    done = VERBS[verb](a_delivery(Status.IN_FLIGHT))
    assert done.content is not None
    assert done.content.items is None
    assert done.content.hash
    assert (done.wake_at, done.lease_expires_at, done.settled_at) == (None, None, LATER)
    assert done.prune_at == LATER + POLICY.retention


def test_acceptance_keeps_the_providers_reference_and_the_last_error() -> None:
    tried = a_delivery(Status.IN_FLIGHT, last_error=Failure(category="transient", code="503"))
    done = VERBS["accept"](tried)
    assert done.stages["email"].reference == "m1"
    assert done.last_error == tried.last_error


REPEATABLE = Policy(repeatable=timedelta(hours=23))


def lost_answer(delivery: Delivery, policy: Policy, *, after: timedelta = timedelta(seconds=30)) -> Delivery:
    now = NOW + after
    return transitions.doubt(delivery, claim_id="c1", failure=REFUSED, now=now, policy=policy, delay=MINUTE)


@pytest.mark.parametrize("guarantee", list(Guarantee))
@pytest.mark.parametrize("how", ["answer lost", "lease ended"])
def test_what_the_provider_knows_for_a_repetition_is_repeated_at_once(guarantee: Guarantee, how: str) -> None:
    """No waiting for evidence either: the same key sends nothing twice."""
    policy = Policy(repeatable=timedelta(hours=23), evidence_grace=timedelta(hours=1))
    delivery = a_delivery(Status.IN_FLIGHT, guarantee=guarantee)
    if how == "answer lost":
        again = lost_answer(delivery, policy)
        assert again.next_attempt_at == LATER + MINUTE
    else:
        again = transitions.sweep(delivery, now=OVERDUE, policy=policy)
        assert again.next_attempt_at == OVERDUE
    assert again.status is Status.PENDING
    assert again.doubted_at is not None


def test_an_alert_in_doubt_is_not_repeated_when_the_provider_has_forgotten_its_key() -> None:
    again = lost_answer(a_delivery(Status.IN_FLIGHT), REPEATABLE)
    assert not transitions.is_over(again, NOW + timedelta(hours=22), REPEATABLE)
    assert transitions.is_over(again, NOW + timedelta(hours=23), REPEATABLE)
    assert transitions.expire(again, now=NOW + timedelta(hours=23), policy=REPEATABLE).status is Status.UNKNOWN


def test_a_refusal_that_is_repeated_too_late_ends_an_alert_in_doubt_as_unknown() -> None:
    again = lost_answer(a_delivery(Status.IN_FLIGHT), REPEATABLE)
    claimed = transitions.claim(again, claim_id="c2", content=None, now=NOW + timedelta(hours=22), lease=LEASE)
    now, delay = NOW + timedelta(hours=22), timedelta(hours=2)
    ended = transitions.retry(claimed, claim_id="c2", failure=REFUSED, policy=REPEATABLE, now=now, delay=delay)
    assert ended.status is Status.UNKNOWN


def test_a_lost_answer_that_comes_too_late_for_a_repetition_is_unknown_at_once() -> None:
    assert lost_answer(a_delivery(Status.IN_FLIGHT), REPEATABLE, after=timedelta(days=1)).status is Status.UNKNOWN


def test_a_digest_is_tried_again_also_when_the_provider_has_forgotten_its_key() -> None:
    digest = a_delivery(Status.IN_FLIGHT, guarantee=Guarantee.AT_LEAST_ONCE)
    assert lost_answer(digest, REPEATABLE, after=timedelta(days=1)).status is Status.PENDING


def test_a_digest_waits_for_evidence_when_its_key_would_be_forgotten_by_the_next_attempt() -> None:
    digest = a_delivery(Status.IN_FLIGHT, guarantee=Guarantee.AT_LEAST_ONCE)
    policy, after = replace(REPEATABLE, evidence_grace=timedelta(hours=1)), REPEATABLE.repeatable - MINUTE
    assert lost_answer(digest, policy, after=after).next_attempt_at == NOW + after + policy.evidence_grace


@pytest.mark.parametrize("verb", ["retry", "release", "reject"])
def test_only_a_lost_answer_is_a_doubt(verb: str) -> None:
    assert VERBS[verb](a_delivery(Status.IN_FLIGHT)).doubted_at is None
