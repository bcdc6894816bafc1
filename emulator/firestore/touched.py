"""Whom a request concerns: its project, and the collections whose documents it names."""

from collections.abc import Iterator
from functools import cache
from typing import Any

from emulator.firestore.messages import Message


def touched(request: Message) -> tuple[str, frozenset[str]]:
    """Return project and collection ids, as far as the request makes sense."""
    collections = set()
    project = ""
    for name in _names(request):
        parts = name.split("/")
        if len(parts) > 1:
            project = parts[1]
        if len(parts) > 6:
            collections.add(parts[-2])
    for query in _queries(request):
        collections.update(source.collection_id for source in query.from_)
    if "collection_id" in _fields(request.DESCRIPTOR):
        collections.add(request.collection_id)
    return project, frozenset(collections)


def _names(request: Message) -> Iterator[str]:
    """Yield the resource names in a request."""
    known = _fields(request.DESCRIPTOR)
    for field in ("database", "parent", "name"):
        if field in known:
            yield getattr(request, field)
    if "documents" in known:
        yield from request.documents
    if "writes" in known:
        for write in request.writes:
            yield write.update.name or write.delete or write.transform.document


def _queries(request: Message) -> Iterator[Message]:
    known = _fields(request.DESCRIPTOR)
    if "structured_query" in known:
        yield request.structured_query
    if "structured_aggregation_query" in known:
        yield request.structured_aggregation_query.structured_query


@cache
def _fields(descriptor: Any) -> frozenset[str]:
    return frozenset(descriptor.fields_by_name)
