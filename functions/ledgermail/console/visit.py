"""One request to the console: who asks for which page. Every answer is a page, a refusal too."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from importlib import import_module
from typing import Any

from flask import Request, Response
from werkzeug.exceptions import MethodNotAllowed, NotFound
from werkzeug.routing import MapAdapter

from ledgermail.app import App
from ledgermail.console import forms, pages, routes
from ledgermail.console.forms import Asked, Form
from ledgermail.errors import InvalidDocument, InvalidId, InvalidToken, LedgerUnavailable, NewerSchema, WrongStatus
from ledgermail.log import log
from ledgermail.settings import ConsoleAuth
from ledgermail.status.bill import Bill
from ledgermail.web import UNAVAILABLE_WAIT, Refused, anybody, serve

METHODS = frozenset({"GET", "POST"})

View = Callable[..., Response]
# The module and the function in it that makes each page: imported when it is asked for, with the libraries of that page alone.
VIEWS: Mapping[str, tuple[str, str]] = {
    "overview": ("overview", "show"),
    "run": ("run_page", "show"),
    "recipient": ("recipient_page", "show"),
    "delivery": ("delivery_page", "show"),
    "record": ("record", "show"),
    "search": ("searching", "search"),
    "override": ("acts", "override"),
    "lift": ("acts", "lift"),
    "gate": ("acts", "gate"),
}


@dataclass(frozen=True, kw_only=True)
class Visit:
    """What a page is made from. `bill` counts the documents that it reads."""

    app: App
    request: Request
    form: Form
    links: MapAdapter
    who: str
    bill: Bill = field(default_factory=Bill)

    def url(self, endpoint: str, **values: Any) -> str:
        """The address of a page; what is no part of its path goes behind the question mark."""
        return self.links.build(endpoint, values)

    def token(self, act: str, target: str = "", state: str = "") -> str:
        """The token of a form of this page."""
        return self.app.doorkeeper.tokens.make(Asked(self.who, act, target, state), self.app.clock.now())

    def check(self, act: str, target: str = "", state: str = "", *, valid: timedelta) -> None:
        """Raise InvalidToken, or Refused, unless this is a form of ours, submitted from our page by whom it was shown to."""
        by_proxy = self.app.settings.console_auth in {ConsoleAuth.IAM, ConsoleAuth.LOCAL}
        forms.check_origin(self.request, loopback=by_proxy)
        asked = Asked(self.who, act, target, state)
        self.app.doorkeeper.tokens.check(self.form.get("token", ""), asked, self.app.clock.now(), valid)


def answer(app: App, request: Request) -> Response:
    """The answer to any request."""
    return serve(
        request, methods=METHODS, guard=anybody, read=forms.form_of, act=lambda form: _answered(app, request, form)
    )


def _answered(app: App, request: Request, form: Form) -> Response:
    """The page, or one that says why not. What was refused has changed nothing."""
    links = routes.bound(request)
    say = partial(pages.said, overview=links.build("overview"))
    try:
        return _routed(app, request, form, links)
    except Refused as refused:
        log("request.refused", severity="WARNING", status=refused.status, reason=refused.reason)
        sign_in = app.settings.console_sign_in if refused.status == 401 else ""
        return say(refused.status, refused.reason, sign_in=sign_in)
    except InvalidToken as error:
        log("request.refused", severity="WARNING", status=403, reason=str(error))
        return say(403, "this form is too old, or was not shown to you: go back, load the page again and repeat it")
    except (InvalidId, InvalidDocument) as error:
        return say(404, str(error))
    except (WrongStatus, NewerSchema) as error:
        return say(409, str(error))
    except LedgerUnavailable as error:
        log("request.put_off", severity="WARNING", error=str(error))
        response = say(503, "the ledger does not answer: try again in a minute, and look whether it was done")
        response.headers["Retry-After"] = str(int(UNAVAILABLE_WAIT.total_seconds()))
        return response


def _routed(app: App, request: Request, form: Form, links: MapAdapter) -> Response:
    try:
        endpoint, values = links.match()
    except MethodNotAllowed as error:
        raise Refused(405, "this address does not take that method") from error
    except NotFound as error:
        raise Refused(404, "there is no such page") from error
    if endpoint == "session":
        from ledgermail.console import signing_in

        return signing_in.session(app, request, form, links.build("overview"))
    visit = Visit(app=app, request=request, form=form, links=links, who=app.doorkeeper.operator(request))
    module, view = VIEWS[endpoint]
    show: View = getattr(import_module(f"ledgermail.console.{module}"), view)
    return show(visit, **values)
