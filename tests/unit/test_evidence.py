"""Evidence: what proves acceptance, in any order, any number of copies, from any status."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledgermail.errors import ClaimLost
from ledgermail.ledger import transitions
from ledgermail.ledger.delivery import TERMINAL, Delivery, Failure, Guarantee, Stage, Status
from ledgermail.ledger.evidence import observe, prove
from ledgermail.ledger.policy import Policy
from ledgermail.ledger.transitions import EMAIL, WEBHOOK
from ledgermail.webhooks import webhook
from tests.samples import LEASE, NOW, REFUSED, a_delivery

POLICY = Policy()
LATER = NOW + timedelta(seconds=30)
LOST = Failure(category="ambiguous", code="ReadTimeout")
PROOF = Stage(at=NOW, reference="m1")

Seen = Mapping[str, datetime]


def seen(delivery: Delivery, events: Seen, *, reference: str = "m1", webhook: bool = False) -> Delivery:
    proof = Stage(at=min(events.values()), reference=reference)
    return observe(delivery, seen=events, proof=proof, webhook=webhook, now=LATER, policy=POLICY)


@pytest.mark.parametrize("status", list(Status))
def test_an_event_proves_that_the_mail_was_taken_whatever_we_made_of_the_silence(status: Status) -> None:
    proven = seen(a_delivery(status), {"processed": NOW})
    assert proven.status is Status.ACCEPTED
    assert proven.stages[EMAIL] == PROOF
    assert proven.events == {"processed": NOW}
    assert proven.evidence_at == LATER


@pytest.mark.parametrize("status", [Status.PENDING, Status.IN_FLIGHT])
def test_a_webhook_that_follows_is_still_owed(status: Status) -> None:
    proven = seen(a_delivery(status), {"processed": NOW}, webhook=True)
    assert proven.status is status
    swept = transitions.sweep(proven, now=NOW + timedelta(hours=1), policy=POLICY)
    assert swept.status is Status.PENDING  # an alert, and not unknown: the mail is on record
    with pytest.raises(ClaimLost):
        transitions.claim(swept, claim_id="c2", content=None, now=NOW + timedelta(hours=1), lease=LEASE)
    claimed = transitions.claim(
        swept, claim_id="c2", content=None, now=NOW + timedelta(hours=1), lease=LEASE, stage=WEBHOOK
    )
    assert claimed.status is Status.IN_FLIGHT


@pytest.mark.parametrize("status", [Status.PENDING, Status.IN_FLIGHT])
def test_a_refusal_of_an_attempt_leaves_the_webhook_of_the_mail_that_an_earlier_one_sent(status: Status) -> None:
    """The first attempt's answer was lost, its event comes while the second is under way, and that one is refused."""
    proven = seen(a_delivery(status, claim_id="c2", attempt=2), {"processed": NOW}, webhook=True)
    refused = transitions.reject(proven, claim_id="c2", failure=REFUSED, now=LATER, policy=POLICY)
    assert (refused.status, refused.attempt) == (Status.PENDING, 2)
    assert refused.stages[EMAIL] == PROOF
    told = transitions.claim(refused, claim_id="c3", content=None, now=LATER, lease=LEASE, stage=WEBHOOK)
    assert told.status is Status.IN_FLIGHT


def test_a_customer_who_may_have_been_told_is_told_the_same_when_an_earlier_event_comes_late() -> None:
    """The webhook keeps its event id, and so must keep its body."""
    proven = seen(a_delivery(Status.IN_FLIGHT), {"delivered": LATER}, webhook=True)
    told = webhook.body(proven)
    later = seen(proven, {"processed": NOW}, webhook=True)
    assert set(later.events) == {"delivered", "processed"}
    assert webhook.body(later) == told


@pytest.mark.parametrize("status", sorted(TERMINAL))
def test_what_has_ended_is_not_opened_again_for_a_webhook(status: Status) -> None:
    assert seen(a_delivery(status), {"delivered": NOW}, webhook=True).status is Status.ACCEPTED


def test_the_claim_that_was_answered_by_an_event_first_has_nothing_left_to_settle() -> None:
    """Events may come before the worker has written down what it sent."""
    proven = seen(a_delivery(Status.IN_FLIGHT), {"delivered": NOW})
    facts: dict[str, Any] = {"claim_id": "c1", "now": LATER, "policy": POLICY}
    assert transitions.accept(proven, reference="m1", **facts) == proven
    assert transitions.doubt(proven, failure=LOST, delay=LEASE, **facts) == proven
    assert transitions.retry(proven, failure=LOST, delay=LEASE, **facts) == proven
    assert transitions.reject(proven, failure=REFUSED, **facts) == proven


def test_the_answer_does_not_replace_the_event_that_was_faster_where_the_user_has_no_webhook() -> None:
    """Their mailing has one, so that the delivery is still in flight; a copy of the event must lead to the same, too."""
    proven = seen(a_delivery(Status.IN_FLIGHT), {"processed": NOW}, webhook=True)
    accepted = transitions.accept(proven, claim_id="c1", reference="m2", now=LATER, policy=POLICY)
    assert (accepted.status, accepted.stages[EMAIL]) == (Status.ACCEPTED, PROOF)
    assert seen(accepted, {"processed": NOW}, webhook=True) == accepted


def test_proof_of_the_same_mail_again_changes_nothing() -> None:
    accepted = transitions.accept(a_delivery(Status.IN_FLIGHT), claim_id="c1", reference="m1", now=LATER, policy=POLICY)
    assert prove(accepted, proof=PROOF, webhook=False, now=LATER, policy=POLICY) == accepted


TYPES = ["processed", "deferred", "delivered", "open", "click", "bounce", "dropped", "spamreport"]
MOMENTS = st.integers(min_value=0, max_value=50).map(lambda second: NOW + timedelta(seconds=second))
EVENTS = st.lists(st.tuples(st.sampled_from(TYPES), MOMENTS, st.sampled_from(["m1", "m2"])), min_size=1, max_size=8)


@given(
    EVENTS.flatmap(lambda events: st.tuples(st.just(events), st.permutations([*events, *events]))),
    st.sampled_from([Status.PENDING, Status.IN_FLIGHT, Status.UNKNOWN, Status.EXPIRED, Status.REJECTED]),
    st.sampled_from(list(Guarantee)),
    st.booleans(),
)
def test_any_order_and_any_copies_of_events_lead_to_the_same_delivery(
    events: tuple[list[tuple[str, datetime, str]], list[tuple[str, datetime, str]]],
    status: Status,
    guarantee: Guarantee,
    webhook: bool,
) -> None:
    """But for the time of a mail whose webhook is owed: that was perhaps told."""
    in_order, shuffled_copies = events
    start = a_delivery(status, guarantee=guarantee)
    ends = []
    for sequence in (in_order, shuffled_copies):
        delivery = start
        for kind, at, reference in sequence:
            delivery = seen(delivery, {kind: at}, reference=reference, webhook=webhook)
        ends.append(delivery.changed(stages={}) if webhook and delivery.unfinished else delivery)
    assert ends[0] == ends[1]
