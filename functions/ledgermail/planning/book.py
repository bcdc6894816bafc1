"""A scan's book: how far it has read, who is reading, and what it has seen, in one document of `state`.

Its last update time is the fence: a page of planned deliveries, the new cursor and the run's counts are one atomic commit
that only goes through if nobody has moved the cursor since it was read.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from typing import Any

from google.cloud import firestore

from ledgermail.planning.commit import Fence, add_page
from ledgermail.planning.page import Page
from ledgermail.store import call, ledger_errors

STATE = "state"
RUNS = "runs"
LOCK_AGE = timedelta(minutes=10)  # a lock older than this belongs to a scan that died


@dataclass(frozen=True, kw_only=True)
class Book:
    """One state of the document. `fence` is its last update time, None while it does not exist."""

    name: str
    at: datetime | None = None  # the cursor: matched_at and id of the last match read
    match_id: str = ""
    token: str = ""  # of the last page: tells our own commit from another's when the answer was lost
    holder: str = ""
    locked_at: datetime | None = None
    seen: Mapping[str, int] = field(default_factory=dict)  # hour -> matches read, for the look-back
    fence: datetime | None = None

    def locked(self, now: datetime) -> bool:
        """Whether a scan is at work. A dead one's lock heals by its age."""
        return self.locked_at is not None and now < self.locked_at + LOCK_AGE

    def document(self) -> dict[str, Any]:
        """The fields as they are written."""
        fields = {"at": self.at, "match_id": self.match_id, "seen": dict(self.seen)}
        return fields | {"holder": self.holder, "locked_at": self.locked_at}


class Books:
    """The books in Firestore. Every method raises LedgerUnavailable when Firestore gives no usable answer."""

    def __init__(self, client: firestore.Client) -> None:
        self._client = client

    def read(self, name: str) -> Book:
        """Open a book; an empty one where there is none yet."""
        with ledger_errors("read the book"):
            snapshot = self._reference(name).get(**call())
        document = snapshot.to_dict() or {}
        known = {field.name: document[field.name] for field in fields(Book) if field.name in document}
        return Book(name=name, fence=snapshot.update_time, **known)

    def write(self, book: Book) -> Book:
        """Write a book as it stands (to lock or to release it). Raises FenceLost when somebody else has written it."""
        return self._commit(book, Page(), "")[0]

    def add_page(self, book: Book, page: Page, run_key: str) -> tuple[Book, Page]:
        """Commit a page at once: its creates, the book as it stands, the run's counts.

        Where some of its deliveries exist already, they are left out and counted. Returns the book after it, and the page
        without those. Raises FenceLost.
        """
        return self._commit(book, page, run_key)

    def _commit(self, book: Book, page: Page, run_key: str) -> tuple[Book, Page]:
        fence = Fence(
            reference=self._reference(book.name),
            written_at=book.fence,
            token=book.token,
            fields=lambda _: book.document(),
        )

        def count(batch: firestore.WriteBatch, added: Page) -> None:
            if added.deliveries or added.counts:
                batch.set(self._client.collection(RUNS).document(run_key), _run_counts(run_key, added), merge=True)

        added = add_page(self._client, fence, page, count)
        return replace(book, fence=added.written_at), added.page

    def _reference(self, name: str) -> firestore.DocumentReference:
        return self._client.collection(STATE).document(name)


def _run_counts(run_key: str, page: Page) -> dict[str, Any]:
    mailing, day = run_key.split(":")
    counts = Counter({"intended": len(page.deliveries)}) + page.counts
    opened_at = datetime.fromisoformat(f"{day}T00:00:00+00:00")
    return {
        "mailing": mailing,
        "opened_at": opened_at,
        **({} if page.deliveries else {"pruning_at": opened_at}),  # one that stays empty is found by the pruner, too
        **{name: firestore.Increment(count) for name, count in counts.items()},
    }
