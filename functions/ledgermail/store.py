"""How we talk to Firestore: one client, our own time limits, its errors turned into one of ours."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from google.api_core.exceptions import Aborted, GoogleAPICallError, RetryError, ServiceUnavailable
from google.api_core.retry import Retry, if_exception_type
from google.cloud import firestore

from ledgermail.errors import LedgerUnavailable
from ledgermail.settings import Settings

# The client's own default goes on for 60 s, and does not try Aborted again. Ours ends well within a lease.
CALL_SECONDS = 8.0
RETRY = Retry(
    predicate=if_exception_type(Aborted, ServiceUnavailable),
    initial=0.05,
    maximum=1.0,
    multiplier=2.0,
    timeout=CALL_SECONDS,
)
MOST_IN = 30  # values of one `in`, by Firestore
Snapshot = firestore.DocumentSnapshot[Any]
Write = Callable[[firestore.WriteBatch], None]  # what is committed beside something else


def nothing(_batch: firestore.WriteBatch) -> None:
    """What most commit beside it."""


# What google-cloud-firestore raises when it cannot do what was asked: bare ValueErrors too (an exhausted or unbegun
# transaction), which is why only single calls stand under these.
TROUBLE = (GoogleAPICallError, RetryError, ValueError)


def connect(settings: Settings) -> firestore.Client:
    """A client for the project; FIRESTORE_EMULATOR_HOST is honoured by the library. Opens no connection yet."""
    return firestore.Client(project=settings.project, database=settings.database)


@contextmanager
def ledger_errors(doing: str) -> Iterator[None]:
    """Turn every way in which Firestore fails to answer into LedgerUnavailable; `doing` says what was asked."""
    try:
        yield
    except TROUBLE as error:
        raise LedgerUnavailable(f"{doing}: {type(error).__name__}") from error


def call() -> dict[str, Any]:
    """The time limits of one call, as keyword arguments."""
    return {"retry": RETRY, "timeout": CALL_SECONDS}


def read_at(snapshot: Snapshot) -> datetime:
    """When Firestore read this: the one clock that all workers share."""
    return moment(snapshot.read_time)


def moment(time: Any) -> datetime:
    """A time of Firestore's own, which its client types as a protobuf Timestamp and hands out as a datetime."""
    assert isinstance(time, datetime)
    return time


def count_of(results: Any) -> int:
    """The number in the answer to a count() query, which is a list of lists of one result."""
    ((result,),) = results
    return int(result.value)


def counted_at(results: Any) -> datetime:
    """As of when that number is."""
    ((result,),) = results
    return moment(result.read_time)
