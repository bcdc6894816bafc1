"""Resource names, their rules (docs: "Usage and limits", "Constraints on collection and document IDs"), and field paths."""

import re
from functools import lru_cache
from typing import NamedTuple

from emulator.firestore.refusals import Refused, invalid

NAME = "__name__"
FieldPath = tuple[str, ...]  # ("address", "city"); the document's own name is (NAME,)
NAME_PATH: FieldPath = (NAME,)

MAX_ID_BYTES = 1500  # of a document, a collection, a field's name
MAX_PATH = 20  # names of fields in one another: a document is no deeper
MAX_SEGMENTS = 200  # of collections and documents together: 100 levels
_RESERVED = re.compile(r"__.+__", re.DOTALL)  # "____" is somebody's own
_NUMERIC_ID = re.compile(r"__id(-?\d+)__")  # how an id imported from Datastore is spelt; allowed
_DATABASE = re.compile(r"projects/[^/]+/databases/[^/]+")
_SEGMENT = re.compile(r"([a-zA-Z_][a-zA-Z_0-9]*)|`((?:[^`\\]|\\.)+)`", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_RULE = (
    "Unquoted property paths must match regex ([a-zA-Z_][a-zA-Z_0-9]*), "
    r"and quoted property paths must match regex (`(?:[^`\\]|(?:\\.))+`)"
)


class DocumentName(NamedTuple):
    """A document's full name and its parts."""

    text: str
    database: str  # projects/P/databases/D
    collection: str  # full name of the collection that holds it
    collection_id: str
    id: str


@lru_cache(maxsize=65536)
def document_name(text: str) -> DocumentName:
    """Return the parts of a document's name. Raises Refused, INVALID_ARGUMENT, for one production would not take."""
    database, segments = _split(text, "Document")
    if not segments:
        raise invalid(f'Document name "{text}" is invalid: it names no document.')
    if len(segments) % 2:
        raise invalid(f'Document name "{text}" lacks "/" at index {len(text)}.')
    _check_segments(text, segments)
    return DocumentName(text, database, text.rpartition("/")[0], segments[-2], segments[-1])


@lru_cache(maxsize=4096)
def parent_database(text: str) -> str:
    """Return the database of a parent: a document, or ``<database>/documents``. Raises Refused."""
    database, segments = _split(text, "Document parent")
    if len(segments) % 2:
        raise invalid(f'Document parent name "{text}" lacks "/" at index {len(text)}.')
    _check_segments(text, segments)
    return database


@lru_cache(maxsize=4096)
def database_name(text: str) -> str:
    """Return the name itself. Raises Refused unless it is projects/P/databases/D."""
    if not _DATABASE.fullmatch(text):
        raise invalid(f'Database name "{text}" is not of the form projects/<project>/databases/<database>.')
    return text


def check_collection_id(text: str) -> None:
    """Raise Refused, INVALID_ARGUMENT, for an id that no collection can have; the empty one stands for all."""
    if "/" in text:
        raise invalid(f'Collection id "{text}" is invalid because it contains "/".')
    if text in (".", ".."):
        raise invalid(f'Collection id "{text}" is invalid because it is reserved.')
    if text:
        _check_id(text, "Collection id")


def check_reference(text: str) -> None:
    """Raise Refused unless the value of a reference names a document, of this database or another."""
    document_name(text)


def project_of(name: str) -> str:
    """Return the project of any resource name."""
    return name.split("/", 2)[1]


def name_order(name: str) -> tuple[str, ...]:
    """Return what names are ordered by: segment by segment."""
    segments = name.split("/")
    return tuple(map(id_order, segments)) if "/__id" in name else tuple(segments)


def id_order(segment: str) -> str:
    """Return what collection and document ids are ordered by: the numeric ones, by number, before all others."""
    numeric = _NUMERIC_ID.fullmatch(segment) if segment.startswith("__id") else None
    return f"\0{int(numeric[1]) + 2**63:020}" if numeric else segment


@lru_cache(maxsize=16384)
def field_path(text: str) -> FieldPath:
    """Return the names along a path such as ``a.`b-c`.d``. Raises Refused, INVALID_ARGUMENT."""
    if text == NAME:
        return NAME_PATH
    if not text:
        raise invalid("Invalid empty property path string.")
    names, at = [], 0
    while True:
        match = _SEGMENT.match(text, at)
        if match is None:
            raise _bad_path(text)
        plain, quoted = match.groups()
        names.append(plain if quoted is None else _ESCAPED.sub(r"\1", quoted))
        at = match.end()
        if at == len(text):
            break
        if text[at] != ".":
            raise _bad_path(text)
        at += 1
    if len(names) > MAX_PATH:
        raise invalid(f"paths must have at most {MAX_PATH} elements")
    for name in names:
        if _RESERVED.fullmatch(name):
            raise invalid(f"Invalid reserved name in field path {text}")
    return tuple(names)


def is_reserved(name: str) -> bool:
    """Whether a field may not have this name."""
    return _RESERVED.fullmatch(name) is not None


def _bad_path(text: str) -> Refused:
    return invalid(f'Invalid property path "{text}". {_RULE}')


def _split(text: str, what: str) -> tuple[str, list[str]]:
    database, _, rest = text.partition("/documents")
    if not _DATABASE.fullmatch(database) or (rest and rest[0] != "/") or "/documents" not in text:
        raise invalid(f'{what} name "{text}" is not of the form projects/<project>/databases/<database>/documents/...')
    return database, rest[1:].split("/") if rest else []


def _check_segments(text: str, segments: list[str]) -> None:
    if len(segments) > MAX_SEGMENTS:
        raise invalid("Key path is too long. Cannot exceed 100 elements.")
    for at, segment in enumerate(segments):
        if not segment:
            raise invalid(f'Document name "{text}" has an empty segment.')
        if segment in (".", ".."):
            raise invalid(f'Document name "{text}" contains a resource id "{segment}".')
        _check_id(segment, "Resource id" if at % 2 else "Collection id")


def _check_id(text: str, what: str) -> None:
    if _RESERVED.fullmatch(text) and not _NUMERIC_ID.fullmatch(text):
        raise invalid(f'{what} "{text}" is invalid because it is reserved.')
    if len(text.encode()) > MAX_ID_BYTES:
        raise invalid("The key path element name is longer than 1500 bytes.")
