"""Operators as Firebase users: whoever has the custom claim `operator` (true) is one.

The adopter's own page signs them in and posts the ID token to `/session`; the answer is a session cookie that no script can
read and no other site can use. A disabled user, or one whose sessions were revoked, is out at once: each request asks.
"""

import uuid
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from flask import Request

from ledgermail.web import Refused

if TYPE_CHECKING:
    from firebase_admin import App as FirebaseApp

COOKIE = "__session"  # the one name that Firebase Hosting lets through
SESSION = timedelta(hours=8)
RECENT = timedelta(minutes=5)  # since the sign-in: a token that was stolen later makes no session
HTTP_SECONDS = 10
SIGN_IN = Refused(401, "sign in first")
NO_OPERATOR = Refused(403, "you are signed in, and no operator: that takes the claim operator")

Claims = Mapping[str, Any]


class Sessions:
    """Verifies tokens and cookies of one Firebase project."""

    def __init__(self, project: str, sign_in: str) -> None:
        self._project = project
        self._sign_in = urlsplit(sign_in)

    def operator(self, request: Request) -> str:
        """Whoever's valid token (as a bearer) or session cookie this brings. Raises Refused (401, or 403)."""
        from firebase_admin import auth

        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme == "Bearer":
            return _name(self._claims(auth.verify_id_token, token))
        return _name(self._claims(auth.verify_session_cookie, request.cookies.get(COOKIE, "")))

    def open(self, request: Request, token: str, now: datetime) -> tuple[str, str]:
        """The operator of an ID token that the sign-in page posts, and a session's cookie. Raises Refused."""
        from firebase_admin import auth

        if request.headers.get("Origin") != f"{self._sign_in.scheme}://{self._sign_in.netloc}":
            raise Refused(403, "sessions are opened by the sign-in page alone")
        claims = self._claims(auth.verify_id_token, token)
        name = _name(claims)
        if now.timestamp() - claims.get("auth_time", 0) > RECENT.total_seconds():
            raise SIGN_IN
        cookie = self._asked(lambda: auth.create_session_cookie(token, SESSION, app=self._app))
        return name, str(cookie)

    def _claims(self, verify: Callable[..., Claims], token: str) -> Claims:
        claims: Claims = self._asked(lambda: verify(token, check_revoked=True, app=self._app))
        return claims

    def _asked(self, ask: Callable[[], Any]) -> Any:
        """What Firebase says; whatever it refuses, and whatever cannot be asked, lets nobody in."""
        from firebase_admin.exceptions import FirebaseError
        from google.auth.exceptions import GoogleAuthError

        try:
            return ask()
        except (FirebaseError, GoogleAuthError, ValueError) as error:
            raise SIGN_IN from error

    @cached_property
    def _app(self) -> "FirebaseApp":
        import firebase_admin

        options = {"projectId": self._project, "httpTimeout": HTTP_SECONDS}
        return firebase_admin.initialize_app(options=options, name=f"console-{uuid.uuid4().hex}")


def _name(claims: Claims) -> str:
    if claims.get("operator") is not True:
        raise NO_OPERATOR
    verified = claims.get("email_verified") is True and claims.get("email")
    return str(verified or claims["uid"])
