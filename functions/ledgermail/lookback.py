"""Find the matches that were committed late, behind the cursor of the scan.

Each past hour's count of matches is compared with what the scans have seen of it, at one billed read per thousand. Only an
hour where they differ is read again, and there the ledger itself says which deliveries exist.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from ledgermail.book import Book
from ledgermail.mailing import Mailing
from ledgermail.matches import PAGE, Document
from ledgermail.scan import Reading, Report, Scanner, hour_of, position, released, turned

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
    scanned, reading = scanner.open(mailing, "scan").book, scanner.open(mailing, "look-back")
    if reading.book.locked(reading.now):
        return Report(mailing.name, stopped="overlap")
    differing = [hour for hour in _hours(scanner, scanned, reading) if hour.count != _seen(hour, scanned, reading.book)]
    if not differing:
        return Report(mailing.name)
    return scanner.locked(reading, lambda: _read_again(scanner, scanned, reading, differing))


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
    resume = reading.book.at is not None and hour.start <= reading.book.at < hour.before
    at, match_id = (reading.book.at or hour.start, reading.book.match_id) if resume else (hour.start, "")
    while not scanner.is_over(reading):
        documents = scanner.matches.after(at, match_id, before=hour.before)
        done = len(documents) < PAGE
        scanner.add(reading, documents, _after(reading, documents, _counted(hour, scanned) if done else {}))
        if done:
            return True
        at, match_id = position(documents)
    return False


def _counted(hour: Hour, scanned: Book) -> dict[str, int]:
    return {hour_of(hour.start): hour.count - scanned.seen.get(hour_of(hour.start), 0)}


def _after(reading: Reading, documents: list[Document], counted: dict[str, int]) -> Book:
    """The book after these: within the hour its cursor, at the hour's end what it was found to hold beyond the scans."""
    if not counted:
        at, match_id = position(documents)
        return turned(reading.book, at=at, match_id=match_id)
    oldest = hour_of(reading.now - reading.mailing.look_back)
    kept = {hour: count for hour, count in reading.book.seen.items() if hour >= oldest}
    return turned(replace(reading.book, seen=kept | counted), at=None, match_id="")
