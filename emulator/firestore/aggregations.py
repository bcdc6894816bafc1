"""count(), sum() and avg() over the documents of a query."""

from collections.abc import Iterable, Iterator, Sequence
from math import nan

from emulator.firestore.documents import Version
from emulator.firestore.limits import check_field_name
from emulator.firestore.messages import Message, Value
from emulator.firestore.paths import NAME_PATH, FieldPath, field_path
from emulator.firestore.refusals import invalid
from emulator.firestore.transforms import INT64
from emulator.firestore.values import NAN, Key, Rank

MAX_AGGREGATIONS = 5


def check_aggregations(aggregations: Sequence[Message]) -> None:
    """Raise Refused, INVALID_ARGUMENT, for aggregations production would not take."""
    if not aggregations:
        raise invalid("Aggregations can not be empty.")
    if len(aggregations) > MAX_AGGREGATIONS:
        raise invalid(f"The maximum number of aggregations allowed in an aggregation query is {MAX_AGGREGATIONS}.")
    aliases = [alias for alias, _ in _named(aggregations)]
    for at, alias in enumerate(aliases):
        check_field_name(alias)
        if alias in aliases[:at]:
            raise invalid(f"Aggregation aliases contain duplicate alias: {alias}.")
    for aggregation in aggregations:
        _check(aggregation)


def _check(aggregation: Message) -> None:
    match aggregation.WhichOneof("operator"):
        case "count":
            if aggregation.count.HasField("up_to") and aggregation.count.up_to.value < 0:
                raise invalid("The `up_to` value in a COUNT aggregation must be greater than or equal to zero.")
        case "sum" | "avg" as operator:
            if field_path(getattr(aggregation, operator).field.field_path) == NAME_PATH:
                raise invalid("Aggregations are not supported for the property: __key__")
        case _:
            raise invalid("Operator field in Aggregation is not set.")


def summed_fields(aggregations: Iterable[Message]) -> dict[FieldPath, str]:
    """Return the fields that sum() and avg() read, in the order they are named, each with how it is written."""
    texts = [
        getattr(one, operator).field.field_path
        for one in aggregations
        if (operator := one.WhichOneof("operator")) in ("sum", "avg")
    ]
    return {field_path(text): text for text in texts}


def aggregated(aggregations: Iterable[Message], found: Sequence[Version]) -> dict[str, Message]:
    """Return each aggregation's result by its alias."""
    return {alias: _result(aggregation, found) for alias, aggregation in _named(aggregations)}


def _named(aggregations: Iterable[Message]) -> Iterator[tuple[str, Message]]:
    """Yield each with its alias; without one it is called field_1, field_2, ..."""
    unnamed = 0
    for aggregation in aggregations:
        unnamed += not aggregation.alias
        yield aggregation.alias or f"field_{unnamed}", aggregation


def _result(aggregation: Message, found: Sequence[Version]) -> Message:
    operator = aggregation.WhichOneof("operator")
    if operator == "count":
        up_to = aggregation.count.up_to.value if aggregation.count.HasField("up_to") else len(found)
        return Value(integer_value=min(up_to, len(found)))
    path = field_path(getattr(aggregation, operator).field.field_path)
    numbers = [number for version in found if (number := _number(version.key(path))) is not None]
    if operator == "sum":
        total = sum(numbers)
        if isinstance(total, int) and INT64[0] <= total <= INT64[1]:
            return Value(integer_value=total)
        return Value(double_value=float(total))
    return Value(double_value=sum(numbers) / len(numbers)) if numbers else Value(null_value=0)


def _number(key: Key | None) -> int | float | None:
    if key is None or key[0] != Rank.NUMBER:
        return None
    return nan if key == NAN else key[2]
