"""How a page is made: its template, its one stylesheet, and headers that let nothing else in."""

import base64
import hashlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from flask import Response

if TYPE_CHECKING:
    from jinja2 import Environment

    from ledgermail.console.visit import Visit

TEMPLATES = Path(__file__).with_name("templates")
STYLE = Path(__file__).with_name("console.css")
HEADINGS = {
    200: "Welcome",
    401: "Who are you?",
    403: "This is not allowed",
    404: "There is nothing here",
    405: "This is not possible",
    409: "This cannot be done now",
    503: "Not just now",
}
STEPS = ((timedelta(days=2), timedelta(days=1), "d"), (timedelta(hours=2), timedelta(hours=1), "h"))


def page(visit: "Visit", name: str, status: int = 200, **facts: Any) -> Response:
    """A page of the console, with its navigation and what it cost."""
    return _rendered(name, status, visit=visit, now=visit.app.clock.now(), **facts)


def said(status: int, text: str, *, overview: str, sign_in: str = "") -> Response:
    """A page that only says something, to anybody."""
    text = f"{text[:1].upper()}{text[1:]}."
    return _rendered("said.html", status, heading=HEADINGS[status], text=text, sign_in=sign_in, overview=overview)


def redirected(url: str) -> Response:
    """What follows a form: reading the page again, or going back to it, does not submit it again."""
    response = Response("", 303, {"Location": url}, content_type="text/plain")
    response.headers.update(_headers())
    return response


def moment(at: datetime | None, zone: str = "UTC") -> str:
    """A time as the clocks of that zone show it."""
    return "" if at is None else f"{at.astimezone(ZoneInfo(zone)):%-d %b %Y, %H:%M:%S}"


def span(length: timedelta | None) -> str:
    """How long something took or is old, in one unit."""
    if length is None:
        return ""
    for least, unit, letter in STEPS:
        if length >= least:
            return f"{length // unit} {letter}"
    seconds = int(length.total_seconds())
    return f"{seconds // 60} min" if seconds >= 120 else f"{seconds} s"


def word(name: object) -> str:
    """A name as a word of a sentence: in_flight -> in flight."""
    return str(name).replace("_", " ")


def _rendered(name: str, status: int, **facts: Any) -> Response:
    html = _environment().get_template(name).render(style=_style(), **facts)
    response = Response(html, status, content_type="text/html; charset=utf-8")
    response.headers.update(_headers())
    return response


@cache
def _headers() -> Mapping[str, str]:
    """Nothing is loaded but the style that is in the page. The browser is to say to us alone which page of ours it left."""
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; form-action 'self'; base-uri 'none'"
    return {
        "Content-Security-Policy": f"{policy}; frame-ancestors 'none'",
        "Referrer-Policy": "same-origin",
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "X-Robots-Tag": "noindex, nofollow",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
    }


@cache
def _style() -> str:
    return STYLE.read_text("utf-8")


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {"moment": moment, "span": span, "word": word}
    return environment
