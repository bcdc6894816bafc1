"""What an operator may do. Each act is asked first: a page says what will happen, and its button does it.

The button's token is of this operator, this act, this thing, and how that stood: who confirms one thing has not confirmed
another that it became meanwhile.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from flask import Response

from ledgermail.console import pages
from ledgermail.console.explaining import explained
from ledgermail.console.visit import Visit
from ledgermail.errors import WrongStatus
from ledgermail.ledger.delivery import Delivery, Status
from ledgermail.ledger.overrides import REOPENABLE
from ledgermail.ledger.transitions import EMAIL

VALID = timedelta(minutes=15)
# What a page says after an act.
DONE: Mapping[str, str] = {
    "retry": "It is tried again: the next attempt is on its way.",
    "cancel": "It is called off: nothing more is sent.",
    "settle": "It is on record as accepted, on your word.",
    "lift": "The suppression is lifted: mail goes to them again.",
}


@dataclass(frozen=True)
class Act:
    """An act in words: its button, the question, and what will happen."""

    name: str
    button: str
    asks: str
    says: str
    warning: str = ""


RETRY = Act(
    "retry",
    "Try it again",
    "Try this delivery again?",
    "It becomes pending and due at once. Its content is read anew, its last day is counted from now, and a worker sends it "
    "within seconds, unless the recipient may not get it.",
)
CANCEL = Act(
    "cancel",
    "Call it off",
    "Call this delivery off?",
    "It becomes cancelled, and is not sent any more. You can have it tried again later.",
)
SETTLE = Act(
    "settle",
    "Mark as settled",
    "Mark this delivery as settled?",
    "It becomes accepted, on your word that the mail arrived. It is not sent again.",
)
CANCEL_WEBHOOK = Act(
    "cancel",
    "Call its webhook off",
    "Call the webhook of this delivery off?",
    "The provider has taken the mail already, and it arrives or not as if nothing had been done. The delivery becomes "
    "accepted, and the customer's webhook is not told.",
)
LIFT = Act(
    "lift",
    "Lift the suppression",
    "Mail them again?",
    "The suppression ends. What the provider told until now does not suppress them again; a new bounce or complaint does.",
)
PAUSE = Act(
    "pause",
    "Pause all mail",
    "Pause all mail?",
    "Within five seconds no mail goes out any more. What is due waits, no attempt is spent, and nothing is lost.",
    "This is about every mailing and every recipient.",
)
RESUME = Act(
    "resume",
    "Let mail go out",
    "Let mail go out again?",
    "What has waited goes out: the next sweep wakes it, within a few minutes.",
)
WAITS = "All mail is paused: it is sent when mail may go out again."
TWICE = "Nobody knows whether the first one arrived. If it did, the recipient gets it twice."


def offered(delivery: Delivery) -> list[Act]:
    """What can be done about a delivery as it stands."""
    in_doubt = delivery.doubted_at is not None and delivery.status not in {Status.IN_FLIGHT, Status.ACCEPTED}
    return [
        *([RETRY] if delivery.status in REOPENABLE else []),
        *([_cancel(delivery)] if delivery.status is Status.PENDING else []),
        *([SETTLE] if delivery.status is Status.UNKNOWN or in_doubt else []),
    ]


def _cancel(delivery: Delivery) -> Act:
    """What can be called off: the mail, or where that is on record its webhook alone."""
    return CANCEL_WEBHOOK if EMAIL in delivery.stages else CANCEL


def override(visit: Visit, delivery_id: str, act: str) -> Response:
    """Ask whether a delivery is to be tried again, called off or settled; or do it."""
    answer, delivery = explained(visit, delivery_id)
    found = next((one for one in offered(delivery) if one.name == act), None)
    if found is None:
        raise WrongStatus(f"it is {delivery.status} now, and that cannot be done to it: {answer.sentence.rstrip('.')}")
    operations = visit.app.operations
    verb = {"retry": operations.retry, "cancel": operations.cancel, "settle": operations.settle}[found.name]
    return _asked_or_done(
        visit,
        found,
        target=delivery_id,
        state=f"{delivery.status}:{delivery.generation}",
        do=lambda note: verb(delivery_id, by=visit.who, note=note),
        back=("delivery", {"delivery_id": delivery_id}),
        sentence=answer.sentence,
        warning=_warning(visit, delivery) if found is RETRY else "",
    )


def _warning(visit: Visit, delivery: Delivery) -> str:
    """What to mind before a delivery is tried again; a read of the gate."""
    visit.bill.one()
    waits = [WAITS] if visit.app.gates.fetch().paused else []
    twice = [TWICE] if delivery.status is Status.UNKNOWN else []
    return " ".join([*twice, *waits])


def lift(visit: Visit, user_id: str) -> Response:
    """Ask whether somebody is to be mailed again; or do it."""
    user = visit.app.ledger.user(user_id) or {}
    visit.bill.one()
    if not user.get("suppressed"):
        raise WrongStatus("they are not suppressed")
    return _asked_or_done(
        visit,
        LIFT,
        target=user_id,
        state=as_it_stands(user["suppressed"]),
        do=lambda note: visit.app.operations.lift(user_id, by=visit.who, note=note),
        back=("recipient", {"user_id": user_id}),
        sentence="",
    )


def as_it_stands(field: object) -> str:
    """A field in words that are the same wherever it is read: a map of Firestore's comes in another order to each process."""
    return str(sorted(field.items()) if isinstance(field, dict) else field)


def gate(visit: Visit, act: str) -> Response:
    """Ask whether all mail is to be held back, or no longer; or do it."""
    gate = visit.app.gates.fetch()
    visit.bill.one()
    found, verb = (PAUSE, visit.app.operations.pause) if act == "pause" else (RESUME, visit.app.operations.resume)
    if gate.paused is (act == "pause"):
        raise WrongStatus("mail is paused already" if gate.paused else "mail goes out already")
    return _asked_or_done(
        visit,
        found,
        target="mail",
        state=str(gate.paused),
        do=lambda note: verb(by=visit.who, note=note),
        back=("overview", {}),
        sentence="",
    )


def _asked_or_done(
    visit: Visit,
    act: Act,
    *,
    target: str,
    state: str,
    do: Callable[[str], Any],
    back: tuple[str, Mapping[str, str]],
    sentence: str,
    warning: str = "",
) -> Response:
    endpoint, values = back
    if visit.request.method != "POST":
        return pages.page(
            visit,
            "confirm.html",
            act=act,
            target=target,
            sentence=sentence,
            warning=warning or act.warning,
            token=visit.token(act.name, target, state),
            back=visit.url(endpoint, **values),
        )
    visit.check(act.name, target, state, valid=VALID)
    do(visit.form.get("note", "").strip())
    return pages.redirected(visit.url(endpoint, **values, done=act.name))
