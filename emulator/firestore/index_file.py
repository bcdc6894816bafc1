"""What a firestore.indexes.json says: the composite indexes, and which single fields are indexed how.

The format is Firebase's: ``{"indexes": [...], "fieldOverrides": [...]}``. Without an override a field has the three
automatic indexes of its collection; an override replaces them for the field and for everything inside its map
(docs: "Index types in Cloud Firestore", single-field indexes and exemptions).
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from google.cloud.firestore_v1.field_path import FieldPath

Kind = Literal["ASCENDING", "DESCENDING", "CONTAINS"]
Scope = Literal["COLLECTION", "COLLECTION_GROUP"]
DIRECTIONS = ("ASCENDING", "DESCENDING")
SCOPES = ("COLLECTION", "COLLECTION_GROUP")
AUTOMATIC: tuple[tuple[Kind, Scope], ...] = (
    ("ASCENDING", "COLLECTION"),
    ("DESCENDING", "COLLECTION"),
    ("CONTAINS", "COLLECTION"),
)
NAME = "__name__"
EVERY_FIELD = "*"


class IndexFileError(Exception):
    """The index file cannot be read; the message names the entry and what is wrong with it."""


@dataclass(frozen=True)
class Index:
    """One index: its fields in order, then the document's name, by which every index ends."""

    collection: str
    scope: Scope
    fields: tuple[tuple[str, Kind], ...]
    name: Kind

    @property
    def single_field(self) -> bool:
        """Whether this is what Firestore calls a single-field index: it is configured as an override, not an entry."""
        return len(self.fields) == 1 and self.name == name_after(self.fields)

    def entry(self) -> dict[str, Any]:
        """This index as it is written in the file."""
        if self.single_field:
            return override_entry(self.collection, self.fields[0][0], [(self.fields[0][1], self.scope)])
        implied = self.fields and self.name == name_after(self.fields)
        fields = self.fields if implied else (*self.fields, (NAME, self.name))
        listed = [{"fieldPath": path, **_kind_entry(kind)} for path, kind in fields]
        return {"collectionGroup": self.collection, "queryScope": self.scope, "fields": listed}


@dataclass(frozen=True)
class IndexFile:
    """A whole file: ``composites``, and by (collection, field) the single-field indexes that replace the automatic."""

    composites: tuple[Index, ...]
    overrides: Mapping[tuple[str, str], tuple[tuple[Kind, Scope], ...]]

    def singles(self, collection: str, field: str) -> list[Index]:
        """Return the single-field indexes of this field: of the closest override, else the automatic ones."""
        return [single(collection, field, kind, scope) for kind, scope in self._kinds(collection, field)]

    def _kinds(self, collection: str, field: str) -> tuple[tuple[Kind, Scope], ...]:
        parts = FieldPath.from_api_repr(field).parts
        closest = [FieldPath(*parts[:length]).to_api_repr() for length in range(len(parts), 0, -1)]
        for path in (*closest, EVERY_FIELD):
            if (collection, path) in self.overrides:
                return self.overrides[collection, path]
        return AUTOMATIC


def single(collection: str, field: str, kind: Kind, scope: Scope) -> Index:
    """Return the index of one field alone."""
    return Index(collection, scope, ((field, kind),), name_after([(field, kind)]))


def name_after(fields: Sequence[tuple[str, Kind]]) -> Kind:
    """Return the direction of the name that ends an index of these fields: the last one's; after an array, upwards."""
    return "DESCENDING" if fields and fields[-1][1] == "DESCENDING" else "ASCENDING"


def override_entry(collection: str, field: str, kinds: Iterable[tuple[Kind, Scope]]) -> dict[str, Any]:
    """Return an entry of ``fieldOverrides``."""
    indexes = [{**_kind_entry(kind), "queryScope": scope} for kind, scope in kinds]
    return {"collectionGroup": collection, "fieldPath": field, "indexes": indexes}


def read(path: Path) -> IndexFile:
    """Read and check an index file. Raises IndexFileError, naming the entry, and OSError."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise IndexFileError(f"{path.name} is not JSON: {error}") from error
    _only(data, path.name, "indexes", "fieldOverrides")
    composites = [_composite(entry, f"indexes[{at}]") for at, entry in enumerate(_list(data, "indexes", path.name))]
    _refuse_twice("indexes", composites)
    listed = enumerate(_list(data, "fieldOverrides", path.name))
    overrides = [_override(entry, f"fieldOverrides[{at}]") for at, entry in listed]
    _refuse_twice("fieldOverrides", [key for key, _ in overrides])
    return IndexFile(tuple(composites), dict(overrides))


def _composite(entry: Any, where: str) -> Index:
    _only(entry, where, "collectionGroup", "queryScope", "fields", "density", "apiScope")
    fields = [_field(field, f"{where}.fields[{at}]") for at, field in enumerate(_list(entry, "fields", where))]
    named = [kind for path, kind in fields[-1:] if path == NAME]
    fields = fields[: len(fields) - len(named)]
    if NAME in (path for path, _ in fields):
        raise IndexFileError(f"{where}.fields: {NAME} can only be the last field")
    collection, scope = _text(entry, "collectionGroup", where), cast(Scope, _choice(entry, "queryScope", SCOPES, where))
    index = Index(collection, scope, tuple(fields), named[0] if named else name_after(fields))
    if not fields and index.name == "ASCENDING":
        raise IndexFileError(f"{where}.fields: an index needs at least one field")
    if index.single_field:
        raise IndexFileError(f"{where}.fields: an index of one field belongs into fieldOverrides")
    return index


def _field(field: Any, where: str) -> tuple[str, Kind]:
    _only(field, where, "fieldPath", "order", "arrayConfig")
    return _path(_text(field, "fieldPath", where), where), _kind(field, where)


def _override(entry: Any, where: str) -> tuple[tuple[str, str], tuple[tuple[Kind, Scope], ...]]:
    _only(entry, where, "collectionGroup", "fieldPath", "indexes", "ttl")
    if "indexes" not in entry:
        raise IndexFileError(f"{where}.indexes is missing (an empty list means: not indexed)")
    kinds = []
    for at, index in enumerate(_list(entry, "indexes", where)):
        _only(index, f"{where}.indexes[{at}]", "order", "arrayConfig", "queryScope")
        scope = _choice({"queryScope": "COLLECTION", **index}, "queryScope", SCOPES, f"{where}.indexes[{at}]")
        kinds.append((_kind(index, f"{where}.indexes[{at}]"), cast(Scope, scope)))
    _refuse_twice(f"{where}.indexes", kinds)
    return (_text(entry, "collectionGroup", where), _path(_text(entry, "fieldPath", where), where)), tuple(kinds)


def _kind(field: dict[str, Any], where: str) -> Kind:
    if ("order" in field) == ("arrayConfig" in field):
        raise IndexFileError(f"{where} needs either order or arrayConfig")
    if "order" in field:
        return cast(Kind, _choice(field, "order", DIRECTIONS, where))
    return cast(Kind, _choice(field, "arrayConfig", ("CONTAINS",), where))


def _kind_entry(kind: Kind) -> dict[str, str]:
    return {"arrayConfig": kind} if kind == "CONTAINS" else {"order": kind}


def _path(text: str, where: str) -> str:
    if text == EVERY_FIELD:
        return text
    try:
        return FieldPath.from_api_repr(text).to_api_repr()
    except ValueError as error:
        raise IndexFileError(f"{where}.fieldPath {text!r} is not a field path") from error


def _only(entry: Any, where: str, *known: str) -> None:
    if not isinstance(entry, dict):
        raise IndexFileError(f"{where} is not an object")
    if unknown := sorted(set(entry) - set(known)):
        raise IndexFileError(f"{where} has an unknown key {unknown[0]!r}")


def _list(entry: dict[str, Any], key: str, where: str) -> list[Any]:
    value = entry.get(key, [])
    if not isinstance(value, list):
        raise IndexFileError(f"{where}.{key} is not a list")
    return value


def _text(entry: dict[str, Any], key: str, where: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value:
        raise IndexFileError(f"{where}.{key} is missing or not a text")
    return value


def _choice(entry: dict[str, Any], key: str, choices: tuple[str, ...], where: str) -> str:
    if entry.get(key) not in choices:
        raise IndexFileError(f"{where}.{key} must be one of {', '.join(choices)}")
    return str(entry[key])


def _refuse_twice(where: str, entries: list[Any]) -> None:
    for at, entry in enumerate(entries):
        if entry in entries[:at]:
            raise IndexFileError(f"{where}[{at}] stands there twice")
