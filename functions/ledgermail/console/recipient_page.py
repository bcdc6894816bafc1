"""A recipient: who they are, what they get, and what became of their newest mails. The only page that shows an address."""

from collections.abc import Mapping
from typing import Any

from flask import Response

from ledgermail.console import acts, pages
from ledgermail.console.visit import Visit
from ledgermail.events import suppression
from ledgermail.ledger.delivery import Delivery
from ledgermail.mailing import Mailing
from ledgermail.preferences.chosen import preferences_of, wants
from ledgermail.support.question import Answer
from ledgermail.support.wording import SUPPRESSIONS
from ledgermail.web import Refused

SHOWN = 25  # deliveries
ABOUT_CHARS = 1500  # of a question: the longest id there is


def show(visit: Visit, user_id: str) -> Response:
    """Reads the user, their newest 25 deliveries, what operators did to them, and what the question needs, if there is one."""
    app = visit.app
    user = app.ledger.user(user_id)
    visit.bill.one()
    newest = visit.bill.documents(app.ledger.newest_of(user_id, SHOWN))
    if user is None and not newest:
        raise Refused(404, f"there is no user {user_id}, and nothing of theirs is kept")
    entries = visit.bill.documents(app.operations.audits.newest(user_id=user_id))
    about = visit.request.args.get("about", "").strip()[:ABOUT_CHARS]
    return pages.page(
        visit,
        "recipient.html",
        user_id=user_id,
        user=user,
        mailings=[_row(mailing, user or {}, newest) for mailing in app.mailings.values()],
        suppressed=_suppressed(user or {}),
        newest=newest,
        only_newest=len(newest) == SHOWN,
        entries=[entry for entry in entries if entry.action == "lift"],
        about=about,
        answer=_answer(visit, user_id, about) if about else None,
        done=acts.DONE.get(visit.request.args.get("done", ""), ""),
    )


def _answer(visit: Visit, user_id: str, about: str) -> Answer:
    answer = visit.app.enquiries.ask(user_id, about)
    visit.bill.several(answer.reads)
    return answer


def _row(mailing: Mailing, user: Mapping[str, Any], newest: list[Delivery]) -> dict[str, Any]:
    """A mailing as this user has it."""
    last = next((one for one in newest if one.mailing == mailing.name), None)
    return {
        "mailing": mailing,
        "active": wants(user, mailing.name),
        "schedule": preferences_of(user, mailing.name).get("schedule"),
        "last": last,
    }


def _suppressed(user: Mapping[str, Any]) -> str:
    """Why they must not be mailed, in words; empty when they may be."""
    reason = suppression.applies(user)
    if reason is None:
        return ""
    return SUPPRESSIONS.get(reason, reason) or "no reason is on record"
