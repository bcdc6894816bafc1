"""The JSON types a Mail Send body must have, checked before any rule looks at a value."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Required, TypedDict


@dataclass(frozen=True)
class Problem:
    """One entry of SendGrid's ``errors`` list. ``field`` is a dotted path with list indexes, or None."""

    message: str
    field: str | None = None
    help: str | None = None


# What the service says when its own decoder fails (sendgrid-nodejs#288): no word about which field it was.
BAD_REQUEST = Problem("Bad Request")


class Address(TypedDict, total=False):
    """A mailbox: the address and, if it has one, the name shown beside it."""

    email: str
    name: str


class Content(TypedDict, total=False):
    """One body of the mail."""

    type: str
    value: str


class Attachment(TypedDict, total=False):
    """A file; ``content`` is base64."""

    content: str
    type: str
    filename: str
    disposition: str
    content_id: str


class Personalization(TypedDict, total=False):
    """One envelope: each becomes a mail of its own."""

    to: list[Address]
    cc: list[Address]
    bcc: list[Address]
    subject: str
    headers: dict[str, str]
    custom_args: dict[str, str]


Sender = TypedDict("Sender", {"from": Required[Address]}, total=False)


class SendBody(Sender, total=False):
    """The whole request, as far as this server looks at it."""

    reply_to: Address
    reply_to_list: list[Address]
    personalizations: Required[list[Personalization]]
    subject: str
    content: list[Content]
    attachments: list[Attachment]
    headers: dict[str, str]
    custom_args: dict[str, str]
    categories: list[str]
    template_id: str
    mail_settings: dict[str, dict[str, object]]


class Strings:
    """Marks an object of any keys whose values are strings: the decoder itself fails on others."""


Shape = Strings | type | list["Shape"] | dict[str, "Shape"]
_STRINGS = Strings()
_ADDRESS: Shape = {"email": str, "name": str}
_ADDRESSES: Shape = [_ADDRESS]
_SEND_BODY: Shape = {
    "from": _ADDRESS,
    "reply_to": _ADDRESS,
    "reply_to_list": _ADDRESSES,
    "personalizations": [
        {
            "to": _ADDRESSES,
            "cc": _ADDRESSES,
            "bcc": _ADDRESSES,
            "subject": str,
            "headers": _STRINGS,
            "custom_args": _STRINGS,
        }
    ],
    "subject": str,
    "content": [{"type": str, "value": str}],
    "attachments": [{"content": str, "type": str, "filename": str, "disposition": str, "content_id": str}],
    "headers": _STRINGS,
    "custom_args": _STRINGS,
    "categories": [str],
    "template_id": str,
    "mail_settings": {"sandbox_mode": {"enable": bool}},
}
_JSON_NAMES = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}


def misfits(body: object) -> list[Problem]:
    """Every value of a wrong JSON type. A failure of the decoder is answered alone, as the service does."""
    found = list(_misfits(body, _SEND_BODY, ""))
    return [BAD_REQUEST] if BAD_REQUEST in found else found


def _misfits(value: object, shape: Shape, field: str) -> Iterator[Problem]:
    if isinstance(shape, Strings):
        if not isinstance(value, dict) or not all(isinstance(entry, str) for entry in value.values()):
            yield BAD_REQUEST
        return
    expected = shape if isinstance(shape, type) else type(shape)
    if type(value) is not expected:
        # The wording of laravel-sendgrid-driver#96.
        given = _JSON_NAMES.get(type(value), "null")
        yield Problem(f"Invalid type. Expected: {_JSON_NAMES[expected]}, given: {given}.", field or None)
        return
    for name, part, inner in _parts(value, shape):
        yield from _misfits(part, inner, f"{field}.{name}" if field else name)


def _parts(value: object, shape: Shape) -> Iterator[tuple[str, object, Shape]]:
    """The named fields or numbered entries of ``value``, each with the shape it must have."""
    if isinstance(value, dict) and isinstance(shape, dict):
        yield from ((name, value[name], inner) for name, inner in shape.items() if name in value)
    elif isinstance(value, list) and isinstance(shape, list):
        yield from ((str(index), part, shape[0]) for index, part in enumerate(value))
