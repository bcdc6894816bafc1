"""The table of the log: every event that the code writes is in it, and nothing else is; no field bears what is private."""

import ast
from collections.abc import Iterator

import pytest

from emulator.process import ROOT
from ledgermail.ledger.delivery import Delivery, Status
from ledgermail.log_table import DELIVERY, ENVELOPE, EVENTS, FIELDS, NOT_SECRET, SECRET, Event, markdown
from tests.samples import a_delivery

SOURCE = ROOT / "functions"
TABLE = {event.name: event for event in EVENTS}
SPREAD = {"_why": {"reason"}, "_reference": {"reference"}, "log_fields": set(DELIVERY)}  # calls whose result is spread


def calls() -> Iterator[tuple[str, ast.Call]]:
    """Every call of log() with each name that it may write."""
    for file in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "log":
                assert node.args, f"{file.name}: an event without a name"
                yield from ((name, node) for name in names(node.args[0]))


def names(argument: ast.expr) -> set[str]:
    match argument:
        case ast.Constant(value=str(name)):
            return {name}
        case ast.IfExp(body=body, orelse=other):
            return names(body) | names(other)
        case ast.JoinedStr(values=[ast.Constant(value="delivery."), ast.FormattedValue()]):
            return {f"delivery.{status}" for status in Status}
        case _:
            raise AssertionError(f"the name of an event that cannot be read: {ast.unparse(argument)}")


CALLS = list(calls())


def severities(call: ast.Call) -> set[str]:
    given = [keyword.value for keyword in call.keywords if keyword.arg == "severity"]
    return names_of(given[0]) if given else {"INFO"}


def names_of(value: ast.expr) -> set[str]:
    return {node.value for node in ast.walk(value) if isinstance(node, ast.Constant) and str(node.value).isupper()}  # type: ignore[misc]


def test_every_event_is_in_the_table_once_and_the_table_has_no_other() -> None:
    assert len(TABLE) == len(EVENTS)
    assert {name for name, _ in CALLS} == set(TABLE)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.name)
def test_an_event_is_written_with_the_fields_and_at_the_severities_that_the_table_says(event: Event) -> None:
    mine = [call for name, call in CALLS if name == event.name]
    assert set().union(*map(severities, mine)) == set(event.severities)
    for call in mine:
        named = {keyword.arg for keyword in call.keywords if keyword.arg} - {"severity"}
        assert named <= {*event.fields, *event.counts}, ast.unparse(call)
        for spread in [keyword.value for keyword in call.keywords if keyword.arg is None]:
            made = spread.func if isinstance(spread, ast.Call) else None
            name = made.attr if isinstance(made, ast.Attribute) else made.id if isinstance(made, ast.Name) else ""
            assert SPREAD.get(name, set()) <= {*event.fields, *event.counts}, ast.unparse(call)
    assert set(event.measured) <= set(event.fields)


def test_every_field_is_explained_and_nothing_else_is() -> None:
    assert {*ENVELOPE, *(field for event in EVENTS for field in event.fields)} == set(FIELDS)


def test_no_field_is_an_address_a_body_or_a_key() -> None:
    fields = {field for event in EVENTS for field in (*event.fields, *event.counts)}
    assert {field for field in fields - set(NOT_SECRET) if any(word in field for word in SECRET)} == set()


def test_a_delivery_names_itself_by_the_fields_of_the_table() -> None:
    delivery: Delivery = a_delivery()
    assert tuple(delivery.log_fields()) == DELIVERY


def test_the_page_is_what_the_table_says() -> None:
    """Else: python -m ledgermail.log_table > docs/logs.md."""
    assert (ROOT / "docs" / "logs.md").read_text("utf-8") == markdown()
