"""The edge to SendGrid: post one message, and say what the answer means."""

import json
import re
import time
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

import httpx

from ledgermail.delivery import Failure
from ledgermail.errors import ContentError
from ledgermail.message import Message, payload
from ledgermail.outcomes import Outcome, kind_of_error, kind_of_status, outcome_of
from ledgermail.settings import Settings

JSON = {"Content-Type": "application/json"}
CONNECT_SECONDS = 5.0
CONNECTIONS = 100  # above any concurrency of one instance: a request never waits for one
LONGEST_HOLD = timedelta(hours=1)  # a provider that asks for more is asked again after this
WORDS_CHARS = 2000  # of an answer are looked at: an error page may be as large as it likes
ADDRESS = re.compile(r"[^\s<>\"']+@[^\s<>\"']+")


class SendGrid:
    """Mail Send over one pooled HTTP client. The sendgrid package's own has no timeout and opens a connection a mail."""

    def __init__(self, settings: Settings, transport: httpx.BaseTransport | None = None) -> None:
        seconds = settings.provider_timeout.total_seconds()
        self._settings = settings
        self._http = httpx.Client(
            base_url=settings.sendgrid_url,
            timeout=httpx.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds)),
            limits=httpx.Limits(max_connections=CONNECTIONS),
            headers={"Authorization": f"Bearer {settings.secrets['SENDGRID_KEY']}"},
            transport=transport,
        )

    def prepare(self, message: Message) -> bytes:
        """The request for a message, before anything is claimed for it. Raises ContentError where SendGrid's helpers refuse
        it: they look for what could be an API key in a mail's text.
        """
        from sendgrid.helpers.mail.exceptions import SendGridException

        try:
            return json.dumps(payload(message, self._settings)).encode()
        except (SendGridException, ValueError) as error:
            raise ContentError(f"{message.mailing}: {type(error).__name__}") from error

    def send(self, request: bytes) -> Outcome:
        """Make one attempt. Every answer, and every way of getting none, is an outcome; nothing is raised for them."""
        try:
            response = self._http.post("/v3/mail/send", content=request, headers=JSON)
        except httpx.RequestError as error:
            kind = kind_of_error(error)
            return outcome_of(kind, Failure(category=kind.value, code=type(error).__name__))
        kind = kind_of_status(response.status_code)
        failure = Failure(category=kind.value, code=str(response.status_code), detail=_words(response))
        reference = response.headers.get("X-Message-Id", "")
        return outcome_of(kind, failure, reference=reference, hold=_hold(response))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()


def _words(response: httpx.Response) -> str:
    """What the provider says is wrong, without any address. Its errors are JSON, except where they are HTML or nothing."""
    try:
        words = "; ".join(str(error["message"]) for error in response.json()["errors"])
    except (ValueError, KeyError, TypeError, RecursionError):
        words = response.text if "html" not in response.headers.get("Content-Type", "") else ""
    return ADDRESS.sub("<address>", words[:WORDS_CHARS])


def _hold(response: httpx.Response) -> timedelta | None:
    """How long the provider asks everybody to wait: Retry-After (seconds or a date), or X-RateLimit-Reset (epoch seconds)."""
    seconds = _seconds(response.headers.get("Retry-After"))
    if seconds is None and (reset := response.headers.get("X-RateLimit-Reset", "")).isdecimal():
        seconds = float(reset) - time.time()
    # Bounded as numbers: what is sent may be more than a timedelta holds.
    return None if seconds is None else timedelta(seconds=min(max(seconds, 1.0), LONGEST_HOLD.total_seconds()))


def _seconds(retry_after: str | None) -> float | None:
    if retry_after is None or retry_after.isdecimal():
        return None if retry_after is None else float(retry_after)
    try:
        return (parsedate_to_datetime(retry_after) - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return None
