"""Reading and changing one field, also of a nested map, in a document's fields."""

from collections.abc import Iterable
from typing import Any

from emulator.firestore.messages import Message
from emulator.firestore.paths import FieldPath
from emulator.firestore.values import is_vector

Fields = Any  # the map from name to raw Value message that documents and map values hold


def get(fields: Fields, path: FieldPath) -> Message | None:
    """Return the value at the path, or None."""
    holder = fields
    for name in path[:-1]:
        value = holder.get(name)
        if value is None or not _is_map(value):
            return None
        holder = value.map_value.fields
    return holder.get(path[-1])


def put(fields: Fields, path: FieldPath, value: Message) -> None:
    """Set the value at the path; what stands in the way and is no map becomes one."""
    for name in path[:-1]:
        value_there = fields[name]
        if not _is_map(value_there):
            value_there.Clear()
            value_there.map_value.SetInParent()
        fields = value_there.map_value.fields
    fields[path[-1]].CopyFrom(value)


def remove(fields: Fields, path: FieldPath) -> None:
    """Delete the field at the path, if it is there."""
    for name in path[:-1]:
        value = fields.get(name)
        if value is None or not _is_map(value):
            return
        fields = value.map_value.fields
    fields.pop(path[-1], None)


def masked(target: Fields, source: Fields, paths: Iterable[FieldPath]) -> None:
    """Make the target agree with the source at these paths: set what is there, delete what is not."""
    for path in paths:
        value = get(source, path)
        if value is None:
            remove(target, path)
        else:
            put(target, path, value)


def _is_map(value: Message) -> bool:
    """Whether it has fields; those that a vector is made of are nobody's."""
    return value.WhichOneof("value_type") == "map_value" and not is_vector(value)
