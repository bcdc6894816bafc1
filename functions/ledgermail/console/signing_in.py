"""The end of signing in by Firebase: an ID token, posted by the adopter's page, becomes a session."""

from flask import Request, Response

from ledgermail.app import App
from ledgermail.console import pages
from ledgermail.console.firebase import COOKIE, SESSION
from ledgermail.console.forms import Form
from ledgermail.log import log
from ledgermail.settings import ConsoleAuth
from ledgermail.web import Refused


def session(app: App, request: Request, form: Form, overview: str) -> Response:
    """Open a session. Not a redirect: what another site has begun would arrive there without the new cookie."""
    if app.settings.console_auth is not ConsoleAuth.FIREBASE:
        raise Refused(404, "there is no such page")
    name, cookie = app.doorkeeper.sessions.open(request, form.get("idToken", ""), app.clock.now())
    log("console.signed_in")
    response = pages.said(200, f"you are signed in as {name}", overview=overview)
    seconds = int(SESSION.total_seconds())
    response.set_cookie(COOKIE, cookie, max_age=seconds, secure=True, httponly=True, samesite="Strict", path="/")
    return response
