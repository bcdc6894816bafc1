"""The edge to an SMTP server: hand one mail over in a conversation of its own, and say what it came to."""

import json
import smtplib
import ssl
from email.errors import MessageError

from ledgermail.clock import Clock
from ledgermail.delivering.message import Message
from ledgermail.delivering.outcomes import Accepted, Kind, Outcome, outcome_of
from ledgermail.errors import ContentError
from ledgermail.ledger.delivery import Failure
from ledgermail.providers.message_smtp import mail, recipients
from ledgermail.providers.smtp_outcomes import kind_of_break, kind_of_reply
from ledgermail.providers.smtp_talk import Refusal, Talk
from ledgermail.providers.words import said
from ledgermail.settings import Settings

REFERENCE_CHARS = 200  # of the server's words for a mail that it took: its id in the queue is among them


class Smtp:
    """Submission by SMTP. A connection for each mail: one that is kept is closed by the server at a bad moment."""

    def __init__(self, settings: Settings, clock: Clock, context: ssl.SSLContext | None = None) -> None:
        """`context` holds the authorities to trust, by default certifi's."""
        self._settings = settings
        self._clock = clock
        self._context = context

    def prepare(self, message: Message) -> bytes:
        """The envelope and the mail, before anything is claimed for it. Raises ContentError for what no mail can hold."""
        try:
            made = mail(message, self._settings, self._clock.now())
        except (ValueError, LookupError, MessageError) as error:
            raise ContentError(f"{message.mailing}: {type(error).__name__}") from error
        return json.dumps({"to": recipients(message, self._settings), "mail": made}).encode()

    def send(self, request: bytes, delivery_id: str) -> Outcome:  # noqa: ARG002 # it takes no key: the id is in the mail
        """Make one attempt. Every reply, and every way of getting none, is an outcome; nothing is raised for them."""
        prepared = json.loads(request)
        sent = prepared["mail"].encode("ascii")
        (to, *archive) = prepared["to"]
        talk = Talk(self._settings, self._context)
        try:
            with talk:
                talk.open()
                talk.write_as(self._settings.sender, len(sent))
                talk.write_to(to, archive)
                return Accepted(said(talk.hand_over(sent))[:REFERENCE_CHARS])
        except Refusal as no:
            kind = kind_of_reply(talk.step, no.code, no.words)
            return _outcome(kind, str(no.code), f"{talk.step}: {no.words}")
        except (OSError, smtplib.SMTPException, ValueError) as error:
            name = "TimeoutError" if talk.over.is_set() else type(error).__name__
            return _outcome(kind_of_break(talk.step, error), name, talk.step)

    def close(self) -> None:
        """Nothing is kept open."""


def _outcome(kind: Kind, code: str, words: str) -> Outcome:
    return outcome_of(kind, Failure(category=kind.value, code=code, detail=said(words)))
