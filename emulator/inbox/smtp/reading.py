"""The mail that an SMTP transaction becomes."""

from collections.abc import Sequence
from datetime import datetime
from email import message_from_bytes, policy
from email.headerregistry import AddressHeader
from email.message import EmailMessage

from emulator.inbox.mails import Attachment, Mail, Provider
from emulator.inbox.shapes import Address

_SHOWN_APART = {"from", "to", "cc", "bcc", "subject", "content-type", "content-transfer-encoding", "mime-version"}


def read(content: bytes, sender: str, recipients: Sequence[str], queue_id: str, now: datetime) -> Mail:
    """The mail of a message and its envelope. Recipients that no header names are blind copies."""
    message = message_from_bytes(content, policy=policy.default)
    to, cc = _people(message, "To"), _people(message, "Cc")
    [author, *_] = _people(message, "From") or [Address(email=sender)]
    named = {person["email"].lower() for person in [*to, *cc]}
    return Mail(
        id=f"{queue_id}.0",
        provider=Provider.SMTP,
        message_id=queue_id,
        received_at=now,
        sender=author,
        to=to,
        cc=cc,
        bcc=[{"email": address} for address in recipients if address.lower() not in named],
        subject=str(message.get("Subject", "")),
        text=_part(message, "plain"),
        html=_part(message, "html"),
        headers={name: str(value) for name, value in message.items() if name.lower() not in _SHOWN_APART},
        custom_args={},
        attachments=[_file(part) for part in message.iter_attachments()],
        raw={"mail_from": sender, "rcpt_to": list(recipients), "message": content.decode(errors="replace")},
    )


def _people(message: EmailMessage, name: str) -> list[Address]:
    header = message.get(name)
    addresses = header.addresses if isinstance(header, AddressHeader) else ()
    return [
        {"email": one.addr_spec, "name": one.display_name} if one.display_name else {"email": one.addr_spec}
        for one in addresses
    ]


def _part(message: EmailMessage, kind: str) -> str:
    part = message.get_body((kind,))
    return "" if part is None else str(part.get_content()).replace("\r\n", "\n")


def _file(part: EmailMessage) -> Attachment:
    payload = part.get_payload(decode=True)
    return Attachment(part.get_filename("") or "", part.get_content_type(), len(payload or b""))
