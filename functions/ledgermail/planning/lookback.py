"""Find the matches that were committed late, behind the cursor of the scan.

Each past hour's count of matches is compared with what the scans have seen of it, at one billed read per thousand. Only an
hour where they differ is read again, and there the ledger itself says which deliveries exist. What is then taken for seen is
the count from before the hour was read: what came meanwhile, or behind a look-back that was stopped within the hour, makes
the next one differ.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ledgermail.mailing import Mailing
from ledgermail.planning.book import Book
from ledgermail.planning.matches import PAGE
from ledgermail.planning.scan import Reading, Report, Scanner, hour_of, position, released, turned

HOUR = timedelta(hours=1)
TICK = timedelta(microseconds=1)  # the resolution of matched_at: the cursor's own match is seen


@dataclass(frozen=True)
class Hour:
    """A past hour, as far as the cursor has come, and how many matches it holds."""

    start: datetime
    before: datetime
    count: int


def look_back(scanner: Scanner, mailing: Mailing) -> Report:
    """Plan what the cursor has passed unseen. Raises LedgerUnavailable."""
    reading = scanner.open(mailing, "look-back")
    scanned = scanner.open(mailing, "scan").book  # after our own: no older than what the last look-back went by
    if reading.book.locked(reading.now):
        return Report(mailing.name, stopped="overlap")
    hours = list(_hours(scanner, scanned, reading))
    unread = [
        hour for hour in hours if _begun(hour, reading.book)
    ]  # first, as there is one place to keep within an hour
    unread += [hour for hour in hours if hour.count != _seen(hour, scanned, reading.book)]
    if not unread:
        return Report(mailing.name)
    return scanner.locked(reading, lambda: _read_again(scanner, scanned, reading, unread))


def _hours(scanner: Scanner, scanned: Book, reading: Reading) -> Iterator[Hour]:
    oldest = (reading.now - reading.mailing.look_back).astimezone(UTC)
    start = oldest.replace(minute=0, second=0, microsecond=0)
    while scanned.at is not None and start <= scanned.at:
        before = min(start + HOUR, scanned.at + TICK)
        yield Hour(start, before, scanner.matches.count(start, before))
        start += HOUR


def _seen(hour: Hour, scanned: Book, book: Book) -> int:
    """How many of the hour's matches are accounted for, by the scans and by earlier look-backs."""
    return scanned.seen.get(hour_of(hour.start), 0) + book.seen.get(hour_of(hour.start), 0)


def _read_again(scanner: Scanner, scanned: Book, reading: Reading, hours: list[Hour]) -> bool:
    """Hour after hour until the end or the end of the time box; whether there is more."""
    for hour in hours:
        if not _read_hour(scanner, scanned, reading, hour):
            reading.book = scanner.books.write(released(turned(reading.book)))
            return True
    reading.book = scanner.books.write(released(turned(reading.book)))
    return False


def _read_hour(scanner: Scanner, scanned: Book, reading: Reading, hour: Hour) -> bool:
    """Page after page from where an earlier look-back left this hour; whether its end was reached."""
    at, match_id, seen = hour.start, "", _seen_after(hour, scanned, reading)
    if _begun(hour, reading.book):
        at, match_id, seen = reading.book.at or at, reading.book.match_id, reading.book.seen
    while not scanner.is_over(reading):
        documents = scanner.matches.after(at, match_id, before=hour.before)
        if len(documents) < PAGE:
            scanner.add(reading, documents, turned(reading.book, seen=seen, at=None, match_id=""))
            return True
        at, match_id = position(documents)
        scanner.add(reading, documents, turned(reading.book, seen=seen, at=at, match_id=match_id))
    return False


def _begun(hour: Hour, book: Book) -> bool:
    """Whether an earlier look-back was stopped within this hour."""
    return book.at is not None and hour.start <= book.at < hour.before


def _seen_after(hour: Hour, scanned: Book, reading: Reading) -> Mapping[str, int]:
    """What look-backs have found beyond the scans, by hour, once this hour is read."""
    oldest = hour_of(reading.now - reading.mailing.look_back)
    kept = {name: count for name, count in reading.book.seen.items() if name >= oldest}
    name = hour_of(hour.start)
    return kept | {name: hour.count - scanned.seen.get(name, 0)}
