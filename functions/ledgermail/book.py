"""A scan's book: how far it has read, who is reading, and what it has seen, in one document of `state`.

Its last update time is the fence: a page of planned deliveries, the new cursor and the run's counts are one atomic commit
that only goes through if nobody has moved the cursor since it was read.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from google.api_core.exceptions import AlreadyExists
from google.cloud import firestore

from ledgermail.delivery import to_document
from ledgermail.errors import FenceLost, LedgerUnavailable
from ledgermail.ledger import DELIVERIES
from ledgermail.page import Page
from ledgermail.store import TROUBLE, call, ledger_errors, moment

STATE = "state"
RUNS = "runs"
LOCK_AGE = timedelta(minutes=10)  # a lock older than this belongs to a scan that died
COMMIT_TRIES = 4  # the second leaves out what exists; more only where two scans race


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
        fields = {"at": self.at, "match_id": self.match_id, "token": self.token, "seen": dict(self.seen)}
        return fields | {"holder": self.holder, "locked_at": self.locked_at}


@dataclass(frozen=True)
class Added:
    """What a page's commit came to: the book after it, and the page without what had existed."""

    book: Book
    page: Page


class Books:
    """The books in Firestore. Every method raises LedgerUnavailable when Firestore gives no usable answer."""

    def __init__(self, client: firestore.Client) -> None:
        self._client = client

    def read(self, name: str) -> Book:
        """Open a book; an empty one where there is none yet."""
        with ledger_errors("read the book"):
            snapshot = self._reference(name).get(**call())
        return Book(name=name, fence=snapshot.update_time, **(snapshot.to_dict() or {}))

    def write(self, book: Book) -> Book:
        """Write a book as it stands (to lock or to release it). Raises FenceLost when somebody else has written it."""
        return self._settle(book, Page(), "").book

    def add_page(self, book: Book, page: Page, run_key: str) -> Added:
        """Commit a page at once: its creates, the book (with a token that no other commit has), the run's counts.

        Where some of its deliveries exist already, they are left out and counted. Raises FenceLost.
        """
        return self._settle(book, page, run_key)

    def _settle(self, book: Book, page: Page, run_key: str) -> Added:
        for _ in range(COMMIT_TRIES):
            try:
                return Added(replace(book, fence=self._commit(book, page, run_key)), page)
            except TROUBLE as error:
                now = self.read(book.name)
                if now.token == book.token:  # it was applied, and only its answer was lost
                    return Added(now, page)
                if now.fence != book.fence:
                    raise FenceLost(f"{book.name} was moved by another") from error
                if isinstance(error, AlreadyExists):
                    page = page.without(self._existing(page))
        raise LedgerUnavailable(f"add page: no commit of {book.name} came through in {COMMIT_TRIES} tries")

    def _commit(self, book: Book, page: Page, run_key: str) -> datetime:
        batch = self._client.batch()
        if book.fence is None:
            batch.create(self._reference(book.name), book.document())
        else:
            option = self._client.write_option(last_update_time=book.fence)
            batch.update(self._reference(book.name), book.document(), option=option)
        for delivery in page.deliveries:
            batch.create(self._client.collection(DELIVERIES).document(delivery.id), to_document(delivery))
        if page.deliveries or page.counts:
            batch.set(self._client.collection(RUNS).document(run_key), _run_counts(run_key, page), merge=True)
        results = batch.commit(**call())
        return moment(results[0].update_time)

    def _existing(self, page: Page) -> set[str]:
        references = [self._client.collection(DELIVERIES).document(delivery.id) for delivery in page.deliveries]
        with ledger_errors("read which exist"):
            found = self._client.get_all(references, field_paths=["status"], **call())
            return {snapshot.id for snapshot in found if snapshot.exists}

    def _reference(self, name: str) -> firestore.DocumentReference:
        return self._client.collection(STATE).document(name)


def _run_counts(run_key: str, page: Page) -> dict[str, Any]:
    mailing, day = run_key.split(":")
    counts = Counter({"intended": len(page.deliveries)}) + page.counts
    return {
        "mailing": mailing,
        "opened_at": datetime.fromisoformat(f"{day}T00:00:00+00:00"),
        **{name: firestore.Increment(count) for name, count in counts.items()},
    }
