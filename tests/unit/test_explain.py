"""What became of a delivery, in one plain sentence: every status and every fate of its events has one."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from ledgermail.delivering.outcomes import Kind
from ledgermail.events.events import RANKS
from ledgermail.events.suppression import Reason
from ledgermail.ledger import evidence, overrides, transitions
from ledgermail.ledger.delivery import Delivery, Failure, Guarantee, Stage, Status
from ledgermail.ledger.policy import Policy
from ledgermail.support.audits import Entry
from ledgermail.support.explain import FATES, Explained, Why, explain
from ledgermail.support.history import EVENTS, history
from ledgermail.support.wording import FAILURES, SUPPRESSIONS, failure_in_words
from tests.samples import LEASE, NOW, REFUSED, a_delivery, a_mailing, a_user

OVER = NOW + timedelta(days=8)  # past the last day

MINUTE = timedelta(minutes=1)
LOST = Failure(category="ambiguous", code="ReadTimeout")
BUSY = Failure(category="transient", code="503", detail="busy")
SUBJECT = '"Job alert" about j1 for u1'
AT = "Sun 16 Aug 2026, {} Europe/Berlin"


def told(delivery: Delivery, *, acts: Sequence[Entry] = (), held: str = "", **changes: Any) -> Explained:
    """The sentence, a minute later, to somebody in Berlin."""
    facts: dict[str, Any] = {"user": a_user(timezone="Europe/Berlin"), "mailing": a_mailing(), "now": NOW + MINUTE}
    return explain(delivery, acts=acts, held=held, **(facts | changes))


def claimed(**changes: Any) -> Delivery:
    delivery = a_delivery(**changes)
    return transitions.claim(delivery, claim_id="c1", content=delivery.content, now=NOW, lease=LEASE)


def accepted(**events: float) -> Delivery:
    """Taken at 11:30 in Berlin, with these events so many minutes later."""
    taken = transitions.accept(claimed(), claim_id="c1", reference="m1", now=NOW, policy=Policy())
    return taken.changed(events={kind: NOW + minutes * MINUTE for kind, minutes in events.items()})


def suppressed(category: str, detail: str = "") -> Delivery:
    failure = Failure(category=category, detail=detail)
    return transitions.suppress(a_delivery(), failure=failure, now=NOW, policy=Policy())


def retried(failure: Failure = BUSY) -> Delivery:
    return transitions.retry(
        claimed(), claim_id="c1", failure=failure, now=NOW, policy=Policy(), delay=timedelta(minutes=5)
    )


def doubted(guarantee: Guarantee) -> Delivery:
    held = replace(claimed(), guarantee=guarantee)
    return transitions.doubt(held, claim_id="c1", failure=LOST, now=NOW, policy=Policy(), delay=timedelta(minutes=5))


NEW = a_delivery()
REJECTED = transitions.reject(claimed(), claim_id="c1", failure=REFUSED, now=NOW, policy=Policy())
CASES = [
    (a_delivery(due_at=NOW + 60 * MINUTE), Why.NOT_YET_DUE, f"Not yet: {SUBJECT} is due on {AT.format('12:30')}."),
    (NEW, Why.WAITING, f"Not yet: {SUBJECT} is due since {AT.format('11:30')} and waits for its turn."),
    (claimed(), Why.SENDING, f"Not yet: {SUBJECT} is being sent right now, as attempt 1, by a worker that has until "),
    (retried(), Why.RETRYING, f"Not yet: {SUBJECT} was not sent after 1 attempt: the provider could not be reached or "),
    (retried(), Why.RETRYING, f"(503 busy); the next attempt is due on {AT.format('11:35')}."),
    (doubted(Guarantee.AT_LEAST_ONCE), Why.RETRYING, f"Nobody knows yet: {SUBJECT} may have been sent on "),
    (doubted(Guarantee.AT_MOST_ONCE), Why.UNKNOWN, f"Nobody knows: {SUBJECT} may have been sent, and is never sent twice"),
    (accepted(), Why.ACCEPTED, f"Probably: {SUBJECT} was taken by the provider on {AT.format('11:30')}; whether it was"),
    (accepted(processed=1), Why.ACCEPTED, "whether it was delivered is not told yet."),
    (accepted(delivered=4), Why.DELIVERED, f"Yes: {SUBJECT} was delivered on {AT.format('11:34')}."),
    (accepted(delivered=4, open=9), Why.DELIVERED, f" on {AT.format('11:34')}; it was opened on {AT.format('11:39')}."),
    (accepted(processed=1, bounce=2), Why.BOUNCED, f"; it bounced on {AT.format('11:32')}: the recipient's server refuses"),
    (accepted(dropped=2), Why.DROPPED, f"No: {SUBJECT} was taken by the provider on {AT.format('11:30')}; the provider drop"),
    (accepted(deferred=2), Why.DEFERRED, f"Not yet: {SUBJECT} was taken by the provider on {AT.format('11:30')}; the recip"),
    (accepted(delivered=1, spamreport=2), Why.COMPLAINED, f"Yes: {SUBJECT} was delivered on {AT.format('11:31')}; the recip"),
    (REJECTED, Why.REJECTED, f"{SUBJECT} was not sent, on {AT.format('11:30')}: the provider refuses it for good (400 no)."),
    (suppressed("unsubscribed"), Why.UNSUBSCRIBED, "the recipient had this mailing switched off."),
    (suppressed("suppressed", "bounce"), Why.SUPPRESSED, "must not be mailed: mail to the address had bounced."),
    (suppressed("no_user"), Why.SUPPRESSED, "there was no such user any more."),
    (transitions.empty(NEW, now=NOW, policy=Policy()), Why.EMPTY, "there was nothing to say."),
    (transitions.expire(retried(), now=OVER, policy=Policy()), Why.EXPIRED, "after 1 attempt: the last day for an attempt had"),
]  # fmt: skip


@pytest.mark.parametrize(("delivery", "why", "words"), CASES)
def test_what_became_of_it_is_one_plain_sentence_in_the_recipients_zone(
    delivery: Delivery, why: Why, words: str
) -> None:
    explained = told(delivery)
    assert explained.why is why
    assert words in explained.sentence
    assert explained.sentence.endswith(".")


def test_who_called_it_off_and_who_vouched_for_it_is_named() -> None:
    entry = Entry(id="1", at=NOW, who="ada", action="cancel", note="asked by phone")
    cancelled = overrides.cancel(NEW, now=NOW, policy=Policy())
    assert f"was called off by ada on {AT.format('11:30')} (asked by phone)." in told(cancelled, acts=[entry]).sentence
    vouched = overrides.vouch(doubted(Guarantee.AT_MOST_ONCE), now=NOW + MINUTE, policy=Policy())
    said = told(vouched, acts=[Entry(id="2", at=NOW + MINUTE, who="bob", action="settle")])
    assert said.sentence == f"Yes: {SUBJECT} has arrived, as bob said on {AT.format('11:31')}."


def test_what_an_operator_opened_again_says_so_until_it_is_tried() -> None:
    opened = overrides.reopen(REJECTED, now=NOW, policy=Policy())
    acts = [Entry(id="1", at=NOW, who="ada", action="retry")]
    assert f"since ada had it tried again on {AT.format('11:30')}" in told(opened, acts=acts).sentence


def test_a_mail_that_is_held_back_says_by_what() -> None:
    assert told(NEW, held="all mail is held back: an operator has paused it").sentence.endswith(
        "waits for its turn; all mail is held back: an operator has paused it."
    )


def test_a_lost_answer_that_an_event_outweighs_is_told_as_proven() -> None:
    seen = {"processed": NOW + MINUTE}
    facts: dict[str, Any] = {"proof": Stage(at=NOW + MINUTE, reference="m1"), "webhook": False, "policy": Policy()}
    proven = evidence.observe(doubted(Guarantee.AT_MOST_ONCE), seen=seen, now=NOW + 2 * MINUTE, **facts)
    assert (
        f"taken by the provider on {AT.format('11:31')}, as was proven on {AT.format('11:32')}" in told(proven).sentence
    )
    assert [words for _, words in history(proven)][-3:] == [
        "taken by the provider",
        "the provider is sending it",
        "proven to have been taken by the provider",
    ]


def test_without_a_user_times_are_utc_and_without_a_mailing_its_name_stands_for_its_title() -> None:
    sentence = told(accepted(), user=None, mailing=None).sentence
    assert '"job-alert" about j1 for u1' in sentence
    assert "Sun 16 Aug 2026, 09:30 UTC" in sentence


def test_a_report_is_named_by_its_date_and_topic() -> None:
    subject = "shipment-digest:2026-08-16T07%3A00:high%20school"
    report = a_delivery(mailing="shipment-digest", subject=subject, period_start=NOW, period_end=NOW)
    assert '"shipment-digest" of 2026-08-16 at 07:00, high school for u1' in told(report, mailing=None).sentence


def test_every_event_has_words() -> None:
    assert set(FATES) == set(EVENTS) == set(RANKS)


def test_every_category_of_failure_and_every_reason_of_a_suppression_has_words() -> None:
    assert {kind.value for kind in Kind} - {"accepted"} <= set(FAILURES)
    assert {str(reason) for reason in Reason} == set(SUPPRESSIONS)
    own = [transitions.LEASE_ENDED, transitions.TOO_LATE, transitions.NOTHING, overrides.CANCELLED]
    assert {failure.category for failure in own} <= set(FAILURES)
    assert failure_in_words(Failure(category="newer", code="1", detail="x")) == "newer (1 x)"


def test_the_steps_stand_in_their_order_with_what_comes_next_at_the_end() -> None:
    assert [words for _, words in history(retried())] == [
        "planned by job-alert:2026-08-16",
        "claimed by a worker",
        "its content was fixed",
        "the next attempt: the provider could not be reached or was not ready (503 busy)",
    ]


def test_events_in_whole_seconds_do_not_come_before_the_mail_was_taken() -> None:
    late = NOW + timedelta(milliseconds=700)
    taken = accepted(delivered=0, processed=0).changed(stages={"email": Stage(at=late, reference="m1")})
    assert [words for _, words in history(taken)][-3:] == [
        "taken by the provider",
        "the provider is sending it",
        "delivered",
    ]


@pytest.mark.parametrize("status", list(Status))
def test_every_status_has_a_sentence_and_a_history(status: Status) -> None:
    assert told(a_delivery(status)).sentence.count(SUBJECT) == 1
    assert history(a_delivery(status))
