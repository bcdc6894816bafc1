"""The page on which a person chooses what comes and when, in plain words. It needs no script, and names nobody.

Whoever has the link sees it, perhaps somebody to whom a mail was forwarded: no name and no address is on it.
"""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from flask import Response

from ledgermail.delivering.content import CHOICES
from ledgermail.events import suppression
from ledgermail.events.suppression import Reason
from ledgermail.preferences.links import Subscription
from ledgermail.preferences.preference_form import KEEP, Form
from ledgermail.preferences.preferences import Choice, Mailings, User, choices, zone_of
from ledgermail.preferences.schedule_words import DAYS, HOURS, in_words, place_of, simple, zones_by_region
from ledgermail.settings import Settings

if TYPE_CHECKING:
    from jinja2 import Template

TEMPLATE = Path(__file__).with_name("preferences.html")
STYLE = Path(__file__).with_name("preferences.css")


class Said(NamedTuple):
    """A page that only says something."""

    title: str
    text: str


BROKEN_LINK = Said(
    "This link does not work",
    "It is not complete, or has been changed on its way. Please open it from the mail itself, without copying it. "
    "Nothing has been changed.",
)
NOBODY = Said("You get no mail from us", "Your account does not exist any more, so nothing will be sent to you.")
UNSUBSCRIBED = Said("You are unsubscribed", "You will get no more mails of this kind.")
COME_AGAIN = Said("Please try again in a minute", "Your choices could not be read or saved just now. Nothing was lost.")
WHY_NO_MAIL = {
    Reason.BOUNCE: "your mailbox sent our last mail back{when}. If it works again, or you have another address, tell us",
    Reason.INVALID: "no mail can reach the address that we have of you. If you have another one, tell us",
    Reason.SPAM_REPORT: "you reported a mail of ours as spam{when}. If you want mail again, write to us",
    Reason.UNSUBSCRIBE: "you unsubscribed from all of it{when}. Turn on below what you want to get again",
}
STOPPED = "we have stopped it. If you think that this is a mistake, write to us"


class Row(NamedTuple):
    """A mailing on the page, and what is chosen of it: as it stands, or as it was just submitted."""

    choice: Choice
    active: bool
    words: str  # when it comes
    is_simple: bool  # its day and hour are among those to choose from
    day: str
    hour: str


def said(what: Said, status: int) -> Response:
    """A page that only says something."""
    return _page(status, heading=what.title, text=what.text)


def of(
    settings: Settings,
    mailings: Mailings,
    subscription: Subscription,
    user: User,
    status: int,
    *,
    told: Sequence[str] = (),
    problems: Mapping[str, str] | None = None,
    form: Form | None = None,
) -> Response:
    """The page of one person: what has just changed, or is wrong with what was submitted, and what can be chosen."""
    zone = zone_of(user, mailings)
    rows = [_row(choice, zone, form) for choice in choices(user, mailings)]
    this = next((row.choice for row in rows if row.choice.mailing.name == subscription.mailing), None)
    chosen_zone = (form or {}).get("zone", [zone])[0]
    return _page(
        status,
        heading=f"Your mail from {settings.sender_name}" if settings.sender_name else "Your mail from us",
        told=told,
        problems={_id(name): what for name, what in (problems or {}).items()},
        warning=_warning(user, settings),
        this=this,
        rows=rows,
        any_active=any(row.choice.active for row in rows),
        zone=chosen_zone,
        regions=_regions(zone),
    )


def _row(choice: Choice, zone: str, form: Form | None) -> Row:
    schedule, name = choice.schedule, choice.mailing.name
    known = simple(schedule) if schedule is not None and schedule.zone == zone else None
    day, hour = (known.day, known.hour) if known else (KEEP, KEEP)
    active = choice.active
    if form is not None and "zone" in form:  # it was submitted whole, and something is wrong with it
        active = name in form.get("on", ())
        day, hour = (form.get(f"{part}:{name}", [old])[0] for part, old in (("day", day), ("hour", hour)))
    return Row(choice, active, in_words(schedule) if schedule else "at once", known is not None, day, hour)


def _warning(user: User, settings: Settings) -> str:
    """Why no mail comes at all, and what may be done; nothing where mail comes."""
    reason = suppression.applies(user)
    if reason is None:
        return ""
    at = user["suppressed"].get("at") if isinstance(user["suppressed"], dict) else None
    when = f" on {at.day} {at:%B %Y}" if isinstance(at, datetime) else ""
    why = WHY_NO_MAIL.get(Reason(reason), STOPPED) if reason in set(Reason) else STOPPED
    contact = "" if reason == Reason.UNSUBSCRIBE else f": {settings.reply_to or settings.sender}"
    return f"No mail comes to you at the moment: {why.format(when=when)}{contact}."


def _regions(zone: str) -> Mapping[str, Mapping[str, str]]:
    """Zones to choose from with their places, by region; the person's own first, if it is none of those in the list."""
    regions = {
        region: {name: name.partition("/")[2].replace("_", " ").replace("/", ", ") for name in zones}
        for region, zones in zones_by_region().items()
    }
    listed = {name for zones in regions.values() for name in zones}
    own = {name: place_of(name) for name in dict.fromkeys((zone, "UTC")) if name not in listed}
    return {"No region": own, **regions}


def _id(name: str) -> str:
    """The id of a field's element; of the choices as a whole where it has none."""
    return name.replace(":", "-") if name not in {"act", "on"} else CHOICES


def _page(status: int, **facts: Any) -> Response:
    words = {"CHOICES": CHOICES, "KEEP": KEEP, "DAYS": DAYS, "HOURS": HOURS}
    html = _template().render({"style": _style(), "problems": {}, **words, **facts}).strip()
    response = Response(html, status, content_type="text/html; charset=utf-8")
    response.headers |= _headers()
    return response


@cache
def _headers() -> Mapping[str, str]:
    """Nothing but this page's own style is loaded; its address, which is the key to it, goes nowhere and is kept nowhere."""
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    return {
        "Content-Security-Policy": f"default-src 'none'; style-src 'sha256-{digest}'; form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
        "X-Robots-Tag": "noindex, nofollow",
        "X-Content-Type-Options": "nosniff",
    }


@cache
def _style() -> str:
    return STYLE.read_text("utf-8")


@cache
def _template() -> "Template":
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    return environment.from_string(TEMPLATE.read_text("utf-8"))
