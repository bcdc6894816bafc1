"""One collection: its documents in the order of their ids, and indexes, each built when a query first wants it."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator
from datetime import datetime

from emulator.firestore.documents import Record, Version
from emulator.firestore.paths import MAX_ID_BYTES, DocumentName, FieldPath, id_order
from emulator.firestore.values import Key

Paths = tuple[FieldPath, ...]
Keys = tuple[Key | None, ...]  # of an index's fields
Entry = tuple[Keys, str]  # and the document's place among the ids
FIRST_PLACE = ""
LAST_PLACE = "\U0010ffff" * MAX_ID_BYTES


class Collection:
    """The records of one collection. Reads of the past go through all of them, reads of now through ids or an index."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.id = name.rpartition("/")[2]
        self._records: dict[str, Record] = {}  # by the id's place in the order
        self._living: list[str] = []  # places, in order
        self._indexes: dict[Paths, list[Entry]] = {}
        self._changed_at: datetime | None = None

    @property
    def size(self) -> int:
        """How many documents it has now."""
        return len(self._living)

    @property
    def forgotten(self) -> bool:
        """Whether nothing is known of it, now or in the past."""
        return not self._records

    def as_now(self, at: datetime | None) -> bool:
        """Whether it was at that time as it is now, so that an index may be used."""
        return at is None or self._changed_at is None or self._changed_at <= at

    def get(self, name: DocumentName, at: datetime | None) -> Version | None:
        """Return the document living at that time (now: None), if any."""
        record = self._records.get(id_order(name.id))
        return record.at(at) if record else None

    def put(self, version: Version) -> None:
        """Add the newest version of a document."""
        place = id_order(version.name.id)
        record = self._records.setdefault(place, Record())
        old = record.at(None)
        record.versions.append(version)
        self._changed_at = version.at
        if old is None and version.living:
            insort(self._living, place)
        elif old is not None and not version.living:
            del self._living[bisect_left(self._living, place)]
        for paths, entries in self._indexes.items():
            before = old.keys(paths) if old else (None,)
            after = version.keys(paths) if version.living else (None,)
            if before != after:
                _move(entries, place, before, after)

    def forget(self, name: DocumentName, before: datetime) -> None:
        """Drop versions of a document that nobody can read any more."""
        place = id_order(name.id)
        record = self._records.get(place)
        if record is not None:
            record.forget(before)
            if not record.versions:
                del self._records[place]

    def at(self, time: datetime | None) -> Iterator[Version]:
        """Yield the documents living at that time (now: None), in the order of their ids."""
        for place in self._living if time is None else sorted(self._records):
            version = self._records[place].at(time)
            if version is not None:
                yield version

    def along(self, paths: Paths, low: Entry, high: Entry, *, descending: bool) -> Iterator[Version]:
        """Yield the documents living now that have all these fields, by their keys and then by id, either way.

        ``low`` and ``high`` are included. They may have fewer keys; then they have all the places too.
        """
        entries = self._index(paths)
        start = bisect_left(entries, low, key=lambda entry: (entry[0][: len(low[0])], entry[1]))
        end = bisect_right(entries, high, key=lambda entry: (entry[0][: len(high[0])], entry[1]))
        for at in range(end - 1, start - 1, -1) if descending else range(start, end):
            yield self._records[entries[at][1]].versions[-1]

    def _index(self, paths: Paths) -> list[Entry]:
        if paths not in self._indexes:
            found = ((version.keys(paths), id_order(version.name.id)) for version in self.at(None))
            self._indexes[paths] = sorted(entry for entry in found if None not in entry[0])
        return self._indexes[paths]


def _move(entries: list[Entry], place: str, before: Keys, after: Keys) -> None:
    """Take a document from its old place in an index to its new one; one that lacks a field has none."""
    if None not in before:
        del entries[bisect_left(entries, (before, place))]
    if None not in after:
        insort(entries, (after, place))
