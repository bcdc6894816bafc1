"""Check the OIDC token that Cloud Tasks and Cloud Scheduler bring, where a function is told its audience.

In the cloud IAM checks it and Cloud Run then strips the signature, so this is for a function that is reachable without IAM,
and for the local cloud.
"""

from collections.abc import Mapping
from functools import cache
from threading import Lock
from typing import Any

from flask import Request

from ledgermail.clock import Clock
from ledgermail.settings import Settings
from ledgermail.web import Guard, Refused, anybody

CERTS_SECONDS = 3600.0  # how long keys are kept; google-auth itself would fetch them for every token
FETCH_SECONDS = 5.0


def guard_of(settings: Settings) -> Guard:
    """The guard of an internal function: a valid token for our audience from our task account, if we have an audience."""
    if not settings.audience:
        return anybody

    def guard(request: Request) -> None:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme != "Bearer" or _account(token, settings) != settings.task_account:
            raise Refused(403, "the token is missing, not valid, or another's")

    return guard


def _account(token: str, settings: Settings) -> str | None:
    """The verified address of the account that a token is for, or None."""
    claims = claims_of(token, audience=settings.audience, certs_url=settings.certs_url) or {}
    return str(claims.get("email")) if claims.get("email_verified") is True else None


def claims_of(token: str, *, audience: str, certs_url: str) -> Mapping[str, Any] | None:
    """What a token says that is signed by one of these certificates, valid now and for this audience; None for any other."""
    from google.auth.exceptions import GoogleAuthError
    from google.oauth2 import id_token

    try:
        claims: Mapping[str, Any] = id_token.verify_token(
            token,
            _certs(),  # type: ignore[arg-type] # called as a Request is
            audience=audience,
            certs_url=certs_url,
        )
    except (GoogleAuthError, ValueError, RecursionError):  # the last for JSON that is too deep
        return None
    return claims


class _Response:
    """What google-auth reads of an answer."""

    def __init__(self, status: int, data: bytes) -> None:
        self.status = status
        self.data = data
        self.headers: Mapping[str, str] = {}


class _CachedFetch:
    """A transport for google-auth that keeps what it has fetched for an hour."""

    def __init__(self) -> None:
        self._monotonic = Clock().monotonic
        self._lock = Lock()
        self._kept: dict[str, tuple[float, _Response]] = {}

    def __call__(self, url: str, method: str = "GET", **_options: Any) -> _Response:
        with self._lock:
            fetched_at, response = self._kept.get(url, (float("-inf"), None))
            if response is None or self._monotonic() - fetched_at > CERTS_SECONDS:
                response = _fetch(method, url)
                if response.status == 200:
                    self._kept[url] = (self._monotonic(), response)
            return response


def _fetch(method: str, url: str) -> _Response:
    import httpx
    from google.auth.exceptions import TransportError

    try:
        fetched = httpx.request(method, url, timeout=FETCH_SECONDS)
    except httpx.HTTPError as error:
        raise TransportError(type(error).__name__) from error  # type: ignore[no-untyped-call]
    return _Response(fetched.status_code, fetched.content)


@cache
def _certs() -> _CachedFetch:
    return _CachedFetch()
