"""Short ways to raw messages, made with the client's own encoding."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from google.cloud.firestore_v1._helpers import encode_dict
from google.cloud.firestore_v1.types import StructuredQuery, Write

from emulator.firestore.documents import Version
from emulator.firestore.messages import Document, Message
from emulator.firestore.paths import document_name

DATABASE = "projects/p/databases/(default)"
ROOT = f"{DATABASE}/documents"
Operator = StructuredQuery.FieldFilter.Operator
Unary = StructuredQuery.UnaryFilter.Operator
Composite = StructuredQuery.CompositeFilter.Operator


class Ref(str):
    """The path of a document, as a value."""


def fields_of(content: Mapping[str, Any]) -> dict[str, Message]:
    """Encode fields; a Ref becomes a reference."""
    return {name: value_of(value) for name, value in content.items()}


def value_of(value: Any) -> Message:
    """Encode one value."""
    if isinstance(value, Ref):
        return Document(fields={"v": {"reference_value": f"{ROOT}/{value}"}}).fields["v"]
    if isinstance(value, list):
        encoded = Document(fields={"v": {"array_value": {}}}).fields["v"]
        encoded.array_value.values.extend(value_of(item) for item in value)
        return encoded
    return encode_dict({"v": value})["v"]._pb


def document_of(path: str, content: Mapping[str, Any]) -> Message:
    """Return a document under ROOT."""
    return Document(name=f"{ROOT}/{path}", fields=fields_of(content))


def version_of(path: str, content: Mapping[str, Any], at: datetime) -> Version:
    """Return a living version of a document under ROOT."""
    return Version(document_name(f"{ROOT}/{path}"), at, document_of(path, content))


def field_filter(path: str, op: int, operand: Any) -> Message:
    """Return a filter on one field."""
    where = StructuredQuery.Filter.pb()()
    where.field_filter.field.field_path = path
    where.field_filter.op = op
    where.field_filter.value.CopyFrom(value_of(operand))
    return where


def unary_filter(path: str, op: int) -> Message:
    """Return a filter for null and NaN."""
    where = StructuredQuery.Filter.pb()()
    where.unary_filter.field.field_path = path
    where.unary_filter.op = op
    return where


def composite(op: int, *parts: Message) -> Message:
    """Return an AND or OR of filters."""
    where = StructuredQuery.Filter.pb()()
    where.composite_filter.op = op
    where.composite_filter.filters.extend(parts)
    return where


def query_of(where: Message | None = None, *orders: tuple[str, bool], collection: str = "c") -> Message:
    """Return a query; an order is a path and whether it is descending."""
    query = StructuredQuery.pb()()
    query.from_.add(collection_id=collection)
    if where is not None:
        query.where.CopyFrom(where)
    for path, descending in orders:
        query.order_by.add(direction=2 if descending else 1).field.field_path = path
    return query


def write_of(path: str, content: Mapping[str, Any], mask: list[str] | None = None) -> Message:
    """Return an update; without a mask it replaces the document."""
    write = Write.pb()()
    write.update.CopyFrom(document_of(path, content))
    if mask is not None:
        write.update_mask.field_paths.extend(mask)
        write.update_mask.SetInParent()
    return write
