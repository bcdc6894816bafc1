"""One mail as SMTP carries it: RFC 5322 with MIME parts, and the envelope. No I/O."""

from datetime import datetime
from email.header import Header
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime

from ledgermail.delivering.content import one_line
from ledgermail.delivering.message import Message, archive_of, headers_of, safe_name
from ledgermail.settings import Settings

# 7bit: any server takes it. Headers that were set raw stay as they are: a link of more than 78 characters must not be
# folded into encoded words, in which no mailbox looks for one.
POLICY = SMTP.clone(cte_type="7bit", refold_source="none")
QUOTED_CHARS = 60  # of a name that is written as it is: with its header it fits on a line, which is never folded


def mail(message: Message, settings: Settings, now: datetime) -> str:
    """The mail, in ASCII, with lines that end in CRLF. The archive is not named in it."""
    made = EmailMessage(POLICY)
    made.set_raw("From", _address(settings.sender_name, settings.sender))
    made.set_raw("To", _address(message.recipient.name, message.recipient.address))
    if settings.reply_to:
        made.set_raw("Reply-To", settings.reply_to)
    made.set_raw("Subject", _words(one_line(message.content.subject)))
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


def _address(name: str, address: str) -> str:
    """A mailbox, with its name in quotes or as encoded words: RFC 5322, 3.4."""
    shown = safe_name(name)
    if not shown:
        return address
    if _is_plain(shown) and len(shown) <= QUOTED_CHARS:
        escaped = shown.replace("\\", "\\\\")
        return f'"{escaped}" <{address}>'
    return f"{_encoded(shown)}\r\n <{address}>"


def _words(text: str) -> str:
    return Header(text, "us-ascii", header_name="Subject").encode(linesep="\r\n") if _is_plain(text) else _encoded(text)


def _is_plain(words: str) -> bool:
    """Whether they are read as they stand. The standard library's own headers would decode what only looks like an encoded
    word (RFC 2047), and what comes out of `=?utf-8?q?=0d=0aBcc:_...?=` is a header.
    """
    return words.isascii() and "=?" not in words


def _encoded(words: str) -> str:
    return Header(words, "utf-8", header_name="Subject").encode(linesep="\r\n")
