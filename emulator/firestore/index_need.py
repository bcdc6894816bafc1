"""What a query needs of an index: its equalities, its order, the values it sums; once for each side of an OR.

The rules are those of the Standard edition (docs: "Index types in Cloud Firestore", "Optimize queries with range and
inequality filters on multiple fields", and the proto's comment on ``StructuredQuery.order_by``).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

from google.cloud.firestore_v1.field_path import FieldPath
from google.cloud.firestore_v1.types import StructuredQuery

from emulator.firestore.index_file import NAME, Index, Kind, Scope, name_after

FieldOp = StructuredQuery.FieldFilter.Operator
UnaryOp = StructuredQuery.UnaryFilter.Operator
CompositeOp = StructuredQuery.CompositeFilter.Operator
EQUALITIES = {FieldOp.EQUAL, FieldOp.IN}  # IN is one equality a value, and each value needs the same index
MEMBERSHIPS = {FieldOp.ARRAY_CONTAINS, FieldOp.ARRAY_CONTAINS_ANY}
UNARY_EQUALITIES = {UnaryOp.IS_NULL, UnaryOp.IS_NAN}

RawQuery = Any  # the protobuf message under a StructuredQuery; its class carries no types
RawFilter = Any  # likewise, of its ``where``
Test = tuple[str, str]  # a field, and how it is tested: "=", "contains" or "range"


@dataclass(frozen=True)
class Need:
    """An index that serves has the ``fixed`` fields first, in any order, then ``order``, then the name in ``name``.

    ``summed`` are the fields that must be in the index besides, because the query adds them up; in any order, after
    ``order``; they leave the name's direction open.
    """

    collection: str
    scope: Scope
    fixed: tuple[tuple[str, Kind], ...]
    order: tuple[tuple[str, Kind], ...]
    name: Kind
    summed: tuple[str, ...]

    @property
    def key_only(self) -> bool:
        """Whether the documents in the order of their names will do."""
        return not (self.fixed or self.order or self.summed) and self.name == "ASCENDING"

    def index(self) -> Index:
        """Return the one index that serves this need alone."""
        fields = (*self.fixed, *self.order, *((path, name_after(self.order)) for path in self.summed))
        return Index(self.collection, self.scope, fields, name_after(fields) if self.summed else self.name)

    def served(self, index: Index) -> frozenset[tuple[str, Kind]] | None:
        """Return which of the fixed fields this index fixes; None when it cannot take part in the query at all."""
        head = len(index.fields) - len(self.order) - len(self.summed)
        tail = index.fields[max(head, 0) :]
        ordered, summed = tail[: len(self.order)], tail[len(self.order) :]
        if head < 0 or ordered != self.order or {path for path, kind in summed if kind != "CONTAINS"} != {*self.summed}:
            return None
        if not summed and index.name != self.name:
            return None
        if head and index.single_field and index.name == "DESCENDING":
            return None  # not documented to serve an equality with names downwards, which has a composite of its own
        # Whichever way an equality is sorted, it is one stretch of the index.
        fixes = {(path, "CONTAINS" if kind == "CONTAINS" else "ASCENDING") for path, kind in index.fields[:head]}
        return frozenset(field for field in self.fixed if field in fixes) if fixes <= {*self.fixed} else None


def needs(query: RawQuery, summed: Iterable[str] = ()) -> set[Need]:
    """Return what the query needs: one for each way through its ORs, equal ones once."""
    ways = list(_ways(query.where)) if query.HasField("where") else [()]
    order = _order(query, {field for way in ways for field, test in way if test == "range"})
    return {_need(query, way, dict(order), [_path(field) for field in summed]) for way in ways}


def _need(query: RawQuery, way: tuple[Test, ...], order: dict[str, Kind], summed: list[str]) -> Need:
    equal = dict.fromkeys(field for field, test in way if test == "=" and field != NAME)
    contained = dict.fromkeys(field for field, test in way if test == "contains")
    named = order.pop(NAME, None)
    kept = {field: kind for field, kind in order.items() if field not in equal}  # what is equal needs no order
    return Need(
        collection=query.from_[0].collection_id,
        scope="COLLECTION_GROUP" if query.from_[0].all_descendants else "COLLECTION",
        fixed=(*((field, "ASCENDING") for field in equal), *((field, "CONTAINS") for field in contained)),
        order=tuple(kept.items()),
        name=named or (name_after([*order.items()]) if kept else "ASCENDING"),
        summed=tuple(field for field in dict.fromkeys(summed) if field not in {*equal, *kept, NAME}),
    )


def _order(query: RawQuery, ranges: set[str]) -> dict[str, Kind]:
    """Return the full order: as the query says it, then its other range fields, in the last direction."""
    order: dict[str, Kind] = {}
    for item in query.order_by:
        kind: Kind = "DESCENDING" if item.direction == StructuredQuery.Direction.DESCENDING else "ASCENDING"
        order.setdefault(_path(item.field.field_path), kind)
    last = name_after([*order.items()])
    return order | dict.fromkeys(sorted(ranges - {*order, NAME}), last)


def _ways(where: RawFilter) -> Iterator[tuple[Test, ...]]:
    """Yield the sides of the filter's OR, once it is brought to an OR of ANDs; each as its tests."""
    if where.WhichOneof("filter_type") != "composite_filter":
        yield (_test(where),)
    elif where.composite_filter.op == CompositeOp.OR:
        for side in where.composite_filter.filters:
            yield from _ways(side)
    else:
        for combination in product(*map(_ways, where.composite_filter.filters)):
            yield tuple(test for way in combination for test in way)


def _test(where: RawFilter) -> Test:
    if where.WhichOneof("filter_type") == "unary_filter":
        unary = where.unary_filter
        return _path(unary.field.field_path), "=" if unary.op in UNARY_EQUALITIES else "range"
    field, op = _path(where.field_filter.field.field_path), where.field_filter.op
    if op in MEMBERSHIPS:
        return field, "contains"
    return field, "=" if op in EQUALITIES else "range"


def _path(text: str) -> str:
    return FieldPath.from_api_repr(text).to_api_repr()
