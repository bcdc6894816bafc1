"""Which values pass which operator, and which queries are refused whatever the data."""

from typing import Any

import pytest
from google.cloud.firestore_v1.vector import Vector
from grpc import StatusCode

from emulator.firestore.clock import Clock
from emulator.firestore.filters import compiled
from emulator.firestore.messages import Message
from emulator.firestore.query_rules import check_query
from emulator.firestore.refusals import Refused
from tests.unit.firestore.firestore_messages import (
    Composite,
    Operator,
    Ref,
    Unary,
    composite,
    field_filter,
    query_of,
    unary_filter,
    version_of,
)

NAN = float("nan")
VALUES = {
    "null": None,
    "true": True,
    "nan": NAN,
    "zero": 0,
    "one": 1,
    "two": 2.0,
    "text": "s",
    "array": [1, None, NAN, "s"],
    "nested": [{"a": [1]}],
    "map": {"a": 1},
}
ALL = set(VALUES)
NOW = Clock().now()


def passing(where: Message) -> set[str]:
    test = compiled(where)
    return {name for name, value in VALUES.items() if test(version_of("c/d", {"f": value}, NOW))}


@pytest.mark.parametrize(
    ("op", "operand", "expected"),
    [
        (Operator.EQUAL, 1, {"one"}),
        (Operator.EQUAL, 2, {"two"}),
        (Operator.EQUAL, None, set()),  # the client asks with IS_NULL
        (Operator.EQUAL, NAN, set()),
        (Operator.EQUAL, {"a": 1}, {"map"}),
        (Operator.NOT_EQUAL, 1, ALL - {"one", "null"}),
        (Operator.NOT_EQUAL, None, set()),
        (Operator.NOT_EQUAL, NAN, ALL - {"null"}),
        (Operator.LESS_THAN, 2, {"zero", "one"}),
        (Operator.LESS_THAN_OR_EQUAL, 2, {"zero", "one", "two"}),
        (Operator.GREATER_THAN, 0, {"one", "two"}),
        (Operator.GREATER_THAN_OR_EQUAL, 0, {"zero", "one", "two"}),
        (Operator.GREATER_THAN, NAN, set()),
        (Operator.GREATER_THAN_OR_EQUAL, None, set()),
        (Operator.LESS_THAN, "t", {"text"}),
        (Operator.GREATER_THAN, False, {"true"}),
        (Operator.IN, [1, "s", None, NAN], {"one", "text"}),
        (Operator.IN, [[1, None, NAN, "s"]], {"array"}),
        (Operator.NOT_IN, [1, 2], ALL - {"one", "two", "null"}),
        (Operator.NOT_IN, [1, None], set()),
        (Operator.NOT_IN, [NAN], ALL - {"null"}),
        (Operator.ARRAY_CONTAINS, 1.0, {"array"}),
        (Operator.ARRAY_CONTAINS, None, set()),
        (Operator.ARRAY_CONTAINS, {"a": [1]}, {"nested"}),
        (Operator.ARRAY_CONTAINS_ANY, [7, "s"], {"array"}),
        (Operator.ARRAY_CONTAINS_ANY, [{"a": [1]}, "s"], {"array", "nested"}),
    ],
)
def test_an_operator_passes_these_values(op: int, operand: Any, expected: set[str]) -> None:
    assert passing(field_filter("f", op, operand)) == expected


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        (Unary.IS_NULL, {"null"}),
        (Unary.IS_NAN, {"nan"}),
        (Unary.IS_NOT_NULL, ALL - {"null"}),
        (Unary.IS_NOT_NAN, ALL - {"null", "nan"}),
    ],
)
def test_a_unary_operator_passes_these_values(op: int, expected: set[str]) -> None:
    assert passing(unary_filter("f", op)) == expected


@pytest.mark.parametrize("op", range(1, 11))
def test_a_missing_field_passes_no_operator(op: int) -> None:
    assert passing(field_filter("other", op, [1])) == set()


def test_and_and_or_combine() -> None:
    small, text = field_filter("f", Operator.LESS_THAN, 2), field_filter("f", Operator.EQUAL, "s")
    positive = field_filter("f", Operator.GREATER_THAN, 0)
    assert passing(composite(Composite.OR, small, text)) == {"zero", "one", "text"}
    assert passing(composite(Composite.AND, small, positive)) == {"one"}
    assert passing(composite(Composite.AND)) == ALL


def eq(field: str, operand: Any = 1) -> Message:
    return field_filter(field, Operator.EQUAL, operand)


NE, NIN, GT = Operator.NOT_EQUAL, Operator.NOT_IN, Operator.GREATER_THAN
AND, OR = Composite.AND, Composite.OR
HAS, HAS_ANY, IN = Operator.ARRAY_CONTAINS, Operator.ARRAY_CONTAINS_ANY, Operator.IN


@pytest.mark.parametrize(
    "where",
    [
        field_filter("a", IN, list(range(31))),
        field_filter("a", HAS_ANY, list(range(31))),
        field_filter("a", NIN, list(range(11))),
        field_filter("a", IN, []),
        field_filter("a", NIN, []),
        field_filter("a", IN, 3),
        field_filter("a", Operator.OPERATOR_UNSPECIFIED, 3),
        unary_filter("a", Unary.OPERATOR_UNSPECIFIED),
        composite(Composite.OPERATOR_UNSPECIFIED, eq("a")),
        composite(OR),
        composite(OR, *(eq("a", n) for n in range(31))),
        composite(AND, field_filter("a", IN, list(range(6))), field_filter("b", IN, list(range(6)))),
        composite(AND, field_filter("a", NE, 1), field_filter("b", NE, 1)),
        composite(AND, field_filter("a", NE, 1), field_filter("a", NIN, [1])),
        composite(AND, unary_filter("a", Unary.IS_NOT_NULL), field_filter("b", NE, 1)),
        composite(OR, field_filter("a", NE, 1), field_filter("b", NE, 1)),
        composite(AND, field_filter("a", NIN, [1]), field_filter("b", IN, [1])),
        composite(AND, field_filter("a", NIN, [1]), field_filter("b", HAS_ANY, [1])),
        composite(AND, field_filter("a", NIN, [1]), composite(OR, eq("b"), eq("c"))),
        composite(AND, field_filter("a", HAS, 1), field_filter("b", HAS, 1)),
        composite(AND, field_filter("a", HAS, 1), field_filter("b", HAS_ANY, [1])),
        composite(AND, eq("__name__", Ref("c/d")), field_filter("a", GT, 1)),
        composite(AND, field_filter("__name__", IN, [Ref("c/d")]), field_filter("a", GT, 1)),
        composite(AND, *(field_filter(f"a{n}", GT, 1) for n in range(11))),
        composite(OR, unary_filter("a", Unary.IS_NOT_NULL), *(field_filter(f"a{n}", GT, 1) for n in range(10))),
        composite(AND, *(eq(f"a{n}") for n in range(101))),
        eq("a", "x" * 1500),
        eq("a", "é" * 750),
        eq("a", b"x" * 1501),
        eq("a", [0] * 188),
        eq("a", {"b": "x" * 1498}),
        eq("a", Vector([0.0] * 188)),
        eq("a", Ref("c/" + "x" * 1482)),
        field_filter("a", GT, "x" * 1500),
        field_filter("a", NIN, ["x" * 1500]),
        field_filter("a", HAS, "x" * 1500),
        eq("__name__", "d"),
        eq("__name__", None),
        field_filter("__name__", HAS, Ref("c/d")),
        unary_filter("__name__", Unary.IS_NULL),
        eq("a..b"),
        eq(""),
    ],
    ids=lambda where: str(where)[:200],
)
def test_a_filter_that_production_refuses_is_refused(where: Message) -> None:
    with pytest.raises(Refused) as refused:
        check_query(query_of(where))
    assert refused.value.code == StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize(
    "where",
    [
        field_filter("a", IN, list(range(30))),
        field_filter("a", NIN, list(range(10))),
        composite(AND, field_filter("a", IN, list(range(5))), field_filter("b", IN, list(range(6)))),
        composite(OR, *(eq("a", n) for n in range(30))),
        composite(OR, field_filter("a", HAS, 1), field_filter("b", HAS, 1)),
        composite(AND, field_filter("a", NIN, [1]), field_filter("b", GT, 1)),
        composite(OR, field_filter("a", NE, 1), eq("b")),
        composite(AND, eq("__name__", Ref("c/d")), field_filter("__name__", GT, Ref("c/a"))),
        composite(AND, *(field_filter(f"a{n}", GT, 1) for n in range(10)), field_filter("a0", NE, 5)),
        composite(AND, *(eq(f"a{n}") for n in range(100)), eq("a0")),
        eq("a", "x" * 1499),
        eq("a", b"x" * 1500),
        eq("a", [0] * 187),
        eq("a", Vector([0.0] * 187)),
        eq("a", Ref("c/" + "x" * 1481)),
        eq("__name__", Ref("c/" + "x" * 1500)),
        field_filter("a", HAS_ANY, ["x" * 1499] * 2),
        eq("a", [[1]]),
        field_filter("a", IN, [[[1]], [Vector([1.0])]]),
    ],
    ids=lambda where: str(where)[:200],
)
def test_a_filter_just_within_the_limits_is_taken(where: Message) -> None:
    check_query(query_of(where))


@pytest.mark.parametrize(
    "orders",
    [
        [("a", False), ("a", True)],
        [("a", False), ("`a`", True)],
        [("__name__", False), ("a", False)],
        [("a..b", False)],
        [("", False)],
        [(f"a{n}", False) for n in range(101)],
    ],
)
def test_orders_that_production_refuses_are_refused(orders: list[tuple[str, bool]]) -> None:
    with pytest.raises(Refused):
        check_query(query_of(None, *orders))


def test_a_cursor_has_no_more_values_than_there_are_orders() -> None:
    query = query_of(None, ("a", False))
    query.start_at.values.add().integer_value = 1
    check_query(query)
    query.start_at.values.add().integer_value = 1
    with pytest.raises(Refused):
        check_query(query)


def test_a_limit_is_not_negative() -> None:
    query = query_of()
    query.limit.value = -1
    with pytest.raises(Refused, match="limit"):
        check_query(query)


def test_an_offset_is_not_negative() -> None:
    query = query_of()
    query.offset = -1
    with pytest.raises(Refused, match="offset"):
        check_query(query)


def test_a_search_for_what_is_nearest_is_refused_and_not_answered_with_everything() -> None:
    query = query_of()
    query.find_nearest.vector_field.field_path = "a"
    with pytest.raises(Refused) as refused:
        check_query(query)
    assert refused.value.code == StatusCode.UNIMPLEMENTED


@pytest.mark.parametrize("collection", [".", "..", "__c__"])
def test_a_collection_has_no_reserved_id(collection: str) -> None:
    with pytest.raises(Refused, match="reserved"):
        check_query(query_of(collection=collection))
