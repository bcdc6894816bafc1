"""What the replies of an SMTP server, and its silence, say of an attempt, by the step at which they come.

Until the mail itself begins to leave, nothing was sent, whatever breaks. From then on only a reply tells.
"""

import smtplib
from enum import StrEnum

from ledgermail.delivering.outcomes import Kind


class Step(StrEnum):
    """The steps of handing one mail over, in their order."""

    CONNECT = "connect"
    GREETING = "greeting"
    EHLO = "ehlo"
    STARTTLS = "starttls"
    AUTH = "auth"
    MAIL = "mail"  # who writes
    RCPT = "rcpt"  # to whom
    ARCHIVE = "archive"  # to whom besides
    DATA = "data"  # may it come?
    BODY = "body"  # the mail, and the reply to it


# A refusal for good (5xx) at these is about the mail; at all others about our account, sender, archive or server.
ABOUT_THE_MAIL = frozenset({Step.RCPT, Step.DATA, Step.BODY})
CLOSING = 421  # RFC 5321, 3.8: the service is closing, whatever it was asked
TOO_LARGE = 552  # RFC 1870, 6.1: said to MAIL of a mail's size
UNAUTHENTICATED = frozenset({530, 534, 535, 538})  # RFC 4954, 6; at any step
# In the words of every server that takes us for a stranger, who may write only to its own mailboxes. That is no fault of the
# mail, so it is not given up; but a server may be repeating another's words about one recipient, who must hold nobody up.
NO_RELAY = "relay"


def kind_of_reply(step: Step, code: int, words: str) -> Kind:
    """What a reply says of the attempt, other than that the next step may come. The code of one that is none is -1."""
    if step is Step.BODY and not 400 <= code <= 599:
        return Kind.ACCEPTED if 200 <= code <= 299 else Kind.AMBIGUOUS
    if code == CLOSING:
        return Kind.THROTTLED
    if 400 <= code <= 499:
        return Kind.TRANSIENT
    if step is Step.MAIL and code == TOO_LARGE:
        return Kind.REJECTED
    if step not in ABOUT_THE_MAIL or code in UNAUTHENTICATED or not 500 <= code <= 599:
        return Kind.MISCONFIGURED
    return Kind.TRANSIENT if step is Step.RCPT and NO_RELAY in words.lower() else Kind.REJECTED


def kind_of_break(step: Step, error: Exception) -> Kind:
    """What an error of the connection, or of what smtplib makes of it, says of the attempt."""
    if step is Step.BODY:
        return Kind.AMBIGUOUS
    if isinstance(error, OSError) and not isinstance(error, smtplib.SMTPException):
        return Kind.TRANSIENT  # refused, DNS, TLS, a time limit
    if isinstance(error, smtplib.SMTPServerDisconnected):
        return Kind.TRANSIENT
    return Kind.MISCONFIGURED  # no STARTTLS, no AUTH that both know, a host that is no name
