"""A query finds the same along an index as by looking at every document; and what lies in the past is found there."""

from collections.abc import Callable
from itertools import cycle, islice
from typing import Any

import pytest
from google.cloud.firestore_v1.types import StructuredAggregationQuery
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from emulator.firestore.aggregations import aggregated, check_aggregations
from emulator.firestore.clock import Clock
from emulator.firestore.messages import Message
from emulator.firestore.paths import document_name
from emulator.firestore.queries import INDEX_FROM, Plan
from emulator.firestore.query_rules import check_query
from emulator.firestore.refusals import Refused
from emulator.firestore.store import HISTORY, Database
from tests.unit.firestore.firestore_messages import (
    DATABASE,
    ROOT,
    Composite,
    Operator,
    Ref,
    composite,
    document_of,
    field_filter,
    query_of,
    value_of,
)

CLOCK = Clock()
VALUES = st.sampled_from([None, False, 0, 1, 2, 2.5, float("nan"), "", "a", [1], {"x": 1}])
SMALL = st.sampled_from([0, 1, 2, "a", None])
FIELDS = st.sampled_from(["a", "b", "m.x"])
RANGES = [Operator.LESS_THAN, Operator.LESS_THAN_OR_EQUAL, Operator.GREATER_THAN, Operator.GREATER_THAN_OR_EQUAL]

SIZE = INDEX_FROM + 1
# A few different ones, again and again: there is much that is equal.
documents = st.lists(
    st.fixed_dictionaries({}, optional={"a": SMALL, "b": VALUES, "m": st.fixed_dictionaries({"x": SMALL})}),
    min_size=1,
    max_size=9,
).map(lambda contents: list(islice(cycle(contents), SIZE)))
names = st.integers(0, INDEX_FROM).map(lambda number: Ref(f"c/d{number}"))
conditions = st.one_of(
    st.builds(field_filter, FIELDS, st.just(Operator.EQUAL), SMALL),
    st.builds(field_filter, FIELDS, st.sampled_from(RANGES), VALUES),
    st.builds(field_filter, st.just("__name__"), st.sampled_from(RANGES), names),
    st.builds(
        lambda *parts: composite(Composite.OR, *parts), *[st.builds(field_filter, FIELDS, st.just(5), SMALL)] * 2
    ),
)


@st.composite
def asked(draw: Callable[..., Any]) -> Message:
    """Draw a query that production takes."""
    parts = draw(st.lists(conditions, max_size=3))
    fields = draw(st.lists(st.sampled_from(["a", "b", "m.x"]), unique=True, max_size=2))
    orders = [(field, draw(st.booleans())) for field in fields]
    if draw(st.booleans()):
        orders.append(("__name__", draw(st.booleans())))
    query = query_of(composite(Composite.AND, *parts) if parts else None, *orders)
    for cursor in (query.start_at, query.end_at):
        if orders and draw(st.booleans()):
            cursor.before = draw(st.booleans())
            for field, _ in orders[: draw(st.integers(1, len(orders)))]:
                cursor.values.append(value_of(draw(names if field == "__name__" else VALUES)))
    query.offset = draw(st.integers(0, 3))
    if draw(st.booleans()):
        query.limit.value = draw(st.integers(0, 9))
    return query


def database_of(contents: list[dict[str, Any]]) -> Database:
    database = Database(DATABASE)
    database.put({document_name(d.name): d for d in map(numbered, range(len(contents)), contents)}, CLOCK.now())
    return database


def numbered(number: int, content: dict[str, Any]) -> Message:
    return document_of(f"c/d{number}", content)


def found(query: Message, database: Database, *, past: bool = False) -> list[str]:
    versions, _ = Plan.of(ROOT, query).run(database, CLOCK.now() if past else None)
    return [version.name.id for version in versions]


def taken(query: Message) -> bool:
    try:
        check_query(query, ())
    except Refused:
        return False
    return True


# Not shrunk: with so many documents that takes minutes.
@settings(max_examples=40, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(documents, documents, st.lists(asked().filter(taken), min_size=1, max_size=5))
def test_an_index_changes_no_answer(
    before: list[dict[str, Any]], after: list[dict[str, Any]], questions: list[Message]
) -> None:
    database = database_of(before)
    for query in questions:
        assert found(query, database) == found(query, database, past=True)
    # The indexes are there now, and follow what changes, comes and goes.
    changes = {document_name(d.name): d for d in map(numbered, range(50, 50 + len(after)), after)}
    gone = {document_name(f"{ROOT}/c/d{number}"): None for number in range(20)}
    database.put({**changes, **gone}, CLOCK.now())
    for query in questions:
        assert found(query, database) == found(query, database, past=True)


@pytest.mark.parametrize("size", [3, INDEX_FROM + 50])
def test_a_page_follows_on_the_cursor_of_the_last(size: int) -> None:
    database = database_of([{"a": number % 3} for number in range(size)])
    seen: list[str] = []
    query = query_of(None, ("a", False), ("__name__", False))
    query.limit.value = 2
    while page := Plan.of(ROOT, query).run(database, None)[0]:
        seen += [version.name.id for version in page]
        last = page[-1].document()
        query.start_at.Clear()
        query.start_at.values.extend([last.fields["a"], value_of(Ref(f"c/{seen[-1]}"))])
    assert sorted(seen) == sorted(f"d{number}" for number in range(size))


def test_a_query_in_the_past_finds_what_was_there() -> None:
    database = database_of([{"a": 1}])
    then = CLOCK.now()
    database.put(
        {document_name(f"{ROOT}/c/d0"): None, document_name(f"{ROOT}/c/new"): document_of("c/new", {})}, CLOCK.now()
    )
    assert [v.name.id for v in Plan.of(ROOT, query_of()).run(database, then)[0]] == ["d0"]
    assert found(query_of(), database) == ["new"]


def test_history_older_than_an_hour_is_forgotten() -> None:
    clock, database = Clock(), Database(DATABASE)
    name = document_name(f"{ROOT}/c/d")
    database.put({name: document_of("c/d", {"a": 1})}, clock.now())
    first = clock.now()
    database.put({name: document_of("c/d", {"a": 2})}, clock.now())
    second = clock.now()
    database.put({name: None}, clock.now())
    first_version = database.get(name, first)
    assert first_version is not None
    assert first_version.fields["a"].integer_value == 1
    clock.advance(HISTORY)
    database.put({document_name(f"{ROOT}/e/f"): document_of("e/f", {})}, clock.now())
    assert database.get(name, second) is None
    assert [c.name for c in database.collections(ROOT, "", descendants=True)] == [f"{ROOT}/e"]


def test_integers_add_up_exactly_and_turn_into_a_double_where_they_would_overflow() -> None:
    aggregation = aggregation_of("sum", "a")
    for values, expected in (
        ([2**53, 1], {"integer_value": 2**53 + 1}),
        ([2**63 - 1, 1], {"double_value": 2.0**63}),
        ([1, 0.5, "text", None], {"double_value": 1.5}),
        ([], {"integer_value": 0}),
    ):
        versions, _ = Plan.of(ROOT, query_of()).run(database_of([{"a": value} for value in values]), None)
        assert aggregated([aggregation], versions)["s"] == type(value_of(1))(**expected)


@pytest.mark.parametrize("aliases", [["a", "a"], ["field_1", ""], ["__a__"], ["a" * 1501]], ids=lambda a: str(a)[:30])
def test_each_aggregation_has_an_alias_of_its_own(aliases: list[str]) -> None:
    with pytest.raises(Refused):
        check_aggregations([aggregation_of("sum", "a", alias) for alias in aliases])


def aggregation_of(operator: str, field: str, alias: str = "s") -> Message:
    return StructuredAggregationQuery.Aggregation.pb()(**{"alias": alias, operator: {"field": {"field_path": field}}})
