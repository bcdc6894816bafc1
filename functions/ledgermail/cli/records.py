"""One line of a file to import, read as a user, a match or a report. Pure: bytes in, a document or its problem out.

    users    {"user_id", "email", "name", "timezone", "webhook_url", "webhook_secret", "suppressed": {"reason", "at"},
              "mailings": {NAME: {"active", "schedule", "topics", "since", "resumed_at"}}}
    matches  {"user_id", "job_id", "job": {"title", ...}, "matched_at", "match_id"}
    reports  {"topic", "version", "rows": [{...}], "columns": [...], "published_at"}

Times are ISO 8601 with a zone; without matched_at and published_at it is when they are written. The fields are those of README
(Adopt it); what is none of them is refused, as it is more often a slip than a wish.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, NoReturn

from ledgermail.delivering.addresses import usable_address
from ledgermail.delivering.content import link
from ledgermail.errors import InvalidDocument, InvalidId
from ledgermail.ledger import ids
from ledgermail.ledger.ledger import USERS
from ledgermail.mailing import Mailing
from ledgermail.planning.matches import MATCHES
from ledgermail.planning.page import read_matches
from ledgermail.planning.reports import REPORTS, VERSIONS
from ledgermail.planning.schedules import parse
from ledgermail.support.wording import zone_of
from ledgermail.webhooks.webhook import BAD_SECRET, signing_key

MOST_BYTES = 1_000_000  # of a document's fields; with its name Firestore takes 1 MiB
MOST_NAME_BYTES = 1_500
NUMBER_BYTES, TEXT_BYTES = 8, 1  # of a number or a time; that a text takes besides its own
MOST_DEPTH = 19  # maps and lists within each other; Firestore takes 20
INTEGERS = range(-(2**63), 2**63)
SOME_TIME = datetime(2000, 1, 1, tzinfo=UTC)  # stands for the one that is yet to come
A_POSTING = (
    "is a posting of a job, and not a match: a match says whom the job is for: "
    '{"user_id": ..., "job_id": ..., "job": {the posting}}'
)

Fields = Mapping[str, Any]


class Kind(StrEnum):
    """What a file is of."""

    USERS = "users"
    MATCHES = "matches"
    REPORTS = "reports"


@dataclass(frozen=True)
class Record:
    """A document to write, where to, and which of its fields is to be the time of writing."""

    path: tuple[str, ...]
    document: Mapping[str, Any]
    stamped: str = ""


def read_record(kind: Kind, line: bytes, mailings: Mapping[str, Mailing]) -> Record:
    """The record of a line. Raises InvalidDocument, which names the field."""
    fields = _fields(line)
    try:
        record = READERS[kind](fields, mailings)
    except InvalidId as error:
        raise InvalidDocument(str(error)) from error
    _storable(record.document, "", 0)
    if (size := _bytes(record.document)) > MOST_BYTES:
        raise InvalidDocument(f"takes {size} bytes in Firestore, and a document may have {MOST_BYTES}")
    return record


def _fields(line: bytes) -> Fields:
    def refuse(name: str) -> NoReturn:
        raise ValueError(f"{name} is no JSON")

    try:
        found = json.loads(line.decode("utf-8-sig"), parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise InvalidDocument(f"is no JSON: {error}" if isinstance(error, ValueError) else "is too deep") from error
    if not isinstance(found, dict):
        raise InvalidDocument("must be a JSON object")
    return found


def _user(fields: Fields, mailings: Mapping[str, Mailing]) -> Record:
    _known(
        fields, "", "user_id", "email", "name", "timezone", "mailings", "webhook_url", "webhook_secret", "suppressed"
    )
    if usable_address(fields.get("email")) is None:
        raise InvalidDocument("email: must be an address that mail can be sent to")
    for name in ("name", "timezone", "webhook_url", "webhook_secret"):
        _text(fields, name, "")
    if fields.get("timezone", "UTC") != zone_of(fields.get("timezone", "UTC")).key:
        raise InvalidDocument(f"timezone: is not known: {fields['timezone']!a}")
    if "webhook_url" in fields and link(fields["webhook_url"]) != fields["webhook_url"]:
        raise InvalidDocument("webhook_url: must be an http(s) address")
    if "webhook_secret" in fields and signing_key(fields["webhook_secret"]) is None:
        raise InvalidDocument(f"webhook_secret: is {BAD_SECRET.failure.detail}")
    chosen = _map(fields, "mailings") if "mailings" in fields else {}
    preferences = {name: _preference(name, _map(chosen, name, "mailings."), mailings) for name in chosen}
    document = {name: value for name, value in fields.items() if name not in {"user_id", "mailings"}}
    if preferences:  # an empty map would take the place of those that are there
        document["mailings"] = preferences
    if "suppressed" in fields:
        document["suppressed"] = _suppressed(_map(fields, "suppressed"))
    return Record((USERS, ids.user_key(_text(fields, "user_id"))), document)


def _suppressed(fields: Fields) -> Fields:
    """Why they are not mailed, and since when; as one that is read out of Firestore has it, perhaps for which address."""
    place = "suppressed."
    _known(fields, place, "reason", "at", "event", "address")
    for name in ("reason", *(name for name in ("event", "address") if name in fields)):
        _text(fields, name, place=place)
    return {**fields, "at": _time(fields, "at", place)}


def _preference(name: str, fields: Fields, mailings: Mapping[str, Mailing]) -> Fields:
    place = f"mailings.{name}."
    if name not in mailings:
        raise InvalidDocument(f"mailings.{name}: there is no such mailing; there are {', '.join(mailings)}")
    _known(fields, place, "active", "schedule", "topics", "since", "resumed_at")
    if not isinstance(fields.get("active"), bool):
        raise InvalidDocument(f"{place}active: must be true or false")
    if "schedule" in fields:
        try:
            parse(fields["schedule"])
        except InvalidDocument as error:
            raise InvalidDocument(f"{place}{error}") from error
    topics = fields.get("topics", [])
    if not isinstance(topics, list) or not all(isinstance(topic, str) and topic for topic in topics):
        raise InvalidDocument(f"{place}topics: must be a list of text")
    for topic in topics:
        _key(topic, f"{place}topics")
    return {**fields, **{name: _time(fields, name, place) for name in ("since", "resumed_at") if name in fields}}


def _match(fields: Fields, _mailings: Mapping[str, Mailing]) -> Record:
    if "title" in fields and "job" not in fields:
        raise InvalidDocument(A_POSTING)
    _known(fields, "", "user_id", "job_id", "job", "matched_at", "match_id")
    document = {name: fields[name] for name in ("user_id", "job_id", "job") if name in fields}
    at = {"matched_at": _time(fields, "matched_at")} if "matched_at" in fields else {}
    _, invalid = read_matches([("", {**document, "matched_at": SOME_TIME})])
    if invalid:
        raise InvalidDocument(invalid[0][1])
    default = ids.delivery_id(document["user_id"], document["job_id"])  # once again is the same one
    match_id = _key(_text(fields, "match_id", default), "match_id")
    return Record((MATCHES, match_id), {**document, **at}, "" if at else "matched_at")


def _report(fields: Fields, _mailings: Mapping[str, Mailing]) -> Record:
    _known(fields, "", "topic", "version", "rows", "columns", "published_at")
    rows, columns = fields.get("rows"), fields.get("columns", [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InvalidDocument("rows: must be a list of maps")
    if not isinstance(columns, list) or not all(isinstance(column, str) for column in columns):
        raise InvalidDocument("columns: must be a list of text")
    at = {"published_at": _time(fields, "published_at")} if "published_at" in fields else {}
    topic, version = (_key(_text(fields, name), name) for name in ("topic", "version"))
    document = {name: fields[name] for name in ("rows", "columns") if name in fields}
    return Record((REPORTS, topic, VERSIONS, version), {**document, **at}, "" if at else "published_at")


READERS: Mapping[Kind, Callable[[Fields, Mapping[str, Mailing]], Record]] = {
    Kind.USERS: _user,
    Kind.MATCHES: _match,
    Kind.REPORTS: _report,
}


def _known(fields: Fields, place: str, *names: str) -> None:
    for name in fields:
        if name not in names:
            raise InvalidDocument(f"{place}{name}: is not known; there are {', '.join(names)}")


def _text(fields: Fields, name: str, default: str | None = None, place: str = "") -> str:
    value = fields.get(name, default)
    if not isinstance(value, str) or (not value and value != default):
        raise InvalidDocument(f"{place}{name}: must be text, and not empty")
    return value


def _map(fields: Fields, name: str, place: str = "") -> Fields:
    if not isinstance(fields[name], dict):
        raise InvalidDocument(f"{place}{name}: must be a map")
    found: Fields = fields[name]
    return found


def _time(fields: Fields, name: str, place: str = "") -> datetime:
    try:
        at = datetime.fromisoformat(_text(fields, name))
    except (ValueError, InvalidDocument) as error:
        raise InvalidDocument(f"{place}{name}: must be a time in ISO 8601") from error
    if at.tzinfo is None:
        raise InvalidDocument(f"{place}{name}: has no time zone")
    try:
        return at.astimezone(UTC)
    except OverflowError as error:
        raise InvalidDocument(f"{place}{name}: is in no year from 1 to 9999 of UTC") from error


def _key(text: str, name: str) -> str:
    """A document's id. Raises InvalidDocument where Firestore takes none such."""
    try:
        return ids.user_key(text)
    except InvalidId as error:
        raise InvalidDocument(f"{name}: cannot be a document's id") from error


def _storable(value: Any, place: str, depth: int) -> None:
    """Refuse what Firestore does not take, which would else end the import in its middle."""
    if depth > MOST_DEPTH:
        raise InvalidDocument(f"{place}: has maps or lists within each other more than {MOST_DEPTH} deep")
    if isinstance(value, dict):
        for name, within in value.items():
            at = f"{place}.{name}" if place else name
            _storable(name, f"{place}.{name!a}" if place else f"{name!a}", depth)
            _nameable(name, place)
            _storable(within, at, depth + 1)
    elif isinstance(value, list):
        for position, within in enumerate(value):
            if isinstance(within, list):
                raise InvalidDocument(f"{place}[{position}]: is a list in a list")
            _storable(within, f"{place}[{position}]", depth + 1)
    elif isinstance(value, str) and not value.isascii() and any("\ud800" <= char <= "\udfff" for char in value):
        raise InvalidDocument(f"{place}: has a lone surrogate")
    elif isinstance(value, int) and value not in INTEGERS:
        raise InvalidDocument(f"{place}: is a whole number of more than 64 bits")


def _nameable(name: str, place: str) -> None:
    within = f"{place}." if place else ""
    if not name or (name.startswith("__") and name.endswith("__")):
        raise InvalidDocument(f"{within}{name!a}: cannot be the name of a field")
    if len(name.encode()) > MOST_NAME_BYTES:
        raise InvalidDocument(f"{within}{name[:20]!a}...: is longer than the name of a field may be")


def _bytes(value: Any) -> int:
    """What a value counts for by Firestore's rules: a number has 8 bytes there, and may have one in a line."""
    if isinstance(value, dict):
        return sum(_bytes(name) + _bytes(within) for name, within in value.items())
    if isinstance(value, list):
        return sum(map(_bytes, value))
    if isinstance(value, str):
        return len(value.encode()) + TEXT_BYTES
    return 1 if value is None or isinstance(value, bool) else NUMBER_BYTES
