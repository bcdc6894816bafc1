"""The order and the equality of values of all types.

The order across types is that of the docs ("Value type ordering"): null, booleans, numbers, timestamps, texts, bytes,
references, geographical points, arrays, vectors, maps. NaN is the least number; 1 and 1.0, 0 and -0.0 are equal.
"""

from collections.abc import Callable
from enum import IntEnum
from math import isnan
from typing import Any

from emulator.firestore.messages import Message
from emulator.firestore.paths import name_order


class Rank(IntEnum):
    """The types in the order of their values."""

    NULL = 0
    BOOLEAN = 1
    NUMBER = 2
    TIMESTAMP = 3
    TEXT = 4
    BYTES = 5
    REFERENCE = 6
    GEO_POINT = 7
    ARRAY = 8
    VECTOR = 9
    MAP = 10


# A key is a tuple (rank, ...) which Python orders and compares as Firestore does the value.
Key = tuple[Any, ...]

LEAST: Key = ()  # below every key
MOST: Key = (len(Rank),)  # above every key
NULL: Key = (0,)
NAN: Key = (2, 0)
TYPE, VECTOR_TYPE, VECTOR_VALUE = "__type__", "__vector__", "value"


def sort_key(value: Message) -> Key:
    """Return the value's key."""
    return _KEYS[value.WhichOneof("value_type")](value)


def name_key(name: str) -> Key:
    """Return the key of a reference to this document, which is that of the document's __name__."""
    return (6, name_order(name))


def is_vector(value: Message) -> bool:
    """Whether a map value stands for a vector."""
    fields = value.map_value.fields
    return TYPE in fields and fields[TYPE].string_value == VECTOR_TYPE


def equal(one: Message, other: Message) -> bool:
    """Whether two values are the same to a query or an array transform."""
    return sort_key(one) == sort_key(other)


def _number(number: float) -> Key:
    return NAN if isnan(number) else (2, 1, number)


def _map(value: Message) -> Key:
    fields = value.map_value.fields
    if is_vector(value):
        numbers = tuple(sort_key(item) for item in fields[VECTOR_VALUE].array_value.values)
        return (9, len(numbers), numbers)
    # Texts are ordered by their UTF-8 bytes, which is how Python orders them.
    return (10, tuple((name, sort_key(fields[name])) for name in sorted(fields)))


_KEYS: dict[str, Callable[[Message], Key]] = {
    "null_value": lambda _: NULL,
    "boolean_value": lambda value: (1, value.boolean_value),
    "integer_value": lambda value: (2, 1, value.integer_value),
    "double_value": lambda value: _number(value.double_value),
    "timestamp_value": lambda value: (3, value.timestamp_value.seconds, value.timestamp_value.nanos),
    "string_value": lambda value: (4, value.string_value),
    "bytes_value": lambda value: (5, value.bytes_value),
    "reference_value": lambda value: name_key(value.reference_value),
    "geo_point_value": lambda value: (7, value.geo_point_value.latitude, value.geo_point_value.longitude),
    "array_value": lambda value: (8, tuple(sort_key(item) for item in value.array_value.values)),
    "map_value": _map,
}
