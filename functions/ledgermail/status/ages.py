"""How long the oldest obligation of each mailing has been waiting: planned and unfinished, or not even read by a scan."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter

from ledgermail.ledger.ledger import DELIVERIES
from ledgermail.mailing import Mailing
from ledgermail.planning.book import Books
from ledgermail.planning.matches import Matches
from ledgermail.status.bill import Bill
from ledgermail.store import MOST_IN, call, count_of, ledger_errors


@dataclass(frozen=True)
class Oldest:
    """The unfinished delivery of a mailing that was due first."""

    due_at: datetime
    run_key: str

    def age(self, now: datetime) -> timedelta:
        """How long it has been due."""
        return max(now - self.due_at, timedelta())


@dataclass(frozen=True, kw_only=True)
class Ages:
    """What the ages are read from. Every method raises LedgerUnavailable."""

    client: firestore.Client
    books: Books
    matches: Matches
    shards: int

    def oldest(self, mailing: str, bill: Bill) -> Oldest | None:
        """The oldest unfinished delivery: one read for each thirty shards."""
        found = [one for query in self._unfinished(mailing) for one in self._first(query, bill)]
        return min(found, key=lambda one: one.due_at, default=None)

    def due_before(self, mailing: str, before: datetime, bill: Bill) -> int:
        """How many unfinished deliveries were due before then: one read a thousand, and for each thirty shards."""
        with ledger_errors("count the oldest"):
            earlier = (
                query.where(filter=FieldFilter("unfinished_since", "<", before)) for query in self._unfinished(mailing)
            )
            return sum(bill.count(count_of(query.count().get(**call()))) for query in earlier)

    def unread(self, mailing: Mailing, now: datetime, bill: Bill) -> timedelta | None:
        """How old the first match after the scan's cursor is; two reads. None where there is none, or nothing is scanned."""
        if mailing.schedule is not None:
            return None
        book = self.books.read(f"scan:{mailing.name}")
        bill.one()
        after = self.matches.after(book.at or now - mailing.max_age, book.match_id, before=now, limit=1)
        bill.documents(after)
        return now - after[0][1]["matched_at"] if after else None

    def _unfinished(self, mailing: str) -> list[firestore.Query]:
        """In the order of their due times, of as many shards as one query may name."""
        query = self.client.collection(DELIVERIES).where(filter=FieldFilter("mailing", "==", mailing))
        asked = [list(range(first, min(first + MOST_IN, self.shards))) for first in range(0, self.shards, MOST_IN)]
        return [query.where(filter=FieldFilter("shard", "in", shards)).order_by("unfinished_since") for shards in asked]

    def _first(self, query: firestore.Query, bill: Bill) -> list[Oldest]:
        with ledger_errors("read the oldest"):
            found = bill.documents(list(query.limit(1).stream(**call())))
        documents: list[Mapping[str, object]] = [snapshot.to_dict() or {} for snapshot in found]
        return [
            Oldest(due, str(d.get("run_key"))) for d in documents if isinstance(due := d["unfinished_since"], datetime)
        ]
