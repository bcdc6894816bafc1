"""What happened to a delivery, step by step, from the compact facts that it keeps and from its audit. Pure."""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from ledgermail.events.events import RANKS
from ledgermail.ledger.delivery import Delivery, Status
from ledgermail.ledger.overrides import VOUCHED
from ledgermail.ledger.transitions import EMAIL, RENDER, WEBHOOK
from ledgermail.support.wording import failure_in_words

if TYPE_CHECKING:
    from ledgermail.support.audits import Entry

EVENTS = {
    "processed": "the provider is sending it",
    "dropped": "the provider dropped it without sending it",
    "deferred": "the recipient's server put it off",
    "blocked": "the recipient's server blocked it",
    "delivered": "delivered",
    "bounce": "bounced: the recipient's server refuses the address",
    "open": "opened",
    "click": "a link was clicked",
    "group_resubscribe": "the recipient subscribed again with the provider",
    "group_unsubscribe": "the recipient unsubscribed with the provider",
    "unsubscribe": "the recipient unsubscribed with the provider",
    "spamreport": "the recipient reported it as spam",
}
ACTS = {"retry": "had it tried again", "cancel": "called it off", "settle": "said that it had arrived"}


class Moment(NamedTuple):
    """One step: when, and what in words."""

    at: datetime
    words: str


def history(delivery: Delivery, acts: Sequence["Entry"] = ()) -> list[Moment]:
    """The steps in their order. Of several attempts only the first and the number are kept, of each event the first.

    The provider tells times in whole seconds: what is of one second is in the order in which it must have been.
    """
    found = [Moment(delivery.created_at, f"planned by {delivery.run_key}"), *_attempts(delivery), *_stages(delivery)]
    if delivery.doubted_at:
        found.append(Moment(delivery.doubted_at, "may have been sent: no answer is on record"))
    events = sorted(delivery.events.items(), key=lambda event: RANKS.get(event[0], len(RANKS)))
    found += [Moment(at, EVENTS.get(kind, kind)) for kind, at in events]
    if delivery.evidence_at:
        found.append(Moment(delivery.evidence_at, "proven to have been taken by the provider"))
    found += [_act(act) for act in acts]
    return sorted([*found, *_end(delivery)], key=lambda moment: int(moment.at.timestamp()))


def _attempts(delivery: Delivery) -> list[Moment]:
    steps = []
    if delivery.due_at > delivery.created_at:
        steps.append(Moment(delivery.due_at, "due"))
    if delivery.first_claimed_at:
        steps.append(Moment(delivery.first_claimed_at, "claimed by a worker"))
    if delivery.first_attempt_at and delivery.first_attempt_at != delivery.first_claimed_at:
        steps.append(Moment(delivery.first_attempt_at, "claimed again, from the beginning"))
    return steps


def _stages(delivery: Delivery) -> list[Moment]:
    words = {
        RENDER: "its content was fixed",
        EMAIL: "taken by the provider",
        WEBHOOK: "the customer's webhook was told",
    }
    done = {name: stage for name, stage in delivery.stages.items() if stage.reference != VOUCHED}
    return [Moment(done[name].at, text) for name, text in words.items() if name in done]


def _act(act: "Entry") -> Moment:
    note = f" ({act.note})" if act.note else ""
    return Moment(act.at, f"{act.who} {ACTS.get(act.action, act.action)}{note}")


def _end(delivery: Delivery) -> list[Moment]:
    """Where it stands: how it ended and why, or what comes next."""
    reason = f": {failure_in_words(delivery.last_error)}" if delivery.last_error else ""
    tried = f" after {delivery.attempt} attempts" if delivery.attempt > 1 else ""
    if delivery.settled_at:
        if delivery.status is Status.ACCEPTED:
            return []  # its stages and its evidence have said so
        return [Moment(delivery.settled_at, f"{delivery.status}{tried}{reason}")]
    if delivery.status is Status.PENDING and delivery.next_attempt_at:
        return [Moment(delivery.next_attempt_at, f"the next attempt{tried}{reason}")]
    return []
