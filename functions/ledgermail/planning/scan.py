"""Find the matches that are new, and owe each an alert: one page, one commit, then a task for each delivery.

The cursor scan reads every match once, in the order (matched_at, id). What was committed late with an early matched_at lies
behind its cursor: the look-back (lookback.py) finds that.
"""

import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from ledgermail.clock import Clock
from ledgermail.delivering.tasks import Tasks, wake_of
from ledgermail.errors import FenceLost, LedgermailError
from ledgermail.ledger import ids
from ledgermail.ledger.ledger import Ledger
from ledgermail.log import log
from ledgermail.mailing import Mailing
from ledgermail.planning.book import Book, Books
from ledgermail.planning.matches import PAGE, Document, Matches
from ledgermail.planning.page import Page, owners, plan_page, read_matches

SETTLING = timedelta(seconds=1)  # commits under way may still bring matches this old; the cursor must not pass them


@dataclass
class Report:
    """What one scan did: matches by what they came to, tasks made, and whether there is more to do."""

    mailing: str
    counts: Counter[str] = field(default_factory=Counter)
    more: bool = False
    stopped: str = ""  # why it gave way: overlap (another is at work), fence (another was faster)


@dataclass
class Reading:
    """A scan under way: its book as last written, and the users it has read (None: there is no such user)."""

    mailing: Mailing
    book: Book
    now: datetime
    until: float  # on the monotonic clock
    users: dict[str, Mapping[str, Any] | None] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def before(self) -> datetime:
        """Matches from then on are left to the next scan."""
        return self.now - SETTLING


@dataclass(frozen=True, kw_only=True)
class Scanner:
    """What a scan works with."""

    books: Books
    matches: Matches
    ledger: Ledger
    tasks: Tasks
    clock: Clock
    shards: int
    time_box: timedelta

    def scan(self, mailing: Mailing) -> Report:
        """Plan what lies after the cursor. An idle scan costs two reads and writes nothing. Raises LedgerUnavailable."""
        reading = self.open(mailing, "scan")
        if reading.book.locked(reading.now):
            return Report(mailing.name, stopped="overlap")
        start = reading.book.at or reading.now - mailing.max_age
        documents = self.matches.after(start, reading.book.match_id, before=reading.before)
        return self.locked(reading, lambda: self._read_on(reading, documents)) if documents else Report(mailing.name)

    def open(self, mailing: Mailing, kind: str) -> Reading:
        """Open the book of this kind of scan."""
        until = self.clock.monotonic() + self.time_box.total_seconds()
        return Reading(mailing, self.books.read(f"{kind}:{mailing.name}"), self.clock.now(), until)

    def locked(self, reading: Reading, work: Callable[[], bool]) -> Report:
        """Do the work under the book's lock; the work's last write releases it. A lock spares others the work, no more."""
        report = Report(reading.mailing.name, counts=reading.counts)
        try:
            reading.book = self.books.write(turned(reading.book, holder=new_token(), locked_at=reading.now))
            report.more = work()
        except FenceLost:
            report.stopped = "fence"
        except LedgermailError:
            self._give_up(reading)
            raise
        return report

    def is_over(self, reading: Reading) -> bool:
        """Whether the time box is used up."""
        return self.clock.monotonic() >= reading.until

    def _read_on(self, reading: Reading, documents: list[Document]) -> bool:
        """Page after page until the end or the end of the time box; whether there is more."""
        while len(documents) == PAGE and not self.is_over(reading):
            self.add(reading, documents, passed(reading.book, documents, reading))
            at, match_id = position(documents)
            documents = self.matches.after(at, match_id, before=reading.before)
        if documents:
            self.add(reading, documents, released(passed(reading.book, documents, reading)))
        else:
            reading.book = self.books.write(released(turned(reading.book)))
        return len(documents) == PAGE

    def add(self, reading: Reading, documents: list[Document], book: Book) -> None:
        """Commit what a page of matches owes together with the book as it shall be, then make the tasks."""
        matches, invalid = read_matches(documents)
        for match_id, problem in invalid:
            log("match.invalid", severity="WARNING", match_id=match_id, problem=problem)
        self._read_users(reading, owners(matches, reading.now - reading.mailing.max_age))
        known = {user_id: user for user_id, user in reading.users.items() if user is not None}
        planned = plan_page(reading.mailing, matches, known, now=reading.now, shards=self.shards)
        page = Page(planned.deliveries, planned.counts + Counter(invalid=len(invalid)))
        run_key = ids.run_key(reading.mailing.name, reading.now.date().isoformat())
        reading.book, added = self.books.add_page(book, page, run_key)
        woken = self.tasks.wake([wake_of(delivery) for delivery in added.deliveries])
        reading.counts.update(added.counts)
        reading.counts.update(matches=len(documents), created=len(added.deliveries), woken=woken)

    def _read_users(self, reading: Reading, user_ids: list[str]) -> None:
        unread = [user_id for user_id in user_ids if user_id not in reading.users]
        if unread:
            found = self.ledger.users(unread)
            reading.users.update({user_id: found.get(user_id) for user_id in unread})

    def _give_up(self, reading: Reading) -> None:
        """Release the lock if that can still be done; if not, its age heals it."""
        try:
            self.books.write(released(turned(reading.book)))
        except LedgermailError as error:
            log("scan.lock_left", severity="WARNING", book=reading.book.name, error=type(error).__name__)


def new_token() -> str:
    """A name that nothing else has."""
    return uuid.uuid4().hex


def turned(book: Book, **changes: Any) -> Book:
    """The book with these changes, to be written under a token of its own."""
    return replace(book, token=new_token(), **changes)


def released(book: Book) -> Book:
    """The book without its lock."""
    return replace(book, holder="", locked_at=None)


def position(documents: list[Document]) -> tuple[datetime, str]:
    """Where a cursor stands that has read these."""
    match_id, document = documents[-1]
    return document["matched_at"], match_id


def hour_of(moment: datetime) -> str:
    """The UTC hour that a match is counted under, as 2026-08-16T09."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H")


def passed(book: Book, documents: list[Document], reading: Reading) -> Book:
    """The book after reading these: its cursor behind them, and their hours counted as far back as the look-back goes."""
    seen = Counter(book.seen) + Counter(hour_of(document["matched_at"]) for _, document in documents)
    oldest = hour_of(reading.now - reading.mailing.look_back)
    at, match_id = position(documents)
    return turned(book, at=at, match_id=match_id, seen={hour: n for hour, n in seen.items() if hour >= oldest})
