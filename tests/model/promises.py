"""What is promised of every change of a delivery, and of every state, held against what really was."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from ledgermail.delivering.eligibility import Expire
from ledgermail.delivering.outcomes import Accepted, Rejected
from ledgermail.ledger.delivery import Delivery, Status, from_document, to_document
from ledgermail.ledger.transitions import EMAIL, WEBHOOK
from tests.model.hand import Act, Finding, Hand, Truth
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
    what_is_on_record_stays_so(truth, before, after, act)
    it_is_looked_after_in_time(truth, before, after, act, now)
    the_webhook_is_not_forgotten(truth, before, after, act, hand, now)
    if act is Act.OPERATE and EMAIL in after.stages and EMAIL not in before.stages:
        assert truth.doubted_at, "only what may have been sent can be settled by hand"
    if after.status is not before.status:
        nothing_ends_early(truth, before, after, now)
    if act is Act.ANSWER and hand is not None and not isinstance(hand.outcome, Accepted | None):
        assert after.last_error == hand.outcome.failure, "it says why"
    if after.status is Status.PENDING and before.status is not Status.PENDING:
        assert after.generation > before.generation, "a wake-up is a new generation"
    assert from_document(after.id, to_document(after)) == after, "what is written is read"


def a_claim_is_its_holders(
    truth: Truth, before: Delivery, after: Delivery, act: Act, hand: Hand | None, now: datetime
) -> None:
    if hand is not None and act in {Act.CLAIM, Act.CLOSE}:
        assert hand.epoch == truth.epoch, "what was read before an operator opened it again counts no more"
    if act is Act.ANSWER:
        assert hand is truth.claims[-1], "a claim that was taken over changes nothing"
        assert hand.epoch == truth.epoch or isinstance(hand.outcome, Accepted), "opened again, only a yes still counts"
    elif before.status is Status.IN_FLIGHT and act is Act.SWEEP:
        assert now >= truth.claims[-1].lease_end, "upkeep waits for the lease's end"
    elif before.status is Status.IN_FLIGHT:
        assert act is Act.PROOF, f"what is claimed was changed by {act}"
        assert after.claim_id == before.claim_id, "evidence leaves the claim alone"
    if after.status is Status.IN_FLIGHT and before.status is not Status.IN_FLIGHT:
        assert act is Act.CLAIM, f"{act} claimed it"


def what_has_ended_stays_so(before: Delivery, after: Delivery, act: Act, hand: Hand | None) -> None:
    if before.unfinished:
        return
    if before.status is after.status:
        assert act in {Act.PROOF, Act.OPERATE}, f"what has ended was written again by {act}"
        assert after.settled_at == before.settled_at, "it ends once"
        return
    assert before.status is not Status.ACCEPTED, "accepted is the end"
    outcome = hand.outcome if hand else None
    proves = act in {Act.PROOF, Act.OPERATE} or (act is Act.ANSWER and isinstance(outcome, Accepted))
    denies = before.status is Status.UNKNOWN and act is Act.ANSWER and isinstance(outcome, Rejected)
    allowed = {Status.ACCEPTED: proves, Status.REJECTED: denies, Status.PENDING: act is Act.OPERATE}
    assert allowed.get(after.status), f"{before.status} became {after.status} by {act}"


def what_is_on_record_stays_so(truth: Truth, before: Delivery, after: Delivery, act: Act) -> None:
    """Which stages are done, and what the mail is about: until an operator opens it again, which is a new beginning."""
    if after.unfinished and not before.unfinished:
        assert after.content is None, "its items are read anew"
        assert not after.stages, "all is done anew"
        assert after.next_attempt_at is None, "it is due at once"
        return
    is_sent = after.status is Status.IN_FLIGHT and EMAIL not in after.stages
    assert after.content is not None or not is_sent, "what is sent is on record before"
    if before.content is not None:
        assert after.content is not None, "what the mail was about is forgotten"
        assert after.content.hash == before.content.hash, "the mail is about something else"
    for name, stage in before.stages.items():
        now_said = after.stages[name]
        if now_said != stage:
            assert name == EMAIL, "what is done is not done again"
            assert act in {Act.PROOF, Act.OPERATE}, f"what is proved was proved again by {act}"
            assert (now_said.at, now_said.reference) < (stage.at, stage.reference), "only an earlier proof is better"
            assert not truth.answered, "no proof is better than the claim's own answer"
            assert not (truth.mailing.webhook and before.unfinished), "the customer may have been told already"


def it_is_looked_after_in_time(truth: Truth, before: Delivery, after: Delivery, act: Act, now: datetime) -> None:
    policy = truth.mailing.policy
    if after.status is Status.IN_FLIGHT:
        assert after.wake_at == after.lease_expires_at == truth.claims[-1].lease_end, "upkeep comes at the lease's end"
    if act is Act.SWEEP and before.status is Status.PENDING:
        assert now >= (truth.not_before or truth.opened_at) + policy.slack, "its task may still come"
    if after.wake_at is not None:
        assert after.wake_at <= now + max(LONGEST, policy.evidence_grace) + policy.slack + SKEW, (
            "wake_at is too far off"
        )


def the_webhook_is_not_forgotten(
    truth: Truth, before: Delivery, after: Delivery, act: Act, hand: Hand | None, now: datetime
) -> None:
    """With the email on record it is owed, and all that ends without it is what an operator or the user wants to end."""
    if not truth.mailing.webhook or not before.unfinished or after.status is not Status.ACCEPTED:
        return
    is_told = False
    if act is Act.ANSWER and hand is not None and hand.attempt is not None:
        has_none = hand.attempt.webhook is None and isinstance(hand.outcome, Accepted)
        is_told = hand.attempt.stage == WEBHOOK or has_none
    is_called_off = act is Act.OPERATE or (
        act is Act.CLOSE and hand is not None and not isinstance(hand.verdict, Expire)
    )
    assert is_told or is_called_off or is_late(truth, before, now), f"the webhook was forgotten by {act}"


def nothing_ends_early(truth: Truth, before: Delivery, after: Delivery, now: datetime) -> None:
    """For a while, or as long as its provider knows a repeated request for one, it is tried again."""
    if after.status is Status.EXPIRED:
        assert not (truth.only_once and truth.doubted_at), "what is in doubt is unknown, not expired"
        assert is_late(truth, before, now), "it has seven days"
    if after.status is Status.UNKNOWN:
        is_known = now + LONGEST < truth.starts[0] + truth.mailing.policy.repeatable
        assert not is_known, "the provider would know it"


def is_late(truth: Truth, before: Delivery, now: datetime) -> bool:
    """Whether its last day has passed, or will have when the attempt after this one is due."""
    return now >= truth.starts[0] + LAST_DAY - (LONGEST if before.status is Status.IN_FLIGHT else timedelta())


def hold_for_answer(truth: Truth, after: Delivery, hand: Hand) -> None:
    """An answer under the last claim counts, however late."""
    is_of_webhook = hand.attempt is not None and hand.attempt.stage == WEBHOOK
    if isinstance(hand.outcome, Rejected) and hand.epoch == truth.epoch and truth.proved == is_of_webhook:
        assert not after.unfinished, "what was refused is not tried again"
        assert after.status is not Status.UNKNOWN, "what was refused is not in doubt"


def hold_for_claim(truth: Truth, hand: Hand, stage: str, keys: bool, now: datetime) -> None:
    """What is claimed may be tried: not yet known to be taken, no sooner than agreed, at most once without doubt."""
    assert stage == WEBHOOK or hand.finding is not Finding.UNWANTED, "whoever does not want it gets none"
    assert hand.read_at <= truth.starts[1] + LAST_DAY, "its last day has passed"
    assert truth.not_before is None or hand.read_at + SKEW >= truth.not_before, "it was claimed before its time"
    assert truth.proved == (stage == WEBHOOK), "the email comes first, and only once"
    if stage == EMAIL:
        for earlier in truth.in_doubt():
            is_over = earlier.is_lost or now >= earlier.lease_end - SKEW
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
    assert delivery.doubted_at == truth.doubted_at, "a doubt is on record from its beginning until it is settled"
    assert delivery.attempt == truth.tries, "each attempt is counted"
    assert delivery.attempt or delivery.first_attempt_at is None, "without an attempt there is no first one"
    assert delivery.events == truth.heard, "the earliest event of each type is kept"
    if truth.proved:
        assert mails or truth.vouched, "nothing is accepted that was not taken"
        assert not delivery.unfinished or truth.mailing.webhook, "only a webhook is owed after the email"
    if delivery.status is Status.UNKNOWN:
        assert truth.only_once, "at least once is never given up for a doubt"
        assert truth.doubted_at, "unknown only where an answer was lost"
    if delivery.first_attempt_at is not None:
        assert delivery.first_attempt_at >= truth.opened_at, "its last day is counted from when it was opened again"
    if truth.claims:
        assert delivery.first_claimed_at == truth.claims[0].read_at, "the first claim is on record"
    if delivery.settled_at is not None:
        assert delivery.content is None or delivery.content.items is None, "the items are kept no longer than needed"
        assert delivery.prune_at == delivery.settled_at + truth.mailing.policy.kept(delivery.status), (
            "its facts are kept"
        )
        assert delivery.last_error or delivery.status is Status.ACCEPTED, "it says why"


def hold_when_all_is_heard(truth: Truth, delivery: Delivery, mails: Sequence[Mail]) -> None:
    """Once all events have come, in whatever order, what they prove is the first of the mails."""
    if mails and not truth.answered:
        assert delivery.stages[EMAIL].at <= min(mail.at for mail in mails), "the earliest proof is on record"
