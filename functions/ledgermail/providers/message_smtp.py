"""One mail as SMTP carries it: RFC 5322 with MIME parts, and the envelope. No I/O."""

from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime

from ledgermail.delivering.content import one_line
from ledgermail.delivering.message import Message, archive_of, headers_of, safe_name
from ledgermail.settings import Settings

# 7bit: any server takes it. Headers that were set raw stay as they are: a link of more than 78 characters must not be
# folded into encoded words, in which no mailbox looks for one.
POLICY = SMTP.clone(cte_type="7bit", refold_source="none")


def mail(message: Message, settings: Settings, now: datetime) -> str:
    """The mail, in ASCII, with lines that end in CRLF. The archive is not named in it."""
    made = EmailMessage(POLICY)
    made["From"] = _address(settings.sender_name, settings.sender)
    made["To"] = _address(message.recipient.name, message.recipient.address)
    if settings.reply_to:
        made["Reply-To"] = _address("", settings.reply_to)
    made["Subject"] = one_line(message.content.subject)
    made["Date"] = format_datetime(now)
    for name, value in headers_of(message, settings).items():
        made.set_raw(name, one_line(value))  # so that no header can be added here either
    made.set_content(message.content.text)
    made.add_alternative(message.content.html, subtype="html")
    if file := message.content.attachment:
        made.add_attachment(file.content, maintype="text", subtype="csv", filename=file.name)
    return made.as_bytes().decode("ascii")


def recipients(message: Message, settings: Settings) -> list[str]:
    """The envelope: the recipient, then the archive if there is one."""
    return [message.recipient.address, *filter(None, [archive_of(message, settings)])]


def _address(name: str, address: str) -> Address:
    return Address(safe_name(name), addr_spec=address)
