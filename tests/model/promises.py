"""What is promised of every change of a delivery, and of every state, held against what really was."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from ledgermail.delivering.outcomes import Accepted, Rejected
from ledgermail.ledger.delivery import Delivery, Status, from_document, to_document
from ledgermail.ledger.transitions import EMAIL, WEBHOOK
from tests.model.hand import Act, Hand, Truth
from tests.model.provider import KNOWN, Mail
from tests.samples import LEASE

SKEW = timedelta(seconds=2)  # by which clocks may differ
PATIENCE = timedelta(minutes=10)  # how old what a worker has read can be when it acts on it
LONGEST = timedelta(hours=6)  # the longest delay of a retry
LAST_DAY = timedelta(days=7)


def hold_for_change(
    truth: Truth, before: Delivery, after: Delivery, act: Act, hand: Hand | None, now: datetime
) -> None:
    """Who did this might do it, and then."""
    a_claim_is_its_holders(truth, before, after, act, hand, now)
    what_has_ended_stays_so(before, after, act, hand)
    it_is_looked_after_in_time(truth, after, now)
    if after.status is Status.EXPIRED and before.status is not Status.EXPIRED:
        nothing_expires_early(truth, now)
    if after.status is Status.PENDING and before.status is not Status.PENDING:
        assert after.generation > before.generation, "a wake-up is a new generation"
    assert from_document(after.id, to_document(after)) == after, "what is written is read"


def a_claim_is_its_holders(
    truth: Truth, before: Delivery, after: Delivery, act: Act, hand: Hand | None, now: datetime
) -> None:
    if act is Act.ANSWER:
        assert hand is truth.claims[-1], "a claim that was taken over changes nothing"
    elif before.status is Status.IN_FLIGHT and act is Act.SWEEP:
        assert now >= truth.claims[-1].lease_end, "upkeep waits for the lease's end"
    elif before.status is Status.IN_FLIGHT:
        assert act is Act.PROOF, f"what is claimed was changed by {act}"
        assert after.claim_id == before.claim_id, "evidence leaves the claim alone"
    if after.status is Status.IN_FLIGHT and before.status is not Status.IN_FLIGHT:
        assert act is Act.CLAIM, f"{act} claimed it"


def what_has_ended_stays_so(before: Delivery, after: Delivery, act: Act, hand: Hand | None) -> None:
    if before.unfinished or before.status is after.status:
        return
    assert before.status is not Status.ACCEPTED, "accepted is the end"
    outcome = hand.outcome if hand else None
    proves = act in {Act.PROOF, Act.OPERATE} or (act is Act.ANSWER and isinstance(outcome, Accepted))
    denies = before.status is Status.UNKNOWN and act is Act.ANSWER and isinstance(outcome, Rejected)
    allowed = {Status.ACCEPTED: proves, Status.REJECTED: denies, Status.PENDING: act is Act.OPERATE}
    assert allowed.get(after.status), f"{before.status} became {after.status} by {act}"


def it_is_looked_after_in_time(truth: Truth, after: Delivery, now: datetime) -> None:
    policy = truth.mailing.policy
    if after.wake_at is not None:
        assert after.wake_at <= now + max(LONGEST, policy.evidence_grace) + policy.slack + SKEW, (
            "wake_at is too far off"
        )


def nothing_expires_early(truth: Truth, now: datetime) -> None:
    assert not (truth.only_once and truth.doubted_at), "what is in doubt is unknown, not expired"
    assert now >= truth.opened_at + LAST_DAY - LONGEST - PATIENCE, "it has seven days"


def hold_for_claim(truth: Truth, hand: Hand, stage: str, keys: bool) -> None:
    """What is claimed may be tried: not yet known to be taken, no sooner than agreed, at most once without doubt."""
    assert truth.not_before is None or hand.read_at + SKEW >= truth.not_before, "it was claimed before its time"
    assert truth.proved == (stage == WEBHOOK), "the email comes first, and only once"
    if stage == EMAIL:
        for earlier in truth.in_doubt():
            is_over = earlier.is_lost or hand.read_at >= earlier.lease_end - SKEW
            assert is_over, "two workers hold it at once"
            if truth.only_once:
                assert keys, "at most once: nothing in doubt is tried again"
                assert hand.read_at + LEASE < earlier.read_at + KNOWN, "at most once: the key is not known any more"


def hold_for_mails(truth: Truth, mails: Sequence[Mail]) -> None:
    """At most once: one mail each time an operator opened it. At least once: another only where the one before was in doubt."""
    order = {hand: number for number, hand in enumerate(truth.claims)}
    by_claim = sorted((mail.hand for mail in mails), key=order.__getitem__)
    for number, later in enumerate(by_claim):
        for earlier in by_claim[:number]:
            if earlier.epoch == later.epoch:
                assert not truth.only_once, "at most once: it went out twice"
                assert earlier in later.excused, "at least once: it went out twice without a doubt"


def hold_for_state(truth: Truth, delivery: Delivery, mails: Sequence[Mail]) -> None:
    """What stands on record is what is known."""
    assert (EMAIL in delivery.stages) == truth.proved, "the email is on record iff it is known to be taken"
    assert (delivery.status is Status.ACCEPTED) == (truth.proved and not delivery.unfinished), "accepted iff proved"
    assert (delivery.doubted_at is not None) == (truth.doubted_at is not None), (
        "a doubt is on record until it is settled"
    )
    assert delivery.events == truth.heard, "the earliest event of each type is kept"
    if truth.proved:
        assert mails or truth.vouched, "nothing is accepted that was not taken"
        assert not delivery.unfinished or truth.mailing.webhook, "only a webhook is owed after the email"
    if delivery.status is Status.UNKNOWN:
        assert truth.only_once, "at least once is never given up for a doubt"
        assert truth.doubted_at, "unknown only where an answer was lost"
    assert (delivery.wake_at is not None) == delivery.unfinished
