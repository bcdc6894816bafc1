"""How a query goes through a large collection: along an index that has its equalities first and then its order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from emulator.firestore.collection import FIRST_PLACE, LAST_PLACE, Entry, Paths
from emulator.firestore.filters import Bound, equalities, ranges
from emulator.firestore.messages import Message
from emulator.firestore.paths import NAME_PATH, FieldPath, name_order
from emulator.firestore.values import LEAST, MOST, Key, sort_key

Order = tuple[FieldPath, bool]  # whether descending


@dataclass(frozen=True)
class Scan:
    """A stretch of an index that holds every document the query can find; ``in_order``: in the query's order."""

    paths: Paths
    low: Entry
    high: Entry
    descending: bool
    in_order: bool


def scan_of(collection: str, query: Message, orders: Sequence[Order]) -> Scan:
    """Return the stretch for a query and its complete orders; ``collection`` is where it looks, "" in more than one."""
    equal = dict(equalities(query.where)) if query.HasField("where") else {}
    equal.pop(NAME_PATH, None)
    ordered = [order for order in orders if order[0] not in equal]
    (first, descending), in_order = ordered[0], len({descending for _, descending in ordered}) == 1
    bounds = [bound for bound in _bounds(query, orders) if bound.path == first]
    low, high = max((b.low for b in bounds), default=LEAST), min((b.high for b in bounds), default=MOST)
    paths = (*sorted(equal), *(path for path, _ in ordered if path != NAME_PATH))
    keys = tuple(equal[path] for path in sorted(equal))
    if first == NAME_PATH:
        return Scan(
            paths,
            (keys, _place(collection, low, FIRST_PLACE)),
            (keys, _place(collection, high, LAST_PLACE)),
            descending,
            in_order,
        )
    return Scan(paths, ((*keys, low), FIRST_PLACE), ((*keys, high), LAST_PLACE), descending, in_order)


def _bounds(query: Message, orders: Sequence[Order]) -> Iterator[Bound]:
    """Yield what the query's ranges and cursors say of single fields; cursors speak of the first order's."""
    if query.HasField("where"):
        yield from ranges(query.where)
    path, descending = orders[0]
    for cursor, is_start in ((query.start_at, True), (query.end_at, False)):
        if cursor.values:
            key = sort_key(cursor.values[0])
            yield Bound(path, key, MOST) if is_start != descending else Bound(path, LEAST, key)


def _place(collection: str, bound: Key, otherwise: str) -> str:
    """Return the place of a bound on names, if it names a document of this collection."""
    parent = name_order(collection)
    if len(bound) == 2 and bound[1][:-1] == parent:
        return str(bound[1][-1])
    return otherwise
