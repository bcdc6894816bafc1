"""Queries: what a structured query asks for, and the documents it finds."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import islice

from emulator.firestore.collection import Collection
from emulator.firestore.cursors import cursor_tests
from emulator.firestore.documents import Version
from emulator.firestore.fields import masked
from emulator.firestore.filters import Test, compiled, leaves
from emulator.firestore.messages import Document, Message
from emulator.firestore.paths import NAME_PATH, FieldPath, field_path
from emulator.firestore.query_rules import DESCENDING, check_query, filtered_field, is_inequality
from emulator.firestore.scans import Order, Scan, scan_of
from emulator.firestore.store import Database
from emulator.firestore.values import Key

INDEX_FROM = 100  # documents; in a smaller collection looking at all of them is as fast
Selection = Callable[[Message], Message]


@dataclass(frozen=True)
class Plan:
    """A structured query, checked and made ready to run."""

    parent: str
    collection_id: str
    descendants: bool
    passes: Test
    orders: tuple[Order, ...]  # complete: it ends with the name
    scan: Scan
    offset: int
    limit: int | None
    select: Selection | None  # None: whole documents

    @classmethod
    def of(cls, parent: str, query: Message, summed: Iterable[FieldPath] = ()) -> "Plan":
        """Read a query; ``summed`` are fields that a document must have besides. Raises Refused, INVALID_ARGUMENT."""
        check_query(query, summed)
        source = query.from_[0] if query.from_ else None
        collection_id = source.collection_id if source else ""
        descendants = source.all_descendants if source else True
        orders = _orders(query, summed)
        return cls(
            parent,
            collection_id,
            descendants,
            _test(query, orders),
            orders,
            scan_of("" if descendants else f"{parent}/{collection_id}", query, orders),
            query.offset,
            query.limit.value if query.HasField("limit") else None,
            _selection(query),
        )

    def run(self, database: Database, at: datetime | None) -> tuple[list[Version], int]:
        """Return the documents found, in order, and how many the offset skipped. ``at`` None: now."""
        collections = database.collections(self.parent, self.collection_id, descendants=self.descendants)
        wanted = None if self.limit is None else self.offset + self.limit
        ordered = len(collections) == 1 and self._walks(collections[0], at)
        found = [version for one in collections for version in self._found(one, at, wanted)]
        if not ordered:
            self._sort(found)
        return found[self.offset : wanted], min(self.offset, len(found))

    def _walks(self, collection: Collection, at: datetime | None) -> bool:
        return collection.as_now(at) and self.scan.in_order and collection.size > INDEX_FROM

    def _found(self, collection: Collection, at: datetime | None, wanted: int | None) -> Iterator[Version]:
        """Return what passes in one collection; where an index has the order, no more than is wanted."""
        if not collection.as_now(at) or collection.size <= INDEX_FROM:
            return filter(self.passes, collection.at(at))
        scan = self.scan
        found = filter(self.passes, collection.along(scan.paths, scan.low, scan.high, descending=scan.descending))
        return islice(found, wanted) if scan.in_order else found

    def _sort(self, found: list[Version]) -> None:
        for path, descending in reversed(self.orders):
            found.sort(key=partial(_ordered_key, path), reverse=descending)


def _ordered_key(path: FieldPath, version: Version) -> Key:
    key = version.key(path)
    assert key is not None  # what lacks an ordered field did not pass
    return key


def _orders(query: Message, summed: Iterable[FieldPath]) -> tuple[Order, ...]:
    """Return the orders the query names, those its inequalities and sums add, and the name."""
    orders = {field_path(item.field.field_path): item.direction == DESCENDING for item in query.order_by}
    last = next(reversed(orders.values()), False)
    unequal = (
        sorted(filtered_field(leaf) for leaf in leaves(query.where) if is_inequality(leaf))
        if query.HasField("where")
        else []
    )
    if NAME_PATH not in orders:
        for path in (*(path for path in unequal if path != NAME_PATH), *summed, NAME_PATH):
            orders.setdefault(path, last)
    return tuple(orders.items())


def _test(query: Message, orders: Sequence[Order]) -> Test:
    """Return the test of a document: it has the ordered fields, passes the filter and lies between the cursors."""
    paths = [path for path, _ in orders[:-1]]
    tests = [compiled(query.where)] if query.HasField("where") else []
    tests += cursor_tests(query, orders)

    def passes(version: Version) -> bool:
        return all(version.key(path) is not None for path in paths) and all(test(version) for test in tests)

    return passes


def projection(mask: Message) -> Selection:
    """Return what cuts a document down to the fields of a mask, a list of field paths."""
    paths = [path for path in map(field_path, mask) if path != NAME_PATH]

    def select(document: Message) -> Message:
        selected = Document(name=document.name, create_time=document.create_time, update_time=document.update_time)
        masked(selected.fields, document.fields, paths)
        return selected

    return select


def _selection(query: Message) -> Selection | None:
    if not query.HasField("select"):
        return None
    return projection([field.field_path for field in query.select.fields])
