"""Where a query starts and ends, as positions in its order."""

from collections.abc import Iterator, Sequence

from emulator.firestore.documents import Version
from emulator.firestore.filters import Test
from emulator.firestore.messages import Message
from emulator.firestore.scans import Order
from emulator.firestore.values import Key, sort_key


def cursor_tests(query: Message, orders: Sequence[Order]) -> Iterator[Test]:
    """Yield the tests that the query's cursors put to a document."""
    for cursor, is_start in ((query.start_at, True), (query.end_at, False)):
        if cursor.values:
            yield _test([sort_key(value) for value in cursor.values], orders, cursor.before, is_start)


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
