"""The Resend request for one mail. No I/O."""

import base64
import hashlib
from typing import Any

from ledgermail.delivering.attachment import Attachment
from ledgermail.delivering.message import MESSAGE_ID, Message, archive_of, headers_of, safe_name
from ledgermail.settings import Settings

KEY_CHARS = 256  # of an Idempotency-Key (https://resend.com/docs/dashboard/emails/idempotency-keys)


def payload(message: Message, settings: Settings) -> dict[str, Any]:
    """The JSON of a Send Email request (https://resend.com/docs/api-reference/emails/send-email).

    The recipient is named by the address alone: there is no form for a name that may hold anything. A Message-ID is left
    out, as Resend's carrier (SES) sets its own in any case.
    """
    sender = safe_name(settings.sender_name)
    request: dict[str, Any] = {
        "from": f"{sender} <{settings.sender}>" if sender else settings.sender,
        "to": [message.recipient.address],
        "subject": message.content.subject,
        "html": message.content.html,
        "text": message.content.text,
        "headers": {name: value for name, value in headers_of(message, settings).items() if name != MESSAGE_ID},
    }
    if archive := archive_of(message, settings):
        request["bcc"] = [archive]
    if settings.reply_to:
        request["reply_to"] = settings.reply_to
    if message.content.attachment:
        request["attachments"] = [_attached(message.content.attachment)]
    return request


def key_of(delivery_id: str) -> str:
    """The Idempotency-Key of a delivery: its id, or a hash of one that is too long."""
    return delivery_id if len(delivery_id) <= KEY_CHARS else hashlib.sha256(delivery_id.encode()).hexdigest()


def _attached(file: Attachment) -> dict[str, str]:
    content = base64.b64encode(file.content).decode()
    return {"filename": file.name, "content": content, "content_type": "text/csv"}
