"""The mails the server has accepted, in memory, and what was counted about them."""

import base64
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import cast

from emulator.inbox.faults import Fault
from emulator.inbox.shapes import Address, Personalization, SendBody

DELIVERY_ID = "delivery_id"  # the custom argument (at Resend: tag) in which a sender says what the mail is
DELIVERY_HEADER = "X-Ledgermail-Delivery"  # where it says so to a service that has no such arguments


class Provider(StrEnum):
    """Whom the sender took this server for."""

    SENDGRID = "sendgrid"
    RESEND = "resend"
    SMTP = "smtp"


@dataclass(frozen=True)
class Attachment:
    """A file of a mail; its size is in bytes after decoding."""

    name: str
    type: str
    size: int


@dataclass(frozen=True, kw_only=True)
class Mail:
    """One accepted mail: one personalization of one request."""

    id: str  # "<message_id>.<index of the personalization>"
    provider: Provider
    message_id: str  # what the caller got: as X-Message-Id, as Resend's id, or in the answer to DATA
    received_at: datetime
    sender: Address
    to: list[Address]
    cc: list[Address]
    bcc: list[Address]
    subject: str
    text: str
    html: str
    headers: dict[str, str]
    custom_args: dict[str, str]
    attachments: list[Attachment]
    raw: Mapping[str, object]  # the request
    number: int = 0  # order of arrival, from 1
    copy: int = 1  # how many mails of the same delivery id there were, this one included

    @property
    def delivery_id(self) -> str | None:
        """What the sender says the mail is: its custom argument, or else its header."""
        return self.custom_args.get(DELIVERY_ID) or self.header(DELIVERY_HEADER)

    @property
    def recipients(self) -> list[Address]:
        return [*self.to, *self.cc, *self.bcc]

    def header(self, name: str) -> str | None:
        """The value of a header, whose name is the same in any case; None without one."""
        return next((value for known, value in self.headers.items() if known.lower() == name.lower()), None)

    def names(self, address: str) -> bool:
        """Whether ``address`` is among the recipients; upper and lower case are the same."""
        return any(entry["email"].lower() == address.lower() for entry in self.recipients)

    def mentions(self, words: str) -> bool:
        """Whether sender, recipients, subject or delivery id contain ``words``, in any case."""
        people = [part for entry in [self.sender, *self.recipients] for part in entry.values()]
        return words.lower() in "\n".join([*cast("list[str]", people), self.subject, self.delivery_id or ""]).lower()


def mails_of(body: SendBody, message_id: str, received_at: datetime) -> list[Mail]:
    """The mails of a valid request, one a personalization; what that says wins over the request's own."""
    return [
        _mail(body, envelope, f"{message_id}.{index}", message_id, received_at)
        for index, envelope in enumerate(body["personalizations"])
    ]


def _mail(body: SendBody, envelope: Personalization, mail_id: str, message_id: str, received_at: datetime) -> Mail:
    contents = {block["type"].lower(): block["value"] for block in body.get("content", [])}
    return Mail(
        id=mail_id,
        provider=Provider.SENDGRID,
        message_id=message_id,
        received_at=received_at,
        sender=body["from"],
        to=envelope["to"],
        cc=envelope.get("cc", []),
        bcc=envelope.get("bcc", []),
        subject=envelope.get("subject") or body.get("subject", ""),
        text=contents.get("text/plain", ""),
        html=contents.get("text/html", ""),
        headers={**body.get("headers", {}), **envelope.get("headers", {})},
        custom_args={**body.get("custom_args", {}), **envelope.get("custom_args", {})},
        attachments=[
            Attachment(file["filename"], file.get("type", ""), decoded_size(file["content"]))
            for file in body.get("attachments", [])
        ],
        raw=cast("Mapping[str, object]", body),
    )


def decoded_size(content: str) -> int:
    """How many bytes a file has whose content is this base64."""
    return len(base64.b64decode(content))


@dataclass
class _Counts:
    requests: int = 0
    by_status: Counter[str] = field(default_factory=Counter)
    by_fault: Counter[str] = field(default_factory=Counter)
    deliveries: Counter[str] = field(default_factory=Counter)


class Mailbox:
    """All accepted mails, safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._mails: dict[str, Mail] = {}
        self._counts = _Counts()

    def keep(self, mails: list[Mail]) -> list[Mail]:
        """Accept these mails; they come back with their number and which copy each is."""
        with self._lock:
            return [self._keep(mail) for mail in mails]

    def _keep(self, mail: Mail) -> Mail:
        copy = 1
        if mail.delivery_id is not None:
            self._counts.deliveries[mail.delivery_id] += 1
            copy = self._counts.deliveries[mail.delivery_id]
        kept = self._mails[mail.id] = replace(mail, number=len(self._mails) + 1, copy=copy)
        return kept

    def count(self, status: str, fault: Fault | None) -> None:
        """Note one request to send, how it was answered ("none": not at all) and the fault it met."""
        with self._lock:
            self._counts.requests += 1
            self._counts.by_status[status] += 1
            if fault is not None:
                self._counts.by_fault[fault] += 1

    def get(self, mail_id: str) -> Mail | None:
        return self._mails.get(mail_id)

    def newest_first(self) -> list[Mail]:
        with self._lock:
            return list(reversed(self._mails.values()))

    def clear(self) -> None:
        """Forget every mail and every count."""
        with self._lock:
            self._mails.clear()
            self._counts = _Counts()

    def copies(self) -> dict[str, int]:
        """How many mails were accepted of each delivery id."""
        with self._lock:
            return dict(self._counts.deliveries)

    def stats(self) -> dict[str, object]:
        """Counts since the last clear. ``duplicates``: accepted mails beyond the first of each delivery id."""
        with self._lock:
            counts = self._counts
            copies = {delivery_id: n for delivery_id, n in counts.deliveries.items() if n > 1}
            return {
                "requests": counts.requests,
                "accepted": len(self._mails),
                "by_status": dict(counts.by_status),
                "by_fault": dict(counts.by_fault),
                "deliveries": len(counts.deliveries),
                "duplicates": sum(copies.values()) - len(copies),
                "duplicate_ids": sorted(copies),
            }
