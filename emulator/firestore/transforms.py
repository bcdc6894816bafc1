"""Field transforms: what the server makes of a field that the caller cannot compute (docs: FieldTransform)."""

from collections.abc import Iterable
from datetime import datetime
from itertools import pairwise
from math import isnan

from emulator.firestore import fields
from emulator.firestore.documents import timestamp
from emulator.firestore.fields import Fields
from emulator.firestore.limits import check_value
from emulator.firestore.messages import Message, Value
from emulator.firestore.paths import FieldPath, field_path
from emulator.firestore.refusals import invalid
from emulator.firestore.values import sort_key

INT64 = (-(2**63), 2**63 - 1)
REQUEST_TIME = 1
_NUMBERS = ("integer_value", "double_value")
_KINDS = ("set_to_server_value", "increment", "maximum", "minimum", "append_missing_elements", "remove_all_from_array")


def check_transforms(transforms: Iterable[Message]) -> None:
    """Raise Refused, INVALID_ARGUMENT, for transforms production would not take."""
    paths = []
    for transform in transforms:
        paths.append(field_path(transform.field_path))
        kind = transform.WhichOneof("transform_type")
        if kind not in _KINDS:
            raise invalid("Operation type must be specified for field transformation.")
        if kind == "set_to_server_value" and transform.set_to_server_value != REQUEST_TIME:
            raise invalid("ServerValue type must be specified for set_to_server_value transformation.")
        if kind in _KINDS[1:4] and getattr(transform, kind).WhichOneof("value_type") not in _NUMBERS:
            raise invalid("Input must be int64 or double.")
        if kind in _KINDS[4:]:
            for element in getattr(transform, kind).values:
                check_value(element, transform.field_path, len(paths[-1]) + 1, compared=True)
    _check_apart(sorted(paths))


def _check_apart(paths: list[FieldPath]) -> None:
    for outer, inner in pairwise(paths):
        if outer != inner and inner[: len(outer)] == outer:
            field = ".".join(outer)
            raise invalid(f"Cannot transform property {field} and its nested property at the same time.")


def apply_transform(target: Fields, transform: Message, now: datetime) -> Message:
    """Change the field, and return what the caller is told: the new value, or null from an array transform."""
    path = field_path(transform.field_path)
    held = fields.get(target, path)
    kind = transform.WhichOneof("transform_type")
    match kind:
        case "set_to_server_value":
            new = Value(timestamp_value=timestamp(now.replace(microsecond=now.microsecond // 1000 * 1000)))
        case "append_missing_elements":
            new = _appended(held, transform.append_missing_elements.values)
        case "remove_all_from_array":
            new = _removed(held, transform.remove_all_from_array.values)
        case _:
            new = _computed(kind, held, getattr(transform, kind))
    fields.put(target, path, new)
    return Value(null_value=0) if new.HasField("array_value") else new


def _computed(kind: str, held: Message | None, operand: Message) -> Message:
    """Return the sum, maximum or minimum; the operand alone when the field is no number."""
    if held is None or held.WhichOneof("value_type") not in _NUMBERS:
        return operand
    if kind == "increment":
        return _sum(held, operand)
    for value in (held, operand):
        if isnan(_number(value)):
            return value
    exceeds, falls_below = _number(operand) > _number(held), _number(operand) < _number(held)
    return operand if (exceeds if kind == "maximum" else falls_below) else held


def _sum(held: Message, operand: Message) -> Message:
    total = _number(held) + _number(operand)
    if isinstance(total, int):
        return Value(integer_value=min(max(total, INT64[0]), INT64[1]))  # production saturates
    return Value(double_value=total)


def _number(value: Message) -> int | float:
    return getattr(value, value.WhichOneof("value_type"))  # type: ignore[no-any-return]


def _appended(held: Message | None, elements: Iterable[Message]) -> Message:
    new = _array(held)
    seen = [sort_key(item) for item in new.array_value.values]
    for element in elements:
        key = sort_key(element)
        if key not in seen:
            seen.append(key)
            new.array_value.values.append(element)
    return new


def _removed(held: Message | None, elements: Iterable[Message]) -> Message:
    gone = [sort_key(element) for element in elements]
    new = _array(None)
    new.array_value.values.extend(item for item in _array(held).array_value.values if sort_key(item) not in gone)
    return new


def _array(held: Message | None) -> Message:
    """Return a copy of the array, an empty one when the field is none."""
    new = Value()
    new.array_value.SetInParent()
    if held is not None and held.HasField("array_value"):
        new.CopyFrom(held)
    return new
