"""What a document may hold: kinds of values, names, depth, size (docs: "Usage and limits", "Storage size calculations")."""

from emulator.firestore.fields import Fields
from emulator.firestore.messages import Message
from emulator.firestore.paths import MAX_ID_BYTES, check_reference, is_reserved
from emulator.firestore.refusals import invalid
from emulator.firestore.values import VECTOR_VALUE, is_vector

MAX_DOCUMENT_BYTES = 1_048_576  # 1 MiB
MAX_VALUE_BYTES = 1_048_487  # 1 MiB - 89
MAX_DEPTH = 20  # of maps and arrays in one another
MAX_DIMENSIONS = 2048  # of a vector
TIMESTAMP_SECONDS = range(-62_135_596_800, 253_402_300_800)  # years 1 to 9999

_NAME_OVERHEAD = 16
_DOCUMENT_OVERHEAD = 32
_DATABASE_SEGMENTS = 5  # projects/P/databases/D/documents, which does not count
_SIZES = {"null_value": 1, "boolean_value": 1, "integer_value": 8, "double_value": 8, "timestamp_value": 8}
_SIZES["geo_point_value"] = 16


def check_fields(fields: Fields) -> None:
    """Raise Refused, INVALID_ARGUMENT, for fields no document may have. Cuts timestamps to microseconds in place."""
    for name in fields:
        value = fields[name]
        check_field_name(name)
        check_value(value, name, 1)


def check_field_name(name: str) -> None:
    """Raise Refused, INVALID_ARGUMENT, for a name no field may have."""
    if not name:
        raise invalid("The property.name is the empty string.")
    if name.startswith("__") and is_reserved(name):
        raise invalid(f"field name {name} is reserved")
    if len(name) * 4 > MAX_ID_BYTES and len(name.encode()) > MAX_ID_BYTES:
        raise invalid("The property.name is longer than 1500 bytes.")


def check_value(value: Message, field: str, depth: int, *, compared: bool = False) -> None:
    """Raise Refused, INVALID_ARGUMENT, for a value that cannot be stored in this field.

    One that is only ``compared`` with what is stored, by a filter or an array transform, may hold arrays in arrays.
    """
    match value.WhichOneof("value_type"):
        case "string_value" | "bytes_value" as kind:
            _check_length(getattr(value, kind), field)
        case "timestamp_value":
            _check_timestamp(value.timestamp_value)
        case "reference_value":
            check_reference(value.reference_value)
        case "geo_point_value":
            _check_geo_point(value.geo_point_value)
        case "array_value" | "map_value":
            _check_nested(value, field, depth, compared=compared)
        case "null_value" | "boolean_value" | "integer_value" | "double_value":
            pass
        case _:
            raise invalid("Cannot convert firestore.v1.Value with type unset.")


def check_size(document: Message) -> None:
    """Raise Refused, INVALID_ARGUMENT, for a document over 1 MiB."""
    if document.ByteSize() * 4 < MAX_DOCUMENT_BYTES:  # no value counts for more than four times its bytes on the wire
        return
    size = document_size(document)
    if size > MAX_DOCUMENT_BYTES:
        raise invalid(
            f"Document '{document.name}' cannot be written because its size ({size:,} bytes) "
            f"exceeds the maximum allowed size of {MAX_DOCUMENT_BYTES:,} bytes."
        )


def document_size(document: Message) -> int:
    """Return what the document counts for, in bytes."""
    return name_size(document.name) + _fields_size(document.fields) + _DOCUMENT_OVERHEAD


def name_size(name: str) -> int:
    """Return what a document's name counts for, in bytes."""
    return sum(_text_size(segment) for segment in name.split("/")[_DATABASE_SEGMENTS:]) + _NAME_OVERHEAD


def value_size(value: Message) -> int:
    """Return what a value counts for, in bytes."""
    kind = value.WhichOneof("value_type")
    match kind:
        case "string_value":
            return _text_size(value.string_value)
        case "bytes_value":
            return len(value.bytes_value)
        case "reference_value":
            return name_size(value.reference_value)
        case "array_value":
            return sum(value_size(item) for item in value.array_value.values)
        case "map_value" if is_vector(value):
            return 8 * len(value.map_value.fields[VECTOR_VALUE].array_value.values)
        case "map_value":
            return _fields_size(value.map_value.fields)
        case _:
            return _SIZES[kind]


def _fields_size(fields: Fields) -> int:
    return sum(_text_size(name) + value_size(fields[name]) for name in fields)


def _text_size(text: str) -> int:
    return len(text.encode()) + 1


def _check_length(content: str | bytes, field: str) -> None:
    if len(content) * 4 <= MAX_VALUE_BYTES:
        return
    if len(content if isinstance(content, bytes) else content.encode()) > MAX_VALUE_BYTES:
        raise invalid(f'The value of property "{field}" is longer than {MAX_VALUE_BYTES} bytes.')


def _check_timestamp(timestamp: Message) -> None:
    if timestamp.seconds not in TIMESTAMP_SECONDS:
        raise invalid("Timestamp seconds exceeds limit for field.")
    if not 0 <= timestamp.nanos < 10**9:
        raise invalid("Timestamp nanos exceeds limit for field.")
    timestamp.nanos -= timestamp.nanos % 1000


def _check_geo_point(point: Message) -> None:
    for name, number, most in (("latitude", point.latitude, 90.0), ("longitude", point.longitude, 180.0)):
        if not -most <= number <= most:
            raise invalid(f"Geo point {name} '{number}' outside permitted range -{most} to {most}.")


def _check_nested(value: Message, field: str, depth: int, *, compared: bool) -> None:
    if is_vector(value):
        _check_vector(value.map_value.fields)
        return
    if depth > MAX_DEPTH:
        raise invalid(f"Property {field} contains an invalid nested entity.")
    if value.WhichOneof("value_type") == "array_value":
        for item in value.array_value.values:
            if not compared and item.WhichOneof("value_type") == "array_value":
                raise invalid("Cannot convert an array value in an array value.")
            if not compared and is_vector(item):
                raise invalid("Cannot convert a vector value in an array value.")
            check_value(item, field, depth + 1, compared=compared)
    else:
        fields = value.map_value.fields
        for name in fields:
            check_field_name(name)
            check_value(fields[name], field, depth + 1, compared=compared)


def _check_vector(fields: Fields) -> None:
    if VECTOR_VALUE not in fields:
        raise invalid("Vector map is missing key 'value'.")
    if len(fields) > 2:
        raise invalid("Vector Value map has extraneous entries.")
    if not fields[VECTOR_VALUE].HasField("array_value"):
        raise invalid("Vector Value type must be an array.")
    numbers = fields[VECTOR_VALUE].array_value.values
    if not numbers:
        raise invalid("Cannot have a zero length vector.")
    if len(numbers) > MAX_DIMENSIONS:
        raise invalid(f"Vectors must be at most {MAX_DIMENSIONS} dimensions.")
    if not all(number.HasField("double_value") for number in numbers):
        raise invalid("Vector must only contain values of type 'double'")
