"""One collection: its documents in the order of their ids, and an index per field, built when a query first wants it."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from datetime import datetime

from emulator.firestore.documents import Record, Version
from emulator.firestore.paths import NAME_PATH, DocumentName, FieldPath, id_order
from emulator.firestore.values import Key

Entry = tuple[Key, str]  # a field's key and the document's id


class Collection:
    """The records of one collection. Reads of the past go through all of them, reads of now through ids or an index."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.id = name.rpartition("/")[2]
        self._records: dict[str, Record] = {}
        self._living: list[str] = []  # ids, in order
        self._indexes: dict[FieldPath, list[Entry]] = {}

    def __len__(self) -> int:
        return len(self._living)

    @property
    def forgotten(self) -> bool:
        """Whether nothing is known of it, now or in the past."""
        return not self._records

    def record(self, name: DocumentName) -> Record | None:
        """Return what is known about a document."""
        return self._records.get(name.id)

    def put(self, name: DocumentName, version: Version) -> None:
        """Add the newest version of a document."""
        record = self._records.get(name.id)
        if record is None:
            record = self._records[name.id] = Record(name)
        old = record.at(None)
        new = version if version.document is not None else None
        record.versions.append(version)
        if old is None and new is not None:
            insort(self._living, name.id, key=id_order)
        elif old is not None and new is None:
            del self._living[bisect_left(self._living, id_order(name.id), key=id_order)]
        for path, entries in self._indexes.items():
            _move(entries, name.id, old.key(path) if old else None, new.key(path) if new else None)

    def forget(self, name: DocumentName, before: datetime) -> None:
        """Drop versions of a document that nobody can read any more."""
        record = self._records.get(name.id)
        if record is not None:
            record.forget(before)
            if not record.versions:
                del self._records[name.id]

    def at(self, time: datetime | None) -> Iterator[Version]:
        """Yield the documents living at that time (now: None), in the order of their ids."""
        for id_ in self._living if time is None else sorted(self._records, key=id_order):
            version = self._records[id_].at(time)
            if version is not None:
                yield version

    def count(self, path: FieldPath, low: Key, high: Key) -> int:
        """Return how many documents have the field between the two keys, both included."""
        start, end = self._stretch(path, low, high)
        return end - start

    def between(self, path: FieldPath, low: Key, high: Key, *, descending: bool) -> Iterator[Version]:
        """Yield the documents living now with the field between the keys, by field and then id, either way."""
        start, end = self._stretch(path, low, high)
        places = range(end - 1, start - 1, -1) if descending else range(start, end)
        entries = self._index(path)
        for place in places:
            version = self._records[entries[place][1]].at(None)
            assert version is not None
            yield version

    def _stretch(self, path: FieldPath, low: Key, high: Key) -> tuple[int, int]:
        entries = self._index(path)
        return bisect_left(entries, low, key=_key), bisect_right(entries, high, key=_key)

    def _index(self, path: FieldPath) -> list[Entry]:
        if path not in self._indexes:
            found = ((version.key(path), self._id(version)) for version in self.at(None))
            entries = [(key, id_) for key, id_ in found if key is not None]
            self._indexes[path] = entries if path == NAME_PATH else sorted(entries)
        return self._indexes[path]

    def _id(self, version: Version) -> str:
        assert version.document is not None
        return str(version.document.name)[len(self.name) + 1 :]


def _key(entry: Entry) -> Key:
    return entry[0]


def _move(entries: list[Entry], id_: str, old: Key | None, new: Key | None) -> None:
    """Take a document from its old place in an index to its new one."""
    if old == new:
        return
    if old is not None:
        del entries[bisect_left(entries, (old, id_))]
    if new is not None:
        insort(entries, (new, id_))
