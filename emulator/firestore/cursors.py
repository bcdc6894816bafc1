"""Where a query starts and ends, as positions in its order."""

from collections.abc import Iterator, Sequence

from emulator.firestore.documents import Version
from emulator.firestore.filters import Stretch, Test
from emulator.firestore.messages import Message
from emulator.firestore.paths import FieldPath
from emulator.firestore.values import Key, Rank, sort_key

Order = tuple[FieldPath, bool]  # whether descending

LEAST: Key = ()
MOST: Key = (len(Rank),)


def cursor_tests(query: Message, orders: Sequence[Order]) -> Iterator[Test]:
    """Yield the tests that the query's cursors put to a document."""
    for cursor, is_start in ((query.start_at, True), (query.end_at, False)):
        if cursor.values:
            yield _test([sort_key(value) for value in cursor.values], orders, cursor.before, is_start)


def cursor_stretches(query: Message, orders: Sequence[Order]) -> Iterator[Stretch]:
    """Yield stretches of the first order's field that hold every document between the cursors."""
    path, descending = orders[0]
    for cursor, is_start in ((query.start_at, True), (query.end_at, False)):
        if cursor.values:
            key = sort_key(cursor.values[0])
            yield Stretch(path, key, MOST) if is_start != descending else Stretch(path, LEAST, key)


def _test(position: Sequence[Key], orders: Sequence[Order], before: bool, is_start: bool) -> Test:
    pairs = tuple(zip(orders, position, strict=False))
    # A position "before" its values lies in front of the documents that have them.
    equal_passes = before if is_start else not before

    def passes(version: Version) -> bool:
        for (path, descending), wanted in pairs:
            key = version.key(path)
            if key != wanted:
                assert key is not None
                return ((key > wanted) != descending) == is_start
        return equal_passes

    return passes
