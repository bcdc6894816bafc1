"""The inbox for people: a list of the accepted mails, and one mail as HTML, text, headers and request."""

import json
from dataclasses import dataclass
from urllib.parse import urlencode

from flask import Blueprint, Response, abort, render_template, request

from emulator.inbox import one_click
from emulator.inbox.mails import Mail
from emulator.inbox.shapes import Address
from emulator.inbox.shared import Shared

MAILS_A_PAGE = 50
VIEWS = ("html", "text", "headers", "request")
# Our pages load their own stylesheet and frame their own mails, and nothing else.
PAGE_POLICY = (
    "default-src 'none'; style-src 'self'; img-src data:; frame-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
# A mail is a stranger's HTML: no scripts, no forms, nothing fetched; its links open in a new window.
MAIL_POLICY = (
    "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; style-src 'unsafe-inline'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)


@dataclass(frozen=True)
class ListPage:
    """One page of the list, newest mail first. ``total`` counts what the search found; pages count from 1."""

    mails: list[Mail]
    words: str
    number: int
    total: int

    @property
    def first(self) -> int:
        """The place of this page's first mail among all found, from 1."""
        return (self.number - 1) * MAILS_A_PAGE + 1

    @property
    def last(self) -> int:
        return self.first + len(self.mails) - 1

    def link(self, number: int) -> str | None:
        """The address of another page of the same search, or None when there is no such page."""
        if not 1 <= number <= -(-self.total // MAILS_A_PAGE):
            return None
        return "/?" + urlencode({"q": self.words, "page": number} if self.words else {"page": number})


def page_of(mails: list[Mail], words: str, number: int) -> ListPage:
    """The page ``number`` of the mails that mention ``words``; a number out of range means the nearest page."""
    found = [mail for mail in mails if mail.mentions(words)] if words else mails
    number = max(1, min(number, -(-len(found) // MAILS_A_PAGE)))
    start = (number - 1) * MAILS_A_PAGE
    return ListPage(found[start : start + MAILS_A_PAGE], words, number, len(found))


def shown(address: Address) -> str:
    """An address as mail programs show it."""
    return f"{address['name']} <{address['email']}>" if address.get("name") else address["email"]


def _page(shared: Shared, mail: Mail, answered: one_click.Answered | None = None) -> str:
    view = request.args.get("view", "html" if mail.html else "text")
    if view not in VIEWS:
        abort(404)
    return render_template(
        "mail.html",
        mail=mail,
        view=view,
        raw=json.dumps(mail.raw, indent=2, ensure_ascii=False) if view == "request" else "",
        events=shared.outbox.of(mail.id),
        unsubscribe_url=one_click.target(mail),
        answered=answered,
    )


def _guarded(answer: Response) -> Response:
    answer.headers.setdefault("Content-Security-Policy", PAGE_POLICY)
    answer.headers.setdefault("X-Content-Type-Options", "nosniff")
    answer.headers.setdefault("Referrer-Policy", "no-referrer")
    return answer


def blueprint(shared: Shared) -> Blueprint:
    """The pages as Flask routes."""
    routes = Blueprint("pages", __name__)
    mailbox = shared.mailbox
    routes.add_app_template_filter(shown)
    routes.after_request(_guarded)

    @routes.get("/")
    def listing() -> str:
        words, number = request.args.get("q", "").strip(), request.args.get("page", 1, type=int)
        return render_template("list.html", page=page_of(mailbox.newest_first(), words, number), stats=mailbox.stats())

    @routes.get("/mails/<mail_id>")
    def one(mail_id: str) -> str:
        mail = mailbox.get(mail_id) or abort(404)
        return _page(shared, mail)

    @routes.post("/mails/<mail_id>")
    def unsubscribe(mail_id: str) -> str:
        mail = mailbox.get(mail_id) or abort(404)
        return _page(shared, mail, one_click.unsubscribe(one_click.target(mail) or abort(404)))

    @routes.get("/mails/<mail_id>/html")
    def html(mail_id: str) -> Response:
        mail = mailbox.get(mail_id) or abort(404)
        # Only for showing: what was sent stays untouched in the request view and in the API.
        body = mail.html.replace("<head>", '<head><base target="_blank">', 1)
        return Response(body, mimetype="text/html", headers={"Content-Security-Policy": MAIL_POLICY})

    return routes
