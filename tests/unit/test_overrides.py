"""What an operator may ask of a delivery: every status and verb."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from ledgermail.errors import ClaimLost, WrongStatus
from ledgermail.ledger import transitions
from ledgermail.ledger.delivery import Delivery, Guarantee, Stage, Status, to_document
from ledgermail.ledger.overrides import REOPENABLE, cancel, reopen, vouch
from ledgermail.ledger.policy import Policy
from tests.samples import ITEMS, LEASE, NOW, REFUSED, a_delivery

POLICY = Policy()
MONTH_LATER = NOW + timedelta(days=30)
S = Status
TABLE: dict[Callable[..., Delivery], dict[Status, Status]] = {
    reopen: dict.fromkeys(REOPENABLE, S.PENDING),
    cancel: {S.PENDING: S.CANCELLED, S.CANCELLED: S.CANCELLED},
    vouch: {S.UNKNOWN: S.ACCEPTED},
}


@pytest.mark.parametrize("verb", TABLE)
@pytest.mark.parametrize("status", list(Status))
def test_every_status_and_override(verb: Callable[..., Delivery], status: Status) -> None:
    delivery = a_delivery(status)
    if status not in TABLE[verb]:
        with pytest.raises(WrongStatus, match=f"^{status}: only "):
            verb(delivery, now=MONTH_LATER, policy=POLICY)
        return
    changed = verb(delivery, now=MONTH_LATER, policy=POLICY)
    assert changed.status is TABLE[verb][status]
    assert verb(changed, now=MONTH_LATER, policy=POLICY) == changed  # a commit whose answer was lost is settled so


def test_a_webhook_that_was_called_off_is_so_when_the_answer_was_lost_and_it_is_asked_again() -> None:
    """Its mail is on record, so it ends as accepted."""
    owed = a_delivery(stages={transitions.EMAIL: Stage(at=NOW, reference="m1")})
    cancelled = cancel(owed, now=MONTH_LATER, policy=POLICY)
    assert cancelled.status is Status.ACCEPTED
    assert cancel(cancelled, now=MONTH_LATER, policy=POLICY) == cancelled


@pytest.mark.parametrize("guarantee", list(Guarantee))
@pytest.mark.parametrize("status", sorted(REOPENABLE))
def test_what_is_opened_again_can_be_sent_however_long_ago_it_was_due(status: Status, guarantee: Guarantee) -> None:
    ended = a_delivery(status, guarantee=guarantee, doubted_at=NOW, first_attempt_at=NOW)
    opened = reopen(ended, now=MONTH_LATER, policy=POLICY)
    assert not transitions.is_over(opened, MONTH_LATER, POLICY)
    assert to_document(opened)["unfinished_since"] == MONTH_LATER  # it is not a month late
    claimed = transitions.claim(opened, claim_id="c2", content=None, now=MONTH_LATER, lease=LEASE)
    assert claimed.status is Status.IN_FLIGHT
    assert claimed.attempt == ended.attempt + 1


def test_a_late_answer_to_the_claim_before_is_still_proof() -> None:
    opened = reopen(a_delivery(Status.UNKNOWN), now=MONTH_LATER, policy=POLICY)
    proven = transitions.accept(opened, claim_id="c1", reference="m1", now=MONTH_LATER, policy=POLICY)
    assert proven.status is Status.ACCEPTED


def test_a_late_no_to_the_claim_before_does_not_end_it_again() -> None:
    """The reason for it may be gone: whoever asked wants it tried."""
    opened = reopen(a_delivery(Status.UNKNOWN, first_attempt_at=NOW), now=MONTH_LATER, policy=POLICY)
    assert transitions.reject(opened, claim_id="c1", failure=REFUSED, now=MONTH_LATER, policy=POLICY) == opened


def test_what_is_opened_again_reads_its_items_anew() -> None:
    """Those that were frozen went when it ended."""
    assert a_delivery().content is not None
    assert ITEMS
    assert reopen(a_delivery(Status.REJECTED), now=MONTH_LATER, policy=POLICY).content is None


def test_a_digest_in_doubt_that_somebody_saw_arrive_is_not_tried_again() -> None:
    waiting = a_delivery(guarantee=Guarantee.AT_LEAST_ONCE, doubted_at=NOW, attempt=1)
    assert vouch(waiting, now=MONTH_LATER, policy=POLICY).status is Status.ACCEPTED


def test_what_a_worker_holds_is_not_settled_by_hand() -> None:
    held = a_delivery(Status.IN_FLIGHT, guarantee=Guarantee.AT_LEAST_ONCE, doubted_at=NOW)
    with pytest.raises(WrongStatus, match="in_flight"):
        vouch(held, now=MONTH_LATER, policy=POLICY)


def test_what_was_called_off_and_opened_again_can_be_called_off_again() -> None:
    opened = reopen(cancel(a_delivery(), now=NOW, policy=POLICY), now=MONTH_LATER, policy=POLICY)
    assert cancel(opened, now=MONTH_LATER, policy=POLICY).status is Status.CANCELLED


def test_who_read_it_before_it_was_opened_again_does_not_end_it() -> None:
    """Two workers find the last day passed; one writes that down, an operator opens it again, and then comes the other."""
    late = NOW + timedelta(days=8)
    expired = transitions.expire(a_delivery(), now=late, policy=Policy())
    opened = reopen(expired, now=late + timedelta(seconds=1), policy=Policy())
    with pytest.raises(ClaimLost):
        transitions.expire(opened, now=late, policy=Policy())
