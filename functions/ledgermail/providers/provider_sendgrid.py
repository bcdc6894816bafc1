"""The edge to SendGrid: post one message, and say what the answer means."""

import json
from datetime import timedelta

import httpx

from ledgermail.clock import Clock
from ledgermail.delivering.message import Message, payload
from ledgermail.delivering.outcomes import Outcome, kind_of_status, outcome_of
from ledgermail.errors import ContentError
from ledgermail.ledger.delivery import Failure
from ledgermail.providers.provider_http import client, no_answer, retry_after, said, text, until
from ledgermail.settings import Settings


class SendGrid:
    """Mail Send over one pooled HTTP client. The sendgrid package's own has no timeout and opens a connection a mail."""

    def __init__(self, settings: Settings, clock: Clock, transport: httpx.BaseTransport | None = None) -> None:
        self._settings = settings
        self._http = client(settings.sendgrid_url, settings.secrets["SENDGRID_KEY"], settings, clock, transport)

    def prepare(self, message: Message) -> bytes:
        """The request for a message, before anything is claimed for it. Raises ContentError where SendGrid's helpers refuse
        it: they look for what could be an API key in a mail's text.
        """
        from sendgrid.helpers.mail.exceptions import SendGridException

        try:
            return json.dumps(payload(message, self._settings)).encode()
        except (SendGridException, ValueError) as error:
            raise ContentError(f"{message.mailing}: {type(error).__name__}") from error

    def send(self, request: bytes, delivery_id: str) -> Outcome:  # noqa: ARG002 # it takes no key: the id is in the request
        """Make one attempt. Every answer, and every way of getting none, is an outcome; nothing is raised for them."""
        try:
            response = self._http.post("/v3/mail/send", content=request)
        except httpx.RequestError as error:
            return no_answer(error)
        kind = kind_of_status(response.status_code)
        failure = Failure(category=kind.value, code=str(response.status_code), detail=_words(response))
        reference = response.headers.get("X-Message-Id", "")
        return outcome_of(kind, failure, reference=reference, hold=_hold(response))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()


def _words(response: httpx.Response) -> str:
    """What SendGrid says is wrong. Its errors are JSON, except where they are HTML or nothing."""
    try:
        return said("; ".join(str(error["message"]) for error in response.json()["errors"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        return said(text(response))


def _hold(response: httpx.Response) -> timedelta | None:
    """How long everybody is asked to wait, by Retry-After or X-RateLimit-Reset (epoch seconds)."""
    return retry_after(response) or until(response.headers.get("X-RateLimit-Reset", ""))
