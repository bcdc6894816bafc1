"""What Resend's ``POST /emails`` takes and refuses, and the mail it becomes."""

from collections.abc import Mapping
from datetime import datetime
from email.utils import parseaddr
from typing import Any

from emulator.inbox.mails import Attachment, Mail, Provider, decoded_size
from emulator.inbox.resend.refusals import Refused, invalid, missing, unverified
from emulator.inbox.shapes import Address
from emulator.inbox.validation import is_address, is_base64

MOST_RECIPIENTS = 50  # in to
LONGEST_TAG = 256  # characters, of a name and of a value
_FORMAT = "The email address needs to follow the `email@example.com` or `Name <email@example.com>` format."
_TAG_RULE = "Tags should only contain ASCII letters, numbers, underscores, or dashes."


def read(body: Mapping[str, Any], verified: frozenset[str], message_id: str, now: datetime) -> Mail:
    """The mail of a request's body. Raises Refused with the first thing that is wrong with it."""
    sender, to = _people(body, "from"), _people(body, "to")
    if not sender:
        raise Refused(missing("from"))
    if not to:
        raise Refused(missing("to"))
    if len(to) > MOST_RECIPIENTS:
        raise Refused(invalid("to", f"The maximum number of recipients is {MOST_RECIPIENTS}."))
    subject, text, html = (_text(body, name) for name in ("subject", "text", "html"))
    if not subject:
        raise Refused(missing("subject"))
    if not (text or html):
        raise Refused(missing("html` or `text"))
    _people(body, "reply_to")
    domain = sender[0]["email"].rpartition("@")[2].lower()
    if domain not in verified and sender[0]["email"].lower() not in verified:
        raise Refused(unverified(domain))
    return Mail(
        id=f"{message_id}.0",
        provider=Provider.RESEND,
        message_id=message_id,
        received_at=now,
        sender=sender[0],
        to=to,
        cc=_people(body, "cc"),
        bcc=_people(body, "bcc"),
        subject=subject,
        text=text,
        html=html,
        headers=_headers(body),
        custom_args=_tags(body),
        attachments=_files(body),
        raw=body,
    )


def _text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name) or ""
    if not isinstance(value, str):
        raise Refused(invalid(name, "Expected a string."))
    return value


def _people(body: Mapping[str, Any], name: str) -> list[Address]:
    value = body.get(name) or []
    entries = [value] if isinstance(value, str) else value
    if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
        raise Refused(invalid(name, _FORMAT))
    return [_person(entry, name) for entry in entries]


def _person(entry: str, field: str) -> Address:
    name, email = parseaddr(entry)
    if not is_address(email) or "\n" in entry or "\r" in entry:
        raise Refused(invalid(field, _FORMAT))
    return {"email": email, "name": name} if name else {"email": email}


def _headers(body: Mapping[str, Any]) -> dict[str, str]:
    headers = body.get("headers") or {}
    if not isinstance(headers, dict) or not all(isinstance(value, str) for value in headers.values()):
        raise Refused(invalid("headers", "Expected an object of strings."))
    if any(set(name + value) & set("\r\n") for name, value in headers.items()):
        raise Refused(invalid("headers", "A header cannot contain line breaks."))
    return headers


def _tags(body: Mapping[str, Any]) -> dict[str, str]:
    tags = body.get("tags") or []
    if not isinstance(tags, list) or not all(isinstance(tag, dict) for tag in tags):
        raise Refused(invalid("tags", "Expected an array of objects."))
    pairs = {tag.get("name"): tag.get("value") for tag in tags}
    if not all(_is_tag(part) for pair in pairs.items() for part in pair):
        raise Refused(invalid("tags", _TAG_RULE))
    return {str(name): str(value) for name, value in pairs.items()}


def _is_tag(part: object) -> bool:
    return (
        isinstance(part, str)
        and part.isascii()
        and part.replace("_", "").replace("-", "").isalnum()
        and len(part) <= LONGEST_TAG
    )


def _files(body: Mapping[str, Any]) -> list[Attachment]:
    files = body.get("attachments") or []
    if not isinstance(files, list) or not all(isinstance(file, dict) for file in files):
        raise Refused(invalid("attachments", "Expected an array of objects."))
    for file in files:
        if not isinstance(file.get("filename"), str) or not isinstance(file.get("content"), str):
            raise Refused(invalid("attachments", "An attachment has a `filename` and, in base64, its `content`."))
        if not is_base64(file["content"]):
            raise Refused(invalid("attachments", "The `content` of an attachment is base64."))
    return [Attachment(file["filename"], file.get("content_type", ""), decoded_size(file["content"])) for file in files]
