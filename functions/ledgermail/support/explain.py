"""What became of one delivery, in one plain sentence. Pure: the documents and the time go in, words come out.

The sentence begins with the answer to "did they get it?": Yes, Probably (the provider took it), No, Not yet, Nobody knows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, assert_never
from zoneinfo import ZoneInfo

from ledgermail.events.events import fate
from ledgermail.ledger.delivery import Delivery, Status
from ledgermail.ledger.overrides import VOUCHED
from ledgermail.ledger.transitions import EMAIL, WEBHOOK, is_due
from ledgermail.mailing import Mailing
from ledgermail.support.wording import about, failure_in_words, outlook, when, zone_of

if TYPE_CHECKING:
    from ledgermail.support.audits import Entry


class Why(StrEnum):
    """The answer in one word, for programs."""

    ACCEPTED = "accepted"  # the provider took it, and has told no more
    DELIVERED = "delivered"
    DEFERRED = "deferred"  # the recipient's server asks the provider to try later
    BOUNCED = "bounced"
    BLOCKED = "blocked"
    DROPPED = "dropped"  # the provider took it and did not send it
    COMPLAINED = "complained"
    NOT_YET_DUE = "not_yet_due"
    WAITING = "waiting"  # due, and not yet tried
    RETRYING = "retrying"
    SENDING = "sending"
    REJECTED = "rejected"
    SUPPRESSED = "suppressed"
    UNSUBSCRIBED = "unsubscribed"
    EMPTY = "empty"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"  # it may have been sent, and never is again
    # There is no delivery:
    NO_USER = "no_user"
    SEVERAL_USERS = "several_users"
    NOT_A_SUBJECT = "not_a_subject"
    NOT_MATCHED = "not_matched"
    INVALID_MATCH = "invalid_match"
    TOO_OLD = "too_old"
    NOT_SCANNED = "not_scanned"
    PASSED_OVER = "passed_over"  # the scan has read past it: it was committed late
    NOT_WANTED = "not_wanted"
    NOTHING_DUE = "nothing_due"
    NOT_PLANNED = "not_planned"
    UNPUBLISHED = "unpublished"
    PLANNING = "planning"
    MISSED = "missed"
    JOINED_LATER = "joined_later"
    COVERED = "covered"  # a digest by another schedule had the same days
    PRUNED = "pruned"
    # There is one, and it cannot be read:
    UNREADABLE = "unreadable"


@dataclass(frozen=True)
class Explained:
    """The answer in one word and in one sentence."""

    why: Why
    sentence: str


@dataclass(frozen=True)
class Case:
    """A delivery and what explaining it needs; times are told in the zone of the recipient."""

    delivery: Delivery
    mailing: Mailing | None
    zone: ZoneInfo
    acts: Sequence["Entry"]
    held: str
    outlook: str
    now: datetime

    def told(self, why: Why, answer: str, words: str) -> Explained:
        """The sentence: its answer, what it is about, and what became of that."""
        subject = f"{about(self.delivery, self.mailing)} for {self.delivery.user_id}"
        return Explained(why, f"{answer}: {subject} {words}.")

    def at(self, moment: datetime | None) -> str:
        """A time in words; it is there by the rules of a delivery."""
        return when(moment, self.zone) if moment else "a time that is not on record"

    def attempts(self) -> str:
        """How many there were."""
        if self.delivery.attempt == 0:
            return "no attempt"
        return "1 attempt" if self.delivery.attempt == 1 else f"{self.delivery.attempt} attempts"


def explain(
    delivery: Delivery,
    *,
    user: Mapping[str, Any] | None,
    mailing: Mailing | None,
    acts: Sequence["Entry"] = (),
    held: str = "",
    now: datetime,
) -> Explained:
    """What became of a delivery, at `now`. `acts` are its audit, `held` says why no mail goes out at all, if that is so.

    `user` and `mailing` are None where there is none any more: times are then UTC, the title is the name.
    """
    zone = zone_of((user or {}).get("timezone"))
    case = Case(delivery, mailing, zone, acts, held, outlook(user, delivery.mailing), now)
    match delivery.status:
        case Status.PENDING:
            return _pending(case)
        case Status.IN_FLIGHT:
            return _in_flight(case)
        case Status.ACCEPTED:
            return _accepted(case)
        case Status.UNKNOWN:
            doubted = case.at(delivery.doubted_at or delivery.settled_at)
            reason = failure_in_words(delivery.last_error)
            words = f"may have been sent, and is never sent twice: on {doubted}, {reason}"
            return case.told(Why.UNKNOWN, "Nobody knows", words)
        case Status.REJECTED | Status.EXPIRED | Status.SUPPRESSED | Status.EMPTY | Status.CANCELLED:
            return _ended(case)
    assert_never(delivery.status)


def _pending(case: Case) -> Explained:
    delivery = case.delivery
    next_at = delivery.next_attempt_at or delivery.due_at
    due = is_due(delivery, case.now)
    turn = f"is due since {case.at(next_at)} and waits for its turn" if due else f"is due on {case.at(next_at)}"
    held = "".join(f"; {words}" for words in (case.held, case.outlook) if words)
    if EMAIL in delivery.stages:
        return _taken(case, Why.RETRYING, f"; telling the customer's webhook {turn}")
    again = f", since {_who(case, 'retry')} had it tried again on {case.at(delivery.reopened_at)}"
    opened = again if delivery.reopened_at else ""
    if delivery.last_error is None or (delivery.reopened_at and delivery.first_attempt_at is None):
        return case.told(Why.WAITING if due else Why.NOT_YET_DUE, "Not yet", f"{turn}{opened}{held}")
    after = f" after {case.attempts()}" if delivery.attempt else ""
    reason = failure_in_words(delivery.last_error)
    if delivery.doubted_at is not None:
        told = f"may have been sent on {case.at(delivery.doubted_at)}: {reason}; the next attempt"
        return case.told(Why.RETRYING, "Nobody knows yet", f"{told} {turn}, unless proof comes before{held}")
    return case.told(Why.RETRYING, "Not yet", f"was not sent{after}: {reason}; the next attempt {turn}{held}")


def _in_flight(case: Case) -> Explained:
    delivery = case.delivery
    lease = case.at(delivery.lease_expires_at)
    over = delivery.lease_expires_at is not None and delivery.lease_expires_at <= case.now
    if EMAIL in delivery.stages:
        return _taken(case, Why.SENDING, "; the customer's webhook is being told")
    maybe = f"may have been sent on {case.at(delivery.doubted_at)}, and " if delivery.doubted_at else ""
    if over:
        told = f"was to be sent by a worker that gave no answer until {lease}; the next sweep decides what follows"
        return case.told(Why.SENDING, "Nobody knows yet", f"{maybe}{told}")
    told = f"is being sent right now, as attempt {delivery.attempt}, by a worker that has until {lease}"
    return case.told(Why.SENDING, "Nobody knows yet" if maybe else "Not yet", f"{maybe}{told}")


def _accepted(case: Case) -> Explained:
    return _taken(case, Why.ACCEPTED, _webhook(case))


def _taken(case: Case, untold: Why, webhook: str) -> Explained:
    """The provider has it: what its events say, and what became of the webhook; `untold` where there are no events."""
    delivery, email = case.delivery, case.delivery.stages.get(EMAIL)
    vouched = email is not None and email.reference == VOUCHED
    taken_at = email.at if email else delivery.settled_at
    taken = f"was taken by the provider on {case.at(taken_at)}"
    if delivery.evidence_at and not vouched:
        taken += f", as was proven on {case.at(delivery.evidence_at)}"
    kind = fate(delivery.events)
    if vouched and kind is None:
        who = _who(case, "settle")
        return case.told(Why.ACCEPTED, "Yes", f"has arrived, as {who} said on {case.at(taken_at)}")
    if kind is None:
        return case.told(untold, "Probably", f"{taken}; {UNTOLD}{webhook}")
    why, answer, words = FATES[kind]
    delivered = delivery.events.get("delivered")
    told = words.format(at=case.at(delivery.events[kind]))
    if kind != "delivered":
        first = f"was delivered on {case.at(delivered)}" if answer == "Yes" and delivered else taken
        told = f"{first}; {told}"
    return case.told(why, answer, f"{told}{webhook}")


UNTOLD = "whether it was delivered is not told yet"
# The event that went furthest: what it means, whether they got the mail, and its words.
FATES: Mapping[str, tuple[Why, str, str]] = {
    "processed": (Why.ACCEPTED, "Probably", UNTOLD),
    "dropped": (Why.DROPPED, "No", "the provider dropped it on {at} without sending it"),
    "deferred": (Why.DEFERRED, "Not yet", "the recipient's server puts it off since {at}"),
    "blocked": (Why.BLOCKED, "No", "the recipient's server blocked it on {at}; the address may be sound"),
    "delivered": (Why.DELIVERED, "Yes", "was delivered on {at}"),
    "bounce": (Why.BOUNCED, "No", "it bounced on {at}: the recipient's server refuses the address"),
    "open": (Why.DELIVERED, "Yes", "it was opened on {at}"),
    "click": (Why.DELIVERED, "Yes", "a link in it was clicked on {at}"),
    "group_resubscribe": (Why.DELIVERED, "Yes", "the recipient subscribed again on {at}"),
    "group_unsubscribe": (Why.DELIVERED, "Yes", "the recipient unsubscribed on {at}"),
    "unsubscribe": (Why.DELIVERED, "Yes", "the recipient unsubscribed on {at}"),
    "spamreport": (Why.COMPLAINED, "Yes", "the recipient reported it as spam on {at}"),
}


def _webhook(case: Case) -> str:
    """What became of the customer's webhook, where it was tried and not told."""
    delivery = case.delivery
    owed = case.mailing is not None and case.mailing.webhook and WEBHOOK not in delivery.stages
    if not owed or delivery.last_error is None or delivery.doubted_at or delivery.evidence_at:
        return ""
    email = delivery.stages.get(EMAIL)
    if email is not None and email.at == delivery.settled_at:  # it ended with the mail: nobody was to be told
        return ""
    return f"; the customer's webhook was not told: {failure_in_words(delivery.last_error, 'the webhook')}"


def _ended(case: Case) -> Explained:
    """Without a mail, for good."""
    delivery, at = case.delivery, case.at(case.delivery.settled_at)
    reason = failure_in_words(delivery.last_error)
    category = delivery.last_error.category if delivery.last_error else ""
    maybe = _maybe_sent(case)
    answer, again = ("Nobody knows", " again") if maybe else ("No", "")
    if delivery.status is Status.CANCELLED:
        note = next((f" ({act.note})" for act in case.acts if act.action == "cancel" and act.note), "")
        return case.told(Why.CANCELLED, answer, f"was called off by {_who(case, 'cancel')} on {at}{note}{maybe}")
    if delivery.status is Status.EMPTY:
        return case.told(Why.EMPTY, answer, f"was not sent{again}, as on {at} there was nothing to say{maybe}")
    if delivery.status is Status.EXPIRED:
        return case.told(Why.EXPIRED, answer, f"was given up on {at} after {case.attempts()}: {reason}{maybe}")
    if delivery.status is Status.SUPPRESSED:
        why = Why.UNSUBSCRIBED if category == "unsubscribed" else Why.SUPPRESSED
        return case.told(why, answer, f"was not sent{again}, as on {at} {reason}{maybe}")
    return case.told(Why.REJECTED, answer, f"was not sent{again}, on {at}: {reason}{maybe}")


def _maybe_sent(case: Case) -> str:
    """That it may have been sent all the same, as an answer was lost and stays so; empty where none was.

    A refusal of the only attempt is the answer to it, if a late one. What was reopened does not keep its doubt: its audit does.
    """
    delivery, failure = case.delivery, case.delivery.last_error
    if delivery.doubted_at is not None:
        answered = failure is not None and failure.category == "rejected" and delivery.attempt == 1
        return "" if answered else f"; it may have been sent on {case.at(delivery.doubted_at)}"
    before = next((act for act in case.acts if act.action == "retry" and act.before == Status.UNKNOWN), None)
    return f"; it may have been sent before {before.who} had it tried again on {case.at(before.at)}" if before else ""


def _who(case: Case, action: str) -> str:
    """Who did this last, by the audit (the newest first)."""
    return next((act.who for act in case.acts if act.action == action), "an operator")
