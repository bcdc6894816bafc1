"""The verbs that change something: each asks first, and is on record with who asked for it and why."""

from typing import Annotated

import typer

from ledgermail.cli.codes import Code, Failed
from ledgermail.cli.deployment import deployment
from ledgermail.cli.options import By, Json, Note, Yes, confirm
from ledgermail.cli.printed import print_json, print_lines
from ledgermail.support.explain import Why

DeliveryId = Annotated[str, typer.Argument(metavar="DELIVERY_ID", help="Its id: `why` and `show` name it.")]
ASKED = {
    "retry": "Have it tried again? Of one that may have been sent the recipient may get a second mail.",
    "cancel": "Call it off?",
    "settle": "Vouch that it arrived?",
}


def retry(delivery_id: DeliveryId, by: By, note: Note = "", yes: Yes = False, as_json: Json = False) -> None:
    """Have a delivery that ended without a mail tried again, from the beginning."""
    _act("retry", delivery_id, by, note, yes, as_json)


def cancel(delivery_id: DeliveryId, by: By, note: Note = "", yes: Yes = False, as_json: Json = False) -> None:
    """Call off a delivery that is pending."""
    _act("cancel", delivery_id, by, note, yes, as_json)


def settle(delivery_id: DeliveryId, by: By, note: Note = "", yes: Yes = False, as_json: Json = False) -> None:
    """Vouch for a mail of which nobody knew whether it was sent: somebody has seen it arrive."""
    _act("settle", delivery_id, by, note, yes, as_json)


def pause(by: By, note: Note = "", yes: Yes = False, as_json: Json = False) -> None:
    """Hold all mail back. Nothing is lost; no attempt is spent."""
    _hold("pause", "Hold all mail back?", by, note, yes, as_json)


def resume(by: By, note: Note = "", yes: Yes = False, as_json: Json = False) -> None:
    """Let mail go out again; what waited goes with the next sweep."""
    _hold("resume", "Let mail go out again?", by, note, yes, as_json)


VERBS = (retry, cancel, settle, pause, resume)


def _act(action: str, delivery_id: str, by: str, note: str, yes: bool, as_json: bool) -> None:
    app = deployment()
    if not yes:
        answer = app.enquiries.of(delivery_id)
        if answer.why is Why.PRUNED:
            raise Failed(Code.PROBLEM, [answer.sentence])
        typer.echo(answer.sentence, err=True)
    confirm(ASKED[action], yes)
    changed = getattr(app.operations, action)(delivery_id, by=by, note=note)
    told = {"action": action, "delivery_id": changed.id, "status": changed.status, "by": by}
    if as_json:
        print_json(told)
    else:
        print_lines(f"{action}: {changed.id} is {changed.status} now")


def _hold(action: str, question: str, by: str, note: str, yes: bool, as_json: bool) -> None:
    app = deployment()
    confirm(question, yes)
    news = getattr(app.operations, action)(by=by, note=note)
    if as_json:
        print_json({"action": action, "news": news, "by": by})
    else:
        state = "held back" if action == "pause" else "going out"
        print_lines(f"{action}: mail is {state} {'now' if news else 'already'}")
