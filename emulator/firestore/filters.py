"""Filters: whether a document passes, and which stretch of an index holds all that can."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from google.cloud.firestore_v1.types import StructuredQuery

from emulator.firestore.documents import Version
from emulator.firestore.messages import Message
from emulator.firestore.paths import FieldPath, field_path
from emulator.firestore.values import NAN, NULL, Key, Rank, sort_key

Op = StructuredQuery.FieldFilter.Operator
UnaryOp = StructuredQuery.UnaryFilter.Operator
CompositeOp = StructuredQuery.CompositeFilter.Operator

KeyTest = Callable[[Key], bool]
Test = Callable[[Version], bool]

FROM_BELOW = {Op.LESS_THAN, Op.LESS_THAN_OR_EQUAL}
FROM_ABOVE = {Op.GREATER_THAN, Op.GREATER_THAN_OR_EQUAL}


class Bound(NamedTuple):
    """All that passes has this field between these keys, both included."""

    path: FieldPath
    low: Key
    high: Key


def leaves(where: Message) -> Iterator[Message]:
    """Yield the field and unary filters in a filter."""
    if where.WhichOneof("filter_type") == "composite_filter":
        for part in where.composite_filter.filters:
            yield from leaves(part)
    else:
        yield where


def compiled(where: Message) -> Test:
    """Return the filter as a test of a living version."""
    match where.WhichOneof("filter_type"):
        case "composite_filter":
            tests = [compiled(part) for part in where.composite_filter.filters]
            if where.composite_filter.op == CompositeOp.OR:
                return lambda version: any(test(version) for test in tests)
            return lambda version: all(test(version) for test in tests)
        case "unary_filter":
            path, passes = field_path(where.unary_filter.field.field_path), _UNARY[where.unary_filter.op]
        case _:
            path, passes = field_path(where.field_filter.field.field_path), _key_test(where.field_filter)
    return lambda version: (key := version.key(path)) is not None and passes(key)


def equalities(where: Message) -> Iterator[tuple[FieldPath, Key]]:
    """Yield the fields, and their keys, that are equal in every document that passes."""
    for part in _conjuncts(where):
        if part.field_filter.op == Op.EQUAL:
            yield field_path(part.field_filter.field.field_path), sort_key(part.field_filter.value)
        elif part.unary_filter.op == UnaryOp.IS_NULL:
            yield field_path(part.unary_filter.field.field_path), NULL


def ranges(where: Message) -> Iterator[Bound]:
    """Yield the bounds, both included, within which every document that passes has a field."""
    for part in _conjuncts(where):
        op = part.field_filter.op
        if op in FROM_BELOW | FROM_ABOVE:
            path, key = field_path(part.field_filter.field.field_path), sort_key(part.field_filter.value)
            of_its_type: tuple[Key, Key] = (key[0],), (key[0] + 1,)
            yield Bound(path, key, of_its_type[1]) if op in FROM_ABOVE else Bound(path, of_its_type[0], key)


def _conjuncts(where: Message) -> Iterator[Message]:
    """Yield the field and unary filters that every document that passes has to pass."""
    if where.WhichOneof("filter_type") != "composite_filter":
        yield where
    elif where.composite_filter.op == CompositeOp.AND or len(where.composite_filter.filters) == 1:
        for part in where.composite_filter.filters:
            yield from _conjuncts(part)


def _key_test(condition: Message) -> KeyTest:
    """Return the test of a field that is there. Null and NaN are equal to nothing here: they have unary filters."""
    if condition.op in (Op.IN, Op.NOT_IN, Op.ARRAY_CONTAINS_ANY):
        keys = [sort_key(item) for item in condition.value.array_value.values]
        return _set_test(condition.op, [key for key in keys if key not in (NULL, NAN)], null_in=NULL in keys)
    operand = sort_key(condition.value)
    if operand in (NULL, NAN):
        return _is_not_null if condition.op == Op.NOT_EQUAL and operand == NAN else _never
    match condition.op:
        case Op.EQUAL:
            return lambda key: key == operand
        case Op.NOT_EQUAL:
            return lambda key: key not in (operand, NULL)
        case Op.ARRAY_CONTAINS:
            return lambda key: key[0] == Rank.ARRAY and operand in key[1]
        case _:
            return _range_test(condition.op, operand)


def _range_test(op: int, operand: Key) -> KeyTest:
    """Return the test of a range, which holds only values of the operand's own type."""
    rank = operand[0]
    match op:
        case Op.LESS_THAN:
            return lambda key: key[0] == rank and key != NAN and key < operand
        case Op.LESS_THAN_OR_EQUAL:
            return lambda key: key[0] == rank and key != NAN and key <= operand
        case Op.GREATER_THAN:
            return lambda key: key[0] == rank and key > operand
        case _:
            return lambda key: key[0] == rank and key >= operand


def _set_test(op: int, operands: Iterable[Key], *, null_in: bool) -> KeyTest:
    operands = frozenset(operands)
    if op == Op.IN:
        return lambda key: key in operands
    if op == Op.ARRAY_CONTAINS_ANY:
        return lambda key: key[0] == Rank.ARRAY and not operands.isdisjoint(key[1])
    if null_in:
        return _never
    return lambda key: key != NULL and key not in operands


def _never(_: Key) -> bool:
    return False


def _is_not_null(key: Key) -> bool:
    return key != NULL


_UNARY: dict[int, KeyTest] = {
    UnaryOp.IS_NAN: lambda key: key == NAN,
    UnaryOp.IS_NULL: lambda key: key == NULL,
    UnaryOp.IS_NOT_NAN: lambda key: key not in (NAN, NULL),
    UnaryOp.IS_NOT_NULL: _is_not_null,
}
