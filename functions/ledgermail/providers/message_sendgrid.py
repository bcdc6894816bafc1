"""The SendGrid request for one mail, by the helpers of the sendgrid package. No I/O."""

import base64
from collections.abc import Mapping
from typing import Any

from ledgermail.delivering.attachment import Attachment
from ledgermail.delivering.message import Message, archive_of, headers_of, safe_name
from ledgermail.settings import Settings

# Both off, whatever the account says: the first would lead every link through SendGrid, which would so learn the tokens that
# unsubscribe; the second would add an unsubscribe link and headers of SendGrid's own.
TRACKING: Mapping[str, Any] = {
    "click_tracking": {"enable": False, "enable_text": False},
    "subscription_tracking": {"enable": False},
}


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


def _attached(file: Attachment) -> Any:
    from sendgrid.helpers import mail

    content = base64.b64encode(file.content).decode()
    return mail.Attachment(mail.FileContent(content), mail.FileName(file.name), mail.FileType("text/csv"))
