"""Puts a request to a Firestore through Google's client, and brings the answer into a form that can be compared."""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, assert_never

from google.api_core.exceptions import GoogleAPICallError
from google.cloud import firestore
from google.cloud.firestore_v1.base_document import DocumentSnapshot
from google.cloud.firestore_v1.base_query import And, FieldFilter, Or
from google.cloud.firestore_v1.bulk_batch import BulkWriteBatch

from tests.integration.same_answers.asked import (
    Aggregation,
    Batch,
    Both,
    Comparison,
    Listing,
    Query,
    Ref,
    Request,
    Transaction,
    Transform,
    Write,
)

SERVERS_OWN_TIME = datetime(2024, 1, 1, tzinfo=UTC)  # no drawn time is later: it came from the server


def answer(client: firestore.Client, request: Request) -> Any:
    """Return the answer as plain values: the results, or the error's code."""
    try:
        match request:
            case Write():
                return _write(client, request)
            case Batch():
                return _batch(client, request)
            case Query():
                query = _query(client, request)
                return [_plain_document(snapshot) for snapshot in (query.get() if request.last else query.stream())]
            case Aggregation():
                return _aggregation(client, request)
            case Transaction():
                return _transaction(client, request)
            case Listing():
                return _listing(client, request)
        assert_never(request)
    except GoogleAPICallError as error:
        return ("refused", error.grpc_status_code)
    except (ValueError, TypeError) as error:
        return ("refused by the client", str(error)[:60])


def _write(client: firestore.Client, write: Write) -> Any:
    before = client.document(write.path).get()
    _apply(client, client, write)
    return _effect(client, write.path, before)


def _batch(client: firestore.Client, batch: Batch) -> Any:
    paths = sorted({write.path for write in batch.writes})
    before = [client.document(path).get() for path in paths]
    together: Any = BulkWriteBatch(client) if batch.apart else client.batch()
    for write in batch.writes:
        _apply(client, together, write)
    answered = together.commit()
    codes = [status.code for status in answered.status] if batch.apart else []
    return codes, [_effect(client, path, snapshot) for path, snapshot in zip(paths, before, strict=True)]


def _effect(client: firestore.Client, path: str, before: DocumentSnapshot[Any]) -> Any:
    """Return the document after a write, and whether its update time says that it changed."""
    after = client.document(path).get()
    return _plain_document(after), after.update_time != before.update_time


def _apply(client: firestore.Client, target: Any, write: Write) -> None:
    """Write directly, or into a batch or transaction."""
    reference = client.document(write.path)
    verb = "set" if write.verb.startswith("merge") else write.verb
    method: Callable[..., Any] = getattr(reference, verb)
    if target is not client:
        batch_method: Callable[..., Any] = getattr(target, verb)
        method = lambda *data, **options: batch_method(reference, *data, **options)  # noqa: E731
    data = _value(client, write.data)
    match write.verb:
        case "create" | "set":
            method(data)
        case "merge":
            method(data, merge=True)
        case "merge_fields":
            method(data, merge=list(write.fields))
        case "update":
            method(data, option=_option(client, write))
        case "delete":
            method(option=_option(client, write))
        case _:
            assert_never(write.verb)


def _option(client: firestore.Client, write: Write) -> Any:
    match write.when:
        case "":
            return None
        case "exists":
            return client.write_option(exists=True) if write.verb == "delete" else None
        case "unchanged" | "stale":
            known = client.document(write.path).get().update_time or SERVERS_OWN_TIME
            return client.write_option(last_update_time=known - timedelta(microseconds=write.when == "stale"))
    assert_never(write.when)


def _query(client: firestore.Client, asked: Query) -> Any:
    name = asked.collection.rsplit("/", 1)[-1]
    query: Any = client.collection_group(name) if asked.group else client.collection(asked.collection)._query()
    if asked.where is not None:
        query = query.where(filter=_filter(client, asked.where))
    for field, direction in asked.orders:
        query = query.order_by(field, direction=direction)
    for cursor in asked.cursors:
        values = [_value(client, value) for value in cursor.values]
        named = [field for field, _ in asked.orders[: len(values)]]
        given = dict(zip(named, values, strict=True))
        if "__name__" in given:
            given["__name__"] = client.document(given["__name__"])
        query = getattr(query, cursor.method)(given)
    if asked.limit is not None:
        query = query.limit_to_last(asked.limit) if asked.last else query.limit(asked.limit)
    if asked.offset is not None:
        query = query.offset(asked.offset)
    return query if asked.select is None else query.select(asked.select)


def _filter(client: firestore.Client, asked: Comparison | Both) -> Any:
    if isinstance(asked, Both):
        filters = [_filter(client, inner) for inner in asked.filters]
        return And(filters) if asked.op == "AND" else Or(filters)
    return FieldFilter(asked.field, asked.op, _value(client, asked.value))


def _aggregation(client: firestore.Client, asked: Aggregation) -> Any:
    query: Any = _query(client, asked.query)
    first, *others = asked.numbers
    aggregation = query.count() if first[0] == "count" else getattr(query, first[0])(first[1])
    for name, field in others:
        aggregation = aggregation.count() if name == "count" else getattr(aggregation, name)(field)
    return {result.alias: _plain(result.value) for results in aggregation.get() for result in results}


def _transaction(client: firestore.Client, asked: Transaction) -> Any:
    transaction = client.transaction(read_only=asked.read_only)
    transaction._begin()
    try:
        reads = [_read(client, transaction, read) for read in asked.reads]
        for write in asked.writes:
            _apply(client, transaction, write)
        if not asked.rolled_back:
            transaction._commit()
    finally:
        with suppress(GoogleAPICallError, ValueError):  # it may be over already
            transaction._rollback()
    paths = sorted({write.path for write in asked.writes})
    return reads, [_plain_document(client.document(path).get()) for path in paths]


def _read(client: firestore.Client, transaction: firestore.Transaction, read: str | Query) -> Any:
    query = client.document(read) if isinstance(read, str) else _query(client, read)
    return [_plain_document(snapshot) for snapshot in transaction.get(query)]


def _listing(client: firestore.Client, asked: Listing) -> Any:
    references = list(client.collection(asked.collection).list_documents())
    return [(reference.path, [inner.id for inner in reference.collections()]) for reference in references]


def _value(client: firestore.Client, value: Any) -> Any:
    match value:
        case Ref(path):
            return client.document(path)
        case Transform(("SERVER_TIMESTAMP" | "DELETE_FIELD") as kind):
            return getattr(firestore, kind)
        case Transform(kind, operand):
            return getattr(firestore, kind)(_value(client, operand))
        case dict():
            return {key: _value(client, inner) for key, inner in value.items()}
        case list():
            return [_value(client, inner) for inner in value]
        case _:
            return value


def _plain_document(snapshot: DocumentSnapshot[Any]) -> Any:
    return snapshot.reference.path, _plain(snapshot.to_dict())


def _plain(value: Any) -> Any:
    """Return a value that equals only its like: 1 is not 1.0, -0.0 not 0.0, and NaN is NaN."""
    match value:
        case dict():
            return {key: _plain(inner) for key, inner in sorted(value.items())}
        case list():
            return [_plain(inner) for inner in value]
        case datetime():
            return "the server's time" if value > SERVERS_OWN_TIME else value.isoformat()
        case firestore.DocumentReference():
            return Ref(value.path)
        case firestore.GeoPoint():
            return "at", value.latitude, value.longitude
        case _:
            return type(value).__name__, repr(value)
