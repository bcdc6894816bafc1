"""Fill a ledger with what has long ended, fast: the commits are built as messages, with one document as the pattern."""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

import grpc
from google.cloud import firestore
from google.cloud.firestore_v1 import _helpers, types
from google.cloud.firestore_v1.services.firestore.transports import FirestoreGrpcTransport

from bench import ground as grounds
from ledgermail.ledger import ids
from ledgermail.ledger.delivery import Status, to_document

WRITES = 500  # a commit
DAYS = 29  # over which what ended is spread
Edit = Callable[[Any, int], str]  # changes the pattern's fields for a number, and returns the document's id


def fill(db: firestore.Client, host: str, size: int) -> None:
    """So many accepted deliveries that are not to be pruned yet, and as many matches, older than any scan looks."""
    old = datetime.now(UTC) - timedelta(days=5)
    ended = to_document(grounds.delivery(0, Status.ACCEPTED))
    match = grounds.match(0, grounds.USERS, old)[1]
    with grpc.insecure_channel(host) as channel:
        transport = FirestoreGrpcTransport(channel=channel)
        for name, pattern, edit in (("deliveries", ended, _delivery), ("matches", match, _match)):
            for writes in _batches(_writes(db, name, pattern, edit, size)):
                database = f"projects/{db.project}/databases/(default)"
                transport.commit(types.CommitRequest.pb()(database=database, writes=writes))


def _writes(db: firestore.Client, collection: str, pattern: dict[str, Any], edit: Edit, size: int) -> Iterator[Any]:
    fields = {name: value._pb for name, value in _helpers.encode_dict(pattern).items()}
    prefix = f"projects/{db.project}/databases/(default)/documents/{collection}"
    for number in range(size):
        write = types.Write.pb()()
        for name, value in fields.items():
            write.update.fields[name].CopyFrom(value)
        write.update.name = f"{prefix}/{edit(write.update.fields, number)}"
        yield write


def _delivery(fields: Any, number: int) -> str:
    user_id, job_id = f"u{number % grounds.USERS}", f"old{number}"
    delivery_id = ids.delivery_id(user_id, job_id)
    fields["user_id"].string_value = user_id
    fields["subject"].string_value = job_id
    fields["run_key"].string_value = f"job-alert:2026-01-{number % DAYS + 1:02}"
    fields["shard"].integer_value = ids.shard_of(delivery_id, 4)
    fields["prune_at"].timestamp_value.seconds += 3600 + number  # each at a time of its own, from an hour on
    return delivery_id


def _match(fields: Any, number: int) -> str:
    fields["user_id"].string_value = f"u{number % grounds.USERS}"
    fields["job_id"].string_value = f"old{number}"
    fields["matched_at"].timestamp_value.seconds -= number
    return f"old{number}"


def _batches(writes: Iterable[Any]) -> Iterator[list[Any]]:
    left = iter(writes)
    while batch := list(islice(left, WRITES)):
        yield batch
