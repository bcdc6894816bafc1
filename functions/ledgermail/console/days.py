"""What became of each of the last days' deliveries, counted."""

from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from itertools import product

from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter

from ledgermail.console.chart import Day
from ledgermail.ledger import ids
from ledgermail.ledger.delivery import TERMINAL, UNFINISHED, Status
from ledgermail.ledger.ledger import DELIVERIES
from ledgermail.status.bill import Bill
from ledgermail.store import call, count_of, ledger_errors

AT_ONCE = 12  # counts under way together: one after the other they would take seconds
BEYOND = "\uf8ff"  # sorts after whatever follows a day in a run's key
KINDS: dict[str, frozenset[Status]] = {
    "accepted": frozenset({Status.ACCEPTED}),
    "other": TERMINAL - {Status.ACCEPTED},
    "unfinished": UNFINISHED,
}


def count_days(client: firestore.Client, mailings: Collection[str], dates: Iterable[date], bill: Bill) -> list[Day]:
    """Each day's deliveries of these mailings, by the day in their runs' keys: three reads a mailing and day, and one more for
    each thousand that they count. Raises LedgerUnavailable.
    """
    asked = list(product(dates, KINDS, mailings))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        counted = list(pool.map(lambda one: _count(client, one[2], one[0], KINDS[one[1]]), asked))
    sums: dict[date, dict[str, int]] = {}
    for (day, kind, _), number in zip(asked, counted, strict=True):
        of_day = sums.setdefault(day, dict.fromkeys(KINDS, 0))
        of_day[kind] += bill.count(number)
    return [Day(date=day, **of_day) for day, of_day in sums.items()]


def _count(client: firestore.Client, mailing: str, day: date, statuses: Iterable[Status]) -> int:
    first = ids.run_key(mailing, day.isoformat())
    query = client.collection(DELIVERIES).where(filter=FieldFilter("status", "in", sorted(statuses)))
    query = query.where(filter=FieldFilter("run_key", ">=", first))
    query = query.where(filter=FieldFilter("run_key", "<", first + BEYOND))
    with ledger_errors("count a day"):
        return count_of(query.count().get(**call()))
