"""The documents of every database, with their history of the last hour."""

from collections import deque
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta

from emulator.firestore.collection import Collection
from emulator.firestore.documents import Version
from emulator.firestore.messages import Message
from emulator.firestore.paths import DocumentName, name_order

HISTORY = timedelta(hours=1)  # how far back a read_time may lie (docs: "Read data at a specific time")


class Database:
    """The documents of one database. Used from one thread only."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._collections: dict[str, Collection] = {}
        self._groups: dict[str, dict[str, Collection]] = {}  # by collection id, then by name
        self._commits: deque[tuple[datetime, DocumentName]] = deque()

    def get(self, name: DocumentName, at: datetime | None = None) -> Message | None:
        """Return the document as it was at that time, or is now; None when there was none."""
        collection = self._collections.get(name.collection)
        version = collection.get(name, at) if collection is not None else None
        return version.document() if version else None

    def put(self, changes: Mapping[DocumentName, Message | None], at: datetime) -> None:
        """Store what a commit at that time left of each document it changed."""
        for name, document in changes.items():
            self._collection(name).put(Version(name, at, document))
            self._commits.append((at, name))
        self._forget(at - HISTORY)

    def collections(self, parent: str, collection_id: str, *, descendants: bool) -> list[Collection]:
        """Return the collections with this id ("": any) right under the parent, or anywhere below it."""
        if collection_id and not descendants:
            one = self._collections.get(f"{parent}/{collection_id}")
            return [one] if one is not None else []
        group = self._groups.get(collection_id, {}) if collection_id else self._collections
        found = [c for name, c in group.items() if _below(name, parent, descendants=descendants)]
        return sorted(found, key=lambda collection: name_order(collection.name))

    def collection_ids(self, parent: str, at: datetime | None) -> list[str]:
        """Return the ids of the collections of a document or the database, those with missing documents too."""
        prefix = f"{parent}/"
        return sorted({name[len(prefix) :].split("/", 1)[0] for name in self._inhabited(prefix, at)})

    def missing(self, parent: str, collection_id: str, at: datetime | None) -> set[str]:
        """Return the names of documents in the collection that have something below them; they need not exist."""
        prefix = f"{parent}/{collection_id}/"
        return {prefix + name[len(prefix) :].split("/", 1)[0] for name in self._inhabited(prefix, at)}

    def _inhabited(self, prefix: str, at: datetime | None) -> Iterator[str]:
        """Yield the names of the collections below the prefix that hold a document."""
        for name, collection in self._collections.items():
            if name.startswith(prefix) and next(collection.at(at), None) is not None:
                yield name

    def _collection(self, name: DocumentName) -> Collection:
        collection = self._collections.get(name.collection)
        if collection is None:
            collection = self._collections[name.collection] = Collection(name.collection)
            self._groups.setdefault(collection.id, {})[collection.name] = collection
        return collection

    def _forget(self, before: datetime) -> None:
        while self._commits and self._commits[0][0] < before:
            _, name = self._commits.popleft()
            collection = self._collections.get(name.collection)
            if collection is None:
                continue
            collection.forget(name, before)
            if collection.forgotten:
                del self._collections[collection.name], self._groups[collection.id][collection.name]


def _below(name: str, parent: str, *, descendants: bool) -> bool:
    prefix = f"{parent}/"
    return name.startswith(prefix) and (descendants or "/" not in name[len(prefix) :])
