"""What may have been sent is never called unsent, and what the provider tells is told whatever else is still owed."""

from dataclasses import replace
from typing import Any

import pytest

from ledgermail.ledger import overrides, transitions
from ledgermail.ledger.delivery import Delivery, Failure, Guarantee
from ledgermail.ledger.policy import Policy
from ledgermail.ledger.transitions import WEBHOOK
from ledgermail.support.audits import Entry
from ledgermail.support.explain import Why
from tests.samples import LEASE, NOW, REFUSED, a_mailing
from tests.unit.test_explain import AT, LOST, MINUTE, claimed, doubted, retried, told

LATER: dict[str, Any] = {"now": NOW + MINUTE, "policy": Policy()}
MAYBE = f"may have been sent on {AT.format('11:30')}"
DOUBTED = doubted(Guarantee.AT_LEAST_ONCE)


def again(delivery: Delivery) -> Delivery:
    """Claimed anew when its next attempt is due."""
    at = delivery.next_attempt_at or NOW
    return transitions.claim(delivery, claim_id="c2", content=delivery.content, now=at, lease=LEASE)


@pytest.mark.parametrize(
    ("ended", "why"),
    [
        (overrides.cancel(DOUBTED, **LATER), Why.CANCELLED),
        (transitions.suppress(DOUBTED, failure=Failure(category="unsubscribed"), **LATER), Why.UNSUBSCRIBED),
        (transitions.suppress(DOUBTED, failure=Failure(category="no_user"), **LATER), Why.SUPPRESSED),
        (transitions.refuse(DOUBTED, failure=Failure(category="content"), **LATER), Why.REJECTED),
        (transitions.reject(again(DOUBTED), claim_id="c2", failure=REFUSED, **LATER), Why.REJECTED),
    ],
)
def test_what_ended_while_it_was_in_doubt_may_have_been_sent(ended: Delivery, why: Why) -> None:
    explained = told(ended)
    assert explained.why is why
    assert explained.sentence.startswith("Nobody knows: ")
    assert explained.sentence.endswith(f"; it {MAYBE}.")


def test_a_refusal_that_comes_late_says_that_the_only_attempt_sent_nothing() -> None:
    refused = transitions.reject(DOUBTED, claim_id="c1", failure=REFUSED, **LATER)
    assert told(refused).sentence.startswith("No: ")


def test_a_second_attempt_under_way_does_not_make_the_first_one_certain() -> None:
    for minutes, words in ((6, "is being sent right now, as attempt 2"), (60, "gave no answer until")):
        sentence = told(again(DOUBTED), now=NOW + minutes * MINUTE).sentence
        assert sentence.startswith("Nobody knows yet: ")
        assert MAYBE in sentence
        assert words in sentence


def test_what_was_unknown_and_is_refused_when_it_is_tried_again_may_have_been_sent_before() -> None:
    opened = overrides.reopen(doubted(Guarantee.AT_MOST_ONCE), **LATER)
    refused = transitions.refuse(opened, failure=Failure(category="content"), now=NOW + 2 * MINUTE, policy=Policy())
    acts = [Entry(id="1", at=NOW + MINUTE, who="ada", action="retry", before="unknown", after="pending")]
    sentence = told(refused, acts=acts).sentence
    assert sentence.startswith("Nobody knows: ")
    assert sentence.endswith(f"it may have been sent before ada had it tried again on {AT.format('11:31')}.")
    acts = [Entry(id="1", at=NOW + MINUTE, who="ada", action="retry", before="rejected", after="pending")]
    assert told(refused, acts=acts).sentence.startswith("No: ")


@pytest.mark.parametrize(
    ("kind", "why", "answer"),
    [("delivered", Why.DELIVERED, "Yes"), ("bounce", Why.BOUNCED, "No"), ("dropped", Why.DROPPED, "No")],
)
def test_what_became_of_the_mail_is_told_while_its_webhook_is_still_owed(kind: str, why: Why, answer: str) -> None:
    mailed = transitions.record_email(claimed(), claim_id="c1", reference="m1", now=NOW, policy=Policy())
    owed = transitions.doubt(mailed, claim_id="c1", failure=LOST, now=NOW, policy=Policy(), delay=5 * MINUTE)
    for delivery, words in ((owed, "telling the customer's webhook is due on"), (mailed, "webhook is being told")):
        explained = told(delivery.changed(events={kind: NOW + MINUTE}))
        assert explained.why is why
        assert explained.sentence.startswith(f"{answer}: ")
        assert words in explained.sentence
        assert told(delivery).sentence.startswith("Probably: ")


def test_who_has_no_webhook_is_not_told_of_one_that_failed_where_the_mail_did_at_first() -> None:
    mailing = replace(a_mailing(), webhook=True)
    facts: dict[str, Any] = {"reference": "m1", "policy": Policy()}
    second = again(retried())
    taken = transitions.accept(second, claim_id="c2", now=NOW + 6 * MINUTE, **facts)
    assert "webhook" not in told(taken, mailing=mailing).sentence
    mailed = transitions.record_email(second, claim_id="c2", now=NOW + 6 * MINUTE, **facts)
    gone = Failure(category="rejected", code="410")
    refused: dict[str, Any] = {"failure": gone, "stage": WEBHOOK, "now": NOW + 7 * MINUTE, "policy": Policy()}
    failed = transitions.reject(mailed, claim_id="c2", **refused)
    assert "webhook was not told: the webhook refuses it for good (410)" in told(failed, mailing=mailing).sentence
