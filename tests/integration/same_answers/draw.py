"""Draws random requests, the same ones for the same seed."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, get_args

from google.cloud.firestore import GeoPoint
from google.cloud.firestore_v1.vector import Vector

from tests.integration.same_answers.asked import (
    Aggregation,
    Batch,
    Both,
    Comparison,
    Cursor,
    Listing,
    Query,
    Ref,
    Request,
    Transaction,
    Transform,
    Write,
)

COLLECTIONS = ("c", "c", "c/d1/c", "e", "c/gone/e")
NAMES = ("d1", "d2", "D", "é", "10", "9")
FIELDS = ("a", "b", "n", "m", "m.x", "m.y.z", "t", "`a b`")
SCALARS = (
    *(None, True, False, 0, 1, -1, 2, 3, 2**53 + 1, 2**63 - 1, -(2**63), 0.0, -0.0, 1.0, 1.5, -0.25, 1e300),
    *(float("nan"), float("inf"), float("-inf"), "", "a", "ab", "b", "é", "\uffff", "\U00010000", b"", b"a", b"\xff"),
    *(datetime(1970, 1, 1, tzinfo=UTC), datetime(2020, 2, 29, 1, 2, 3, 4, tzinfo=UTC), Ref("c/d1"), Ref("c/d1/c/d1")),
    *(GeoPoint(0, 0), GeoPoint(-1.5, 90), Vector([1.0, 2.0]), Vector([3.0])),
    *("x" * 1499, "x" * 1500, b"x" * 1500, b"x" * 1501, GeoPoint(91, 0)),  # around what a query and a document may hold
)
NUMBERS = (0, 1, -1, 2, 3, 5, 0.0, 0.5, 1.0, -0.25)
DIRECTIONS = ("ASCENDING", "DESCENDING")


class Draw:
    """A source of requests."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def request(self) -> Request:
        """Draw any request."""
        kinds = (self.query, self.write, self.aggregation, self.transaction, self.batch, self.listing)
        return self._random.choices(kinds, weights=(50, 30, 10, 8, 6, 1))[0]()

    def write(self) -> Write:
        """Draw a write, half of them without a precondition."""
        path, verb = self._path(), self._random.choice(("create", "set", "merge", "merge_fields", "update", "delete"))
        match verb:
            case "create" | "set":
                return Write(verb, path, self._document(transforms=0.1))
            case "merge":
                return Write(verb, path, self._document(transforms=0.3))
            case "merge_fields":
                data = self._document(transforms=0.2)
                return Write(verb, path, data, tuple(f"`{field}`" for field in self._some([*data], 3)))
            case "update":
                fields = [self._choice(*FIELDS), *self._some(FIELDS, 3)]
                apart = [field for field in fields if not any(field.startswith(f"{other}.") for other in fields)]
                changes = {field: self._change(0.4) for field in apart}
                return Write(verb, path, changes, when=self._choice("", "", "exists", "unchanged", "stale"))
            case _:
                return Write("delete", path, when=self._choice("", "exists", "unchanged", "stale"))

    def batch(self) -> Batch:
        """Draw a few writes for one commit, or for one request in which each succeeds or fails by itself."""
        return Batch(self._together(self._random.randint(1, 4)), apart=self._random.random() < 0.3)

    def _together(self, number: int) -> tuple[Write, ...]:
        """Draw writes for one commit. A second write of a document has no precondition.

        The official one joins writes of one document before it looks at the stored one, and refuses some pairs as
        INVALID_ARGUMENT that one after the other would fail as ALREADY_EXISTS, NOT_FOUND or FAILED_PRECONDITION.
        """
        writes: list[Write] = []
        for write in (self.write() for _ in range(number)):
            free = write.verb in ("set", "merge", "merge_fields") or (write.verb == "delete" and not write.when)
            if free or write.path not in [earlier.path for earlier in writes]:
                writes.append(write)
        return tuple(writes)

    def query(self) -> Query:
        """Draw a query, valid or not."""
        where = self._filter(2) if self._random.random() < 0.7 else None
        fields = self._some(FIELDS, 2)
        orders = [(field, self._choice(*DIRECTIONS)) for field in fields] if self._random.random() < 0.6 else []
        if self._random.random() < 0.2:  # names downwards: the official one cannot
            orders = [*((field, "ASCENDING") for field, _ in orders), ("__name__", "ASCENDING")]
        limited = self._random.random() < 0.3
        return Query(
            collection=self._choice(*COLLECTIONS),
            group=self._random.random() < 0.3,
            where=where,
            orders=tuple(orders),
            cursors=tuple(self._cursors(orders)),
            limit=self._random.randint(1, 6) if limited else None,
            last=limited and bool(orders) and "__name__" not in dict(orders) and self._random.random() < 0.3,
            offset=self._random.randint(0, 4) if self._random.random() < 0.1 else None,
            select=tuple(self._some(FIELDS, 2)) if self._random.random() < 0.1 else None,
        )

    def aggregation(self) -> Aggregation:
        """Draw an aggregation. Sums are of a few plain numbers: elsewhere rounding depends on the order of adding."""
        numbers = [(self._choice("count", "sum", "avg"), "n") for _ in range(self._random.randint(1, 2))]
        query = self.query()
        summed = any(name != "count" for name, _ in numbers)
        # Which of equal documents a limit keeps is not defined once the summed field joins the order.
        return Aggregation(
            Query(query.collection, query.group, query.where) if summed else query, tuple(dict.fromkeys(numbers))
        )

    def transaction(self) -> Transaction:
        """Draw a transaction."""
        # The client cannot stream the last results.
        reads = tuple(
            self._choice(self._path(), replace(self.query(), last=False)) for _ in range(self._random.randint(0, 3))
        )
        if self._random.random() < 0.2:
            return Transaction(reads, (), read_only=True)
        writes = self._together(self._random.randint(0, 3))
        return Transaction(reads, writes, rolled_back=self._random.random() < 0.2)

    def listing(self) -> Listing:
        """Draw a listing."""
        return Listing(self._choice(*COLLECTIONS))

    def _path(self) -> str:
        return f"{self._choice(*COLLECTIONS)}/{self._choice(*NAMES)}"

    def _document(self, transforms: float) -> dict[str, Any]:
        return {
            **{field: self._change(transforms) for field in self._some(("a", "b", "a b"), 3)},
            **({"n": self._choice(*NUMBERS)} if self._random.random() < 0.7 else {}),
            **({"t": self._array()} if self._random.random() < 0.5 else {}),
            **({"m": self._map()} if self._random.random() < 0.5 else {}),
        }

    def _change(self, transforms: float) -> Any:
        if self._random.random() >= transforms:
            return self._value()
        kind = self._choice(*get_args(Transform.__annotations__["kind"]))
        if kind in ("ArrayUnion", "ArrayRemove"):
            return Transform(kind, self._compared(self._array))
        return Transform(kind, self._choice(*NUMBERS) if kind in ("Increment", "Maximum", "Minimum") else None)

    def _value(self) -> Any:
        return self._random.choices((self._scalar, self._map, self._array), weights=(8, 1, 1))[0]()

    def _scalar(self) -> Any:
        if self._random.random() < 0.4:
            return self._choice(*NUMBERS)
        if self._random.random() < 0.1:
            return datetime(2000, 1, 1, tzinfo=UTC) + timedelta(microseconds=self._random.randint(-3, 3))
        return self._choice(*SCALARS)

    def _compared(self, draw: Callable[[], Any]) -> Any:
        """Draw a value without a vector in an array: none can be stored, so the official one's answers mean nothing."""
        value = draw()
        return [item for item in value if not isinstance(item, Vector)] if isinstance(value, list) else value

    def _map(self) -> dict[str, Any]:
        nested = {"y": {"z": self._scalar()}} if self._random.random() < 0.3 else {}
        return {key: self._scalar() for key in self._some(("x", "y", "w"), 2)} | nested

    def _array(self) -> list[Any]:
        return [self._scalar() for _ in range(self._random.randint(0, 3))]

    def _filter(self, depth: int) -> Comparison | Both:
        if depth and self._random.random() < 0.4:
            filters = tuple(self._filter(depth - 1) for _ in range(self._random.randint(1, 3)))
            return Both(self._choice("AND", "OR"), filters)
        if self._random.random() < 0.07:
            return Comparison("__name__", self._choice("==", "<", "<=", ">", ">="), Ref(self._path()))
        field = self._choice(*FIELDS, "n", "n")
        op = self._choice(
            "==", "==", "==", "<", "<=", ">", ">=", "!=", "in", "not-in", "array_contains", "array_contains_any"
        )
        if op in ("in", "not-in", "array_contains_any"):
            return Comparison(field, op, [self._compared(self._value) for _ in range(self._random.randint(1, 4))])
        value = self._compared(self._value)
        return Comparison(field, op, [value] if self._random.random() < 0.05 else value)  # perhaps an array in an array

    def _cursors(self, orders: list[tuple[str, str]]) -> list[Cursor]:
        cursors = []
        for methods in (("start_at", "start_after"), ("end_at", "end_before")):
            if orders and self._random.random() < 0.25:
                named = orders[: self._random.randint(1, len(orders))]
                values = [self._path() if field == "__name__" else self._compared(self._value) for field, _ in named]
                cursors.append(Cursor(self._choice(*methods), tuple(values)))
        return cursors

    def _some(self, choices: Any, most: int) -> list[Any]:
        return self._random.sample(choices, self._random.randint(0, min(most, len(choices))))

    def _choice(self, *choices: Any) -> Any:
        return self._random.choice(choices)
