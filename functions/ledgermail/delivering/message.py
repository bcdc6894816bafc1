"""One mail, ready to be sent, and what of it is the same whoever sends it. No I/O."""

import hashlib
from dataclasses import dataclass

from ledgermail.delivering.content import Rendered, one_line
from ledgermail.delivering.eligibility import Recipient
from ledgermail.settings import Settings

MESSAGE_ID = "Message-ID"
DELIVERY_HEADER = "X-Ledgermail-Delivery"


@dataclass(frozen=True)
class Message:
    """One mail, ready to be sent."""

    delivery_id: str
    mailing: str
    recipient: Recipient
    content: Rendered
    unsubscribe_url: str


def headers_of(message: Message, settings: Settings) -> dict[str, str]:
    """The headers that a mail carries whoever sends it: ASCII, on one line each, the same at every attempt.

    By them a mailbox can tell a duplicate, and a person who looks into a mail can find its delivery. The two of RFC 8058 make
    the mailbox show its own button, which unsubscribes by one POST.
    """
    return {
        MESSAGE_ID: message_id(message.delivery_id, settings.sender),
        DELIVERY_HEADER: message.delivery_id,
        "List-Unsubscribe": f"<{message.unsubscribe_url}>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    }


def archive_of(message: Message, settings: Settings) -> str:
    """Who gets a blind copy; nobody where that is the recipient, as the same address twice is refused."""
    return "" if settings.archive.lower() == message.recipient.address.lower() else settings.archive


def message_id(delivery_id: str, sender: str) -> str:
    """The same for every attempt of a delivery, so that a mailbox can tell a duplicate."""
    return f"<{hashlib.sha256(delivery_id.encode()).hexdigest()[:32]}@{sender.rpartition('@')[2]}>"


def safe_name(name: str) -> str:
    """A display name that every provider takes: one line, without the characters that end a name in a header."""
    return one_line(name.translate(str.maketrans(';,<>"', "     ")))
