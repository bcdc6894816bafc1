"""Declared values: each problem by name, all of them together, and a usable value meanwhile."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledgermail.declared import Declared, refuse
from ledgermail.errors import ConfigurationError
from ledgermail.ledger.delivery import Guarantee

DAY = timedelta(days=1)
ANYTHING = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text()) | st.just({"a": 1})


@pytest.mark.parametrize("value", ["", "  ", 5, True, [], {}])
def test_text_that_is_none_is_named(value: object) -> None:
    declared = Declared({"a": value}, "FILE ")
    assert declared.text("a") == ""
    assert declared.problems == ["FILE a: must be text, and not empty"]


def test_text_loses_the_space_around_it() -> None:
    assert Declared({"a": " b c\n"}).text("a") == "b c"


def test_empty_text_is_taken_where_empty_is_the_default() -> None:
    declared = Declared({"a": ""})
    assert (declared.text("a", ""), declared.problems) == ("", [])


@pytest.mark.parametrize("value", ["0", "65", "4.0", "4x", "", True, 2.5, [4], "-4"])
def test_a_number_out_of_its_range_is_named_with_it(value: object) -> None:
    declared = Declared({"a": value})
    assert declared.integer("a", 4, least=1, most=64) == 4
    assert declared.problems == [f"a: must be a whole number from 1 to 64, not {value!r}"]


@pytest.mark.parametrize("value", ["1", 64])
def test_a_number_in_its_range_is_read_as_written(value: object) -> None:
    assert Declared({"a": value}).integer("a", 4, least=1, most=64) == int(str(value))


@pytest.mark.parametrize("value", ["0s", "-1s", "5", "5 m", "5w", "", "m", 5, "99999999d", "1e3s", True, ["5m"]])
def test_a_duration_that_is_none_is_named(value: object) -> None:
    declared = Declared({"a": value})
    assert declared.duration("a", DAY) == DAY
    assert len(declared.problems) == 1


@pytest.mark.parametrize(
    ("written", "seconds"), [("250ms", 0.25), ("30s", 30), ("1.5m", 90), ("6h", 21_600), ("7d", 604_800)]
)
def test_a_duration_is_a_number_and_its_unit(written: str, seconds: float) -> None:
    assert Declared({"a": written}).duration("a", DAY) == timedelta(seconds=seconds)


@pytest.mark.parametrize("value", ["exactly_once", 1, ["at_most_once"], {}, False])
def test_a_choice_that_is_none_is_named(value: object) -> None:
    declared = Declared({"a": value})
    declared.choice("a", Guarantee)
    assert declared.problems == [f"a: must be one of at_most_once, at_least_once, not {value!r}"]


def test_a_choice_must_be_there() -> None:
    declared = Declared({})
    declared.choice("a", Guarantee)
    assert declared.problems == ["a: is missing"]


def test_what_nobody_asked_for_is_named() -> None:
    declared = Declared({"b": 1, "a": "x", "c": 2})
    declared.text("a")
    declared.unknown()
    assert declared.problems == ["b: is not known", "c: is not known"]


@given(value=ANYTHING)
def test_no_value_breaks_a_reader(value: Any) -> None:
    declared = Declared({"a": value})
    declared.text("a", "x")
    declared.integer("a", 1, least=1, most=9)
    declared.duration("a", DAY)
    declared.choice("a", Guarantee)


def test_all_problems_are_raised_together() -> None:
    refuse([])
    with pytest.raises(ConfigurationError) as refused:
        refuse(["a: is missing", "b: is not known"])
    assert refused.value.problems == ("a: is missing", "b: is not known")
