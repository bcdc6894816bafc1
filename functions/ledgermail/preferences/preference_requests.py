"""The preferences function: the page behind the link in every mail, and the one-click of RFC 8058.

GET and HEAD show the page and change nothing: scanners follow every link. Only a POST acts: a mailbox's own, or one of the
page's buttons. It is answered by itself, never by a redirect, and whoever holds the link needs to show nothing else: there are
no cookies, so that nobody can be made to press a button.
"""

from collections.abc import Mapping
from io import BytesIO
from typing import Any

from flask import Request, Response
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.formparser import FormDataParser

from ledgermail.app import App
from ledgermail.errors import InvalidForm, InvalidToken, LedgerUnavailable
from ledgermail.log import log
from ledgermail.preferences import preference_page
from ledgermail.preferences.links import Links, Subscription
from ledgermail.preferences.preference_form import Form, is_one_click, wish_of
from ledgermail.preferences.preference_store import Changed
from ledgermail.preferences.preferences import Wish, changes
from ledgermail.web import UNAVAILABLE_WAIT, Refused, anybody, raw_body, serve

METHODS = frozenset({"GET", "HEAD", "POST"})
FORM_PARTS = 1000  # fields of a form: far more than the page has
URLENCODED = "application/x-www-form-urlencoded"


def answer_to(app: App, request: Request) -> Response:
    """The answer to any request."""
    return serve(request, methods=METHODS, guard=anybody, read=form_of, act=lambda form: _answer(app, request, form))


def form_of(request: Request) -> Form:
    """The fields of a submitted form, of either content type; what says no type is read as the plainer one.

    Raises Refused for one that is too large.
    """
    raw = raw_body(request)
    mimetype = "multipart/form-data" if request.mimetype == "multipart/form-data" else URLENCODED
    parser = FormDataParser(max_form_memory_size=len(raw) + 1, max_form_parts=FORM_PARTS)
    try:
        _, form, _ = parser.parse(BytesIO(raw), mimetype, len(raw), request.mimetype_params)
    except RequestEntityTooLarge as error:
        raise Refused(413, f"the form has more than {FORM_PARTS} fields") from error
    return dict(form.lists())


def _answer(app: App, request: Request, form: Form) -> Response:
    links: Links = app.links
    try:
        subscription = links.read(request.args.get("token", ""))
        if request.method != "POST":
            return _shown(app, subscription, app.preferences.read(subscription.user_id))
        return _one_click(app, subscription) if is_one_click(form) else _submitted(app, subscription, form)
    except InvalidToken as error:
        log("preferences.refused", severity="WARNING", reason=str(error))
        return preference_page.said(preference_page.BROKEN_LINK, 403)
    except LedgerUnavailable as error:
        log("request.put_off", severity="WARNING", error=str(error))
        response = preference_page.said(preference_page.COME_AGAIN, 503)
        response.headers["Retry-After"] = str(int(UNAVAILABLE_WAIT.total_seconds()))
        return response


def _one_click(app: App, subscription: Subscription) -> Response:
    """Unsubscribe from the one mailing. Whoever is unsubscribed already, or gone, is told the same."""
    _change(app, subscription, Wish(active={subscription.mailing: False}), "one_click")
    return preference_page.said(preference_page.UNSUBSCRIBED, 200)


def _submitted(app: App, subscription: Subscription, form: Form) -> Response:
    """Do what a button of the page says, and show the page with what has changed, or with what is wrong with which field."""
    try:
        wish = wish_of(form, subscription, app.mailings)
    except InvalidForm as error:
        user = app.preferences.read(subscription.user_id)
        return _shown(app, subscription, user, 400, problems=error.problems, form=form)
    result = _change(app, subscription, wish, "page")
    if result is None:
        return _shown(app, subscription, None)
    return _shown(app, subscription, result.user, told=result.made.told or ("Everything stays as it was.",))


def _change(app: App, subscription: Subscription, wish: Wish, how: str) -> Changed | None:
    result = app.preferences.change(subscription.user_id, lambda user, now: changes(user, app.mailings, wish, now))
    if result is not None and result.made.fields:
        fields = sorted(".".join(path) for path in result.made.fields)
        log("preferences.changed", user_id=subscription.user_id, mailing=subscription.mailing, how=how, fields=fields)
    return result


def _shown(
    app: App, subscription: Subscription, user: Mapping[str, Any] | None, status: int = 200, **shown: Any
) -> Response:
    if user is None:
        return preference_page.said(preference_page.NOBODY, status)
    return preference_page.of(app.settings, app.mailings, subscription, user, status, **shown)
