"""The SendGrid request for one mail, by the helpers of the sendgrid package. No I/O."""

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ledgermail.delivering.attachment import Attachment
from ledgermail.delivering.content import Rendered, one_line
from ledgermail.delivering.eligibility import Recipient
from ledgermail.settings import Settings

MESSAGE_ID = "Message-ID"
DELIVERY_HEADER = "X-Ledgermail-Delivery"
# Both off, whatever the account says: the first would lead every link through SendGrid, which would so learn the tokens that
# unsubscribe; the second would add an unsubscribe link and headers of SendGrid's own.
TRACKING: Mapping[str, Any] = {
    "click_tracking": {"enable": False, "enable_text": False},
    "subscription_tracking": {"enable": False},
}


@dataclass(frozen=True)
class Message:
    """One mail, ready to be sent."""

    delivery_id: str
    mailing: str
    recipient: Recipient
    content: Rendered
    unsubscribe_url: str


def payload(message: Message, settings: Settings) -> dict[str, Any]:
    """The JSON of a v3 Mail Send request.

    The delivery id travels as a custom argument, which every later event carries, and as a stable Message-ID. Custom
    arguments are stored by SendGrid: no address goes there.
    """
    from sendgrid.helpers.mail import Bcc, Email, Mail, ReplyTo, To

    mail = Mail(
        from_email=Email(settings.sender, safe_name(settings.sender_name) or None),
        subject=message.content.subject,
        plain_text_content=message.content.text,  # the helper puts text before HTML, as SendGrid demands
        html_content=message.content.html,
    )
    mail.add_to(To(message.recipient.address, safe_name(message.recipient.name) or None))
    if archive := archive_of(message, settings):
        mail.add_bcc(Bcc(archive))
    if settings.reply_to:
        mail.reply_to = ReplyTo(settings.reply_to)
    if message.content.attachment:
        mail.add_attachment(_attached(message.content.attachment))
    written: dict[str, Any] = mail.get()
    arguments = {"delivery_id": message.delivery_id, "mailing": message.mailing}
    return written | {"headers": headers_of(message, settings), "custom_args": arguments, "tracking_settings": TRACKING}


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
    """A display name that SendGrid takes: one line, without the characters that end a name in a header."""
    return one_line(name.translate(str.maketrans(';,<>"', "     ")))


def _attached(file: Attachment) -> Any:
    from sendgrid.helpers import mail

    content = base64.b64encode(file.content).decode()
    return mail.Attachment(mail.FileContent(content), mail.FileName(file.name), mail.FileType("text/csv"))
