"""The edge to SendGrid: post one message, and say what the answer means."""

import json
from datetime import datetime, timedelta

import httpcore

from ledgermail.clock import Clock
from ledgermail.delivering.message import Message
from ledgermail.delivering.outcomes import Accepted, Kind, Outcome, kind_of_status, outcome_of
from ledgermail.errors import ContentError
from ledgermail.ledger.delivery import Failure
from ledgermail.providers.message_sendgrid import payload
from ledgermail.providers.provider_http import (
    NO_ANSWER,
    Api,
    content_of,
    header,
    json_object,
    no_answer,
    retry_after,
    text,
    until,
)
from ledgermail.providers.words import said
from ledgermail.settings import Settings


class SendGrid:
    """Mail Send over connections that are kept. The sendgrid package's own has no timeout and opens a connection a mail."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._api = Api(settings.sendgrid_url, settings.secrets["SENDGRID_KEY"], settings, clock)

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
            answer = self._api.post("/v3/mail/send", request)
        except NO_ANSWER as error:
            return no_answer(error)
        kind = kind_of_status(answer.status)
        if kind is Kind.ACCEPTED:
            return Accepted(header(answer, "x-message-id"))
        failure = Failure(category=kind.value, code=str(answer.status), detail=_words(answer))
        return outcome_of(kind, failure, hold=_hold(answer, self._clock.now()))

    def close(self) -> None:
        """Close the connections."""
        self._api.close()


def _words(answer: httpcore.Response) -> str:
    """What SendGrid says is wrong. Its errors are JSON, except where they are HTML or nothing."""
    try:
        return said("; ".join(str(error["message"]) for error in json_object(content_of(answer))["errors"]))
    except (KeyError, TypeError):
        return said(text(answer))


def _hold(answer: httpcore.Response, now: datetime) -> timedelta | None:
    """How long everybody is asked to wait, by Retry-After or X-RateLimit-Reset (epoch seconds)."""
    return retry_after(answer, now) or until(header(answer, "x-ratelimit-reset"), now)
