"""The order of values across types is the documented one."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from google.cloud.firestore import GeoPoint
from google.cloud.firestore_v1.vector import Vector
from hypothesis import given
from hypothesis import strategies as st

from emulator.firestore.values import equal, sort_key
from tests.unit.firestore.firestore_messages import Ref, value_of

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ASCENDING: list[Any] = [
    *(None, False, True),
    *(float("nan"), float("-inf"), -(2**63), -1.5, -1, 0, 5e-324, 1, 1.5, 2**53, 2**53 + 1, 2**63 - 1, float("inf")),
    *(EPOCH - timedelta(days=1), EPOCH, EPOCH + timedelta(microseconds=1)),
    *("", "A", "B", "a", "a\x00", "ab", "é", "\uffff", "\U00010000"),
    *(b"", b"\x00", b"a", b"\xff"),
    *(Ref("a/__id-1__"), Ref("a/__id7__"), Ref("a/__id10__"), Ref("a/10"), Ref("a/9"), Ref("a/b"), Ref("a/b/c/d")),
    *(Ref("a-/b"), Ref("b/a")),
    *(GeoPoint(-1, 5), GeoPoint(0, -180), GeoPoint(0, 0)),
    *([], [None], [1], [1, 2], [2], ["a"], [[]]),
    *(Vector([9.0]), Vector([1.0, 2.0]), Vector([1.0, 3.0])),
    *({}, {"a": None}, {"a": 1}, {"a": 1, "b": 0}, {"a": 2}, {"b": None}),
]

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.binary(),
    st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC)),
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", min_size=1), inner), max_leaves=8
)


def test_every_value_is_less_than_those_listed_after_it() -> None:
    keys = [sort_key(value_of(value)) for value in ASCENDING]
    wrong = [
        (ASCENDING[low], ASCENDING[high]) for high in range(len(keys)) for low in range(high) if keys[low] >= keys[high]
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("one", "other"), [(1, 1.0), (0, -0.0), (float("nan"), float("nan")), ([1, {"a": 2}], [1.0, {"a": 2.0}])]
)
def test_these_are_equal(one: Any, other: Any) -> None:
    assert equal(value_of(one), value_of(other))


@pytest.mark.parametrize(("one", "other"), [(2**53 + 1, float(2**53)), ("1", 1), (None, 0)])
def test_these_are_not_equal(one: Any, other: Any) -> None:
    assert not equal(value_of(one), value_of(other))


@given(values, values)
def test_any_two_values_can_be_ordered_and_the_order_agrees_with_equality(one: Any, other: Any) -> None:
    first, second = sort_key(value_of(one)), sort_key(value_of(other))
    assert (first < second) + (second < first) + (first == second) == 1


@given(st.lists(values, max_size=4), st.lists(values, max_size=4))
def test_an_array_is_less_than_every_longer_one_that_begins_with_it(array: list[Any], more: list[Any]) -> None:
    longer = [*array, *more]
    assert (sort_key(value_of(array)) < sort_key(value_of(longer))) == bool(more)
