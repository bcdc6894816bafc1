"""The CSV file that goes with a mail: every item, in the columns that the mailing declares. Pure."""

import csv
import hashlib
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any
from urllib.parse import unquote

from ledgermail.errors import ContentError
from ledgermail.ledger.delivery import Delivery
from ledgermail.mailing import ATTACHMENT, Mailing

MOST_BYTES = 10 * 1024 * 1024  # SendGrid takes 30 MB for a whole request, in which this grows by a third as base64
NAME_CHARS = 100  # of an occasion within the file's name
# What a spreadsheet takes for the start of a formula, where a cell starts: also after the separator that a spreadsheet set
# to German or French opens the file with, and, as quotes that follow a comma are none to it, at the start of a line within a
# text, where a pair of quotes is nothing; full-width signs are taken for them in East Asia.
# (https://owasp.org/www-community/attacks/CSV_Injection)
SIGNS = r"=+\-@\t\uff1d\uff0b\uff0d\uff20"
FORMULA = re.compile(rf'^(?=[{SIGNS}\r\n])|(?<=;)(?="*[{SIGNS}\r\n])|(?<=[\r\n])(?="*[{SIGNS}])')


@dataclass(frozen=True)
class Attachment:
    """A file. The same items make the same name, bytes and hash at every attempt."""

    name: str
    content: bytes
    sha256: str  # in hex


def attachment(mailing: Mailing, delivery: Delivery, items: Sequence[Mapping[str, Any]]) -> Attachment | None:
    """The file of these items, None for a mailing without one. A column that an item lacks is empty there.

    UTF-8 with a byte order mark: a person opens it, and without the mark Excel takes the bytes for its own code page.
    Raises ContentError, which names the column, for one that no item has, and for a file of more than 10 MB.
    """
    if not mailing.attachment:
        return None
    place = f"{mailing.name}/{ATTACHMENT}"
    rows = [[_cell(item, column) for column in mailing.attachment] for item in items]
    for column, cells in zip(mailing.attachment, zip(*rows, strict=True), strict=True):
        if all(cell is None for cell in cells):
            raise ContentError(f"{place}: no item has the column {column!r}")
    try:
        content = _csv([[_harmless(column) for column in mailing.attachment], *rows]).encode("utf-8-sig")
    except (csv.Error, UnicodeEncodeError) as error:
        raise ContentError(f"{place}: {error}") from error
    if len(content) > MOST_BYTES:
        raise ContentError(f"{place}: comes out at {len(content)} bytes, more than {MOST_BYTES}")
    return Attachment(_name(mailing, delivery), content, hashlib.sha256(content).hexdigest())


def value_of(item: Mapping[str, Any], column: str) -> object:
    """What an item has under a column; ``a.b`` is b within a. Raises LookupError when it has none."""
    value: object = item
    for name in column.split("."):
        if not isinstance(value, Mapping):
            raise LookupError(column)
        value = value[name]
    return value


def words(value: object) -> str:
    """A value as a person reads it: times in ISO 8601, lists with commas, nothing for none."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case date():
            return value.isoformat()
        case list() | tuple():
            return ", ".join(map(words, value))
        case Mapping():
            return json.dumps(value, sort_keys=True, ensure_ascii=False, default=words)
        case _:
            return str(value)


def _cell(item: Mapping[str, Any], column: str) -> str | int | float | None:
    """None is for a column that the item does not have. A number stays one: a spreadsheet cannot run it."""
    try:
        value = value_of(item, column)
    except LookupError:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    return _harmless(words(value))


def _harmless(text: str) -> str:
    return FORMULA.sub("'", text)


def _csv(rows: Sequence[Sequence[object]]) -> str:
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue()


def _name(mailing: Mailing, delivery: Delivery) -> str:
    """`<mailing>-<occasion>.csv`, of characters that every file system takes."""
    occasion = re.sub(r"[^A-Za-z0-9.]+", "-", unquote(delivery.subject.rpartition(":")[2]))[:NAME_CHARS].strip("-.")
    return f"{mailing.name}-{occasion}.csv" if occasion else f"{mailing.name}.csv"
