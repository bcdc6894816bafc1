"""The edge to Resend: post one message under its delivery's key, so that what is asked for twice is mailed once."""

import json
from datetime import datetime, timedelta
from typing import Any

import httpcore

from ledgermail.clock import Clock
from ledgermail.delivering.message import Message
from ledgermail.delivering.outcomes import Outcome, outcome_of
from ledgermail.ledger.delivery import Failure
from ledgermail.providers.message_resend import key_of, payload
from ledgermail.providers.provider_http import (
    LONGEST_HOLD,
    NO_ANSWER,
    Api,
    content_of,
    json_object,
    no_answer,
    retry_after,
    text,
)
from ledgermail.providers.resend_outcomes import kind_of_resend
from ledgermail.providers.words import said, written
from ledgermail.settings import Settings

QUOTA = "quota_exceeded"  # of a day or a month: how its error ends


class Resend:
    """Send Email over connections that are kept. The resend package's own sets the key for the whole process."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._api = Api(settings.resend_url, settings.secrets["RESEND_KEY"], settings, clock)

    def prepare(self, message: Message) -> bytes:
        """The request for a message, before anything is claimed for it."""
        return json.dumps(payload(message, self._settings)).encode()

    def send(self, request: bytes, delivery_id: str) -> Outcome:
        """Make one attempt. Every answer, and every way of getting none, is an outcome; nothing is raised for them.

        A repeated request under the same key is answered as the first was, within 24 hours, and nothing more is sent.
        """
        try:
            answer = self._api.post("/emails", request, (b"Idempotency-Key", key_of(delivery_id).encode()))
        except NO_ANSWER as error:
            return no_answer(error)
        read = json_object(content_of(answer))
        name, words = _word(read, "name"), _word(read, "message") or text(answer)
        kind = kind_of_resend(answer.status, name, words)
        code = f"{answer.status} {name}".strip()
        failure = Failure(category=kind.value, code=said(code), detail=said(words))
        hold = _hold(answer, name, self._clock.now())
        return outcome_of(kind, failure, reference=_word(read, "id"), hold=hold)

    def close(self) -> None:
        """Close the connections."""
        self._api.close()


def _word(read: dict[str, Any], name: str) -> str:
    word = read.get(name)
    return written(word) if isinstance(word, str) else ""


def _hold(answer: httpcore.Response, name: str, now: datetime) -> timedelta | None:
    return LONGEST_HOLD if name.endswith(QUOTA) else retry_after(answer, now)
