"""Who is at the console: by what Cloud Run has checked, by an assertion of the Identity-Aware Proxy, or by Firebase.

However somebody is let in, their name is in the audit of what they do. Whoever cannot be told is not let in.
"""

import base64
import json
from functools import cached_property
from typing import TYPE_CHECKING, Any, assert_never

from flask import Request

from ledgermail import oidc
from ledgermail.console.forms import LOOPBACK, Tokens, name_of
from ledgermail.settings import ConsoleAuth, Settings
from ledgermail.web import Refused

if TYPE_CHECKING:
    from ledgermail.console.firebase import Sessions

IAP_HEADER = "X-Goog-IAP-JWT-Assertion"
IAP_ISSUER = "https://cloud.google.com/iap"
UNKNOWN = "unknown"
LOCAL = "local"


class Doorkeeper:
    """Lets operators in as one deployment's settings say, and knows its own forms again."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def operator(self, request: Request) -> str:
        """The name of whoever calls: an e-mail address, if there is one. Raises Refused."""
        settings = self._settings
        match settings.console_auth:
            case ConsoleAuth.IAM:
                return of_iam(request)
            case ConsoleAuth.IAP:
                return of_iap(request, audience=settings.iap_audience, certs_url=settings.iap_certs_url)
            case ConsoleAuth.FIREBASE:
                return self.sessions.operator(request)
            case ConsoleAuth.LOCAL:
                return _of_this_machine(request)
        assert_never(settings.console_auth)

    @cached_property
    def sessions(self) -> "Sessions":
        """Operators who sign in by Firebase."""
        from ledgermail.console.firebase import Sessions

        return Sessions(self._settings.project, self._settings.console_sign_in)

    @cached_property
    def tokens(self) -> Tokens:
        """The tokens of the console's forms."""
        return Tokens(self._settings.secrets["CONSOLE_KEY"].split(","))


def of_iam(request: Request) -> str:
    """What the token says that Cloud Run has checked; it has removed the signature, so that it can be used nowhere else.

    Without any token nobody has checked anything: the service must then have been made public by mistake.
    """
    for header in ("X-Serverless-Authorization", "Authorization"):
        scheme, _, token = request.headers.get(header, "").partition(" ")
        if scheme.lower() == "bearer" and token:
            claims = _payload(token)
            email = claims.get("email")
            return email if isinstance(email, str) and email and claims.get("email_verified") is True else UNKNOWN
    raise Refused(403, "nobody has checked who you are: the console must not be public where it relies on IAM")


def _payload(token: str) -> dict[str, Any]:
    encoded = [*token.split("."), ""][1]
    try:
        payload = json.loads(base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))
    except (ValueError, RecursionError):
        return {}
    return payload if isinstance(payload, dict) else {}


def of_iap(request: Request, *, audience: str, certs_url: str) -> str:
    """The address in IAP's assertion, which must be signed by IAP, for us, and valid now."""
    assertion = request.headers.get(IAP_HEADER, "")
    claims = oidc.claims_of(assertion, audience=audience, certs_url=certs_url) or {}
    email = claims.get("email")
    if claims.get("iss") != IAP_ISSUER or not isinstance(email, str) or not email:
        raise Refused(403, "the Identity-Aware Proxy has not said who you are")
    return email


def _of_this_machine(request: Request) -> str:
    """A page elsewhere can have a name that it owns point to this machine, so our own name is asked for."""
    if name_of(request.host) not in LOOPBACK:
        raise Refused(403, "the local console answers on this machine only")
    return LOCAL
