"""Runs: what was intended, and what became of it."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any

from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter

from ledgermail.errors import InvalidId
from ledgermail.ledger import ids
from ledgermail.ledger.delivery import Status
from ledgermail.ledger.ledger import DELIVERIES
from ledgermail.log import log
from ledgermail.planning.book import RUNS
from ledgermail.planning.run import State
from ledgermail.status.bill import Bill
from ledgermail.store import TROUBLE, Snapshot, call, count_of, ledger_errors, read_at

PAGE = 200  # runs a query
FILLING = timedelta(days=2)  # a book that was opened less than this ago may still get deliveries
MISSED_KEPT = timedelta(days=30)  # a run that was never made is all that says so
# Where most deliveries are, first: a run's counts end where they add up, and nothing is in the others.
LIKELY = (
    Status.ACCEPTED,
    Status.PENDING,
    Status.EMPTY,
    Status.SUPPRESSED,
    Status.IN_FLIGHT,
    Status.REJECTED,
    Status.UNKNOWN,
    Status.EXPIRED,
    Status.CANCELLED,
)


@dataclass(frozen=True, kw_only=True)
class Account:
    """What a run's own document says at one moment."""

    run_key: str
    mailing: str
    state: str | None  # of a digest's run; a book of alerts is open for a day, and has none
    opened_at: datetime
    intended: int
    pruned: int
    duplicates: int  # matches of deliveries that existed already
    read_at: datetime  # that moment, by Firestore's clock


@dataclass(frozen=True, kw_only=True)
class RunCounts:
    """One run at one moment: its account, and how many deliveries the ledger has of it."""

    account: Account
    total: int
    statuses: Mapping[Status, int]  # of these, so many each; empty where only all together were counted

    @property
    def holds(self) -> bool:
        """The identity: intended = pending + in_flight + accepted + terminal others + pruned.

        What a run under planning intends is not fixed yet.
        """
        account = self.account
        return account.state == State.PLANNING or account.intended == self.total + account.pruned


class Runs:
    """The runs in Firestore. Every method raises LedgerUnavailable."""

    def __init__(self, client: firestore.Client) -> None:
        self._client = client
        self._runs = client.collection(RUNS)

    def since(self, opened_at: datetime, limit: int) -> list[RunCounts]:
        """The runs opened since then, newest first, each counted at one moment."""
        bill = Bill()
        return [self.counted(account, bill) for account in self.accounts(opened_at, limit, bill)]

    def accounts(self, opened_at: datetime, limit: int, bill: Bill) -> list[Account]:
        """The accounts of the runs opened since then, newest first; a read each."""
        query = self._runs.where(filter=FieldFilter("opened_at", ">=", opened_at))
        newest = query.order_by("opened_at", direction=firestore.Query.DESCENDING).limit(limit)
        with ledger_errors("read runs"):
            return [_account(run) for run in bill.documents(list(newest.stream(**call())))]

    def account(self, run_key: str, bill: Bill, *, at: datetime | None = None) -> Account | None:
        """One run's account, now or at that time; None where there is none with a day. One read."""
        try:
            ids.user_key(run_key)  # else it can be no document's id, and Firestore would not say that it is not there
        except InvalidId:
            return None
        bill.one()
        with ledger_errors("read a run"):
            run = self._runs.document(run_key).get(read_time=at, **call())
        return _account(run) if "opened_at" in (run.to_dict() or {}) else None

    def counted(self, account: Account, bill: Bill) -> RunCounts:
        """Count a run as of the moment its account was read: deliveries on their way would else be seen twice, or not at all.

        From two counts on (one where nothing was intended) up to ten, at a read a thousand: when what was counted is all that
        was intended, one count of all other statuses says that they hold nothing.
        """
        statuses, unchecked = dict.fromkeys(Status, 0), True
        for position, status in enumerate(LIKELY):
            if unchecked and sum(statuses.values()) == account.intended - account.pruned:
                if not self._count(account, LIKELY[position:], bill):
                    break
                unchecked = False
            statuses[status] = self._count(account, [status], bill)
        return RunCounts(account=account, total=sum(statuses.values()), statuses=statuses)

    def totalled(self, account: Account, bill: Bill) -> RunCounts:
        """Count a run's deliveries in all statuses together, as of the same moment: one count, and enough for the identity."""
        return RunCounts(account=account, total=self._count(account, LIKELY, bill), statuses={})

    def count(self, run_key: str, *statuses: Status, at: datetime | None = None) -> int:
        """How many deliveries of a run have one of these, now or at that time; one read per thousand."""
        query = self._client.collection(DELIVERIES).where(filter=FieldFilter("run_key", "==", run_key))
        query = query.where(filter=FieldFilter("status", "in", list(statuses)))
        with ledger_errors("count a run's deliveries"):
            return count_of(query.count().get(read_time=at, **call()))

    def delete_emptied(self, now: datetime, is_over: Callable[[], bool]) -> int:
        """Delete the runs of past days whose deliveries were all pruned, until the time is over; how many.

        Looks only at runs that a prune has touched, so that one whose pruner died is found by the next. One of which some is
        kept longer is looked at again when a prune has touched it again.
        """
        deleted, page, after = 0, None, None
        while (page is None or len(page) == PAGE) and not is_over():
            page = self._touched(after)
            for run in takewhile(lambda _: not is_over(), page):
                if _is_emptied(run, now):
                    deleted += self._delete(run)
                elif not _is_filling(run, now):
                    self._pass_over(run)
            after = page[-1] if page else None
        return deleted

    def _touched(self, after: Snapshot | None) -> list[Snapshot]:
        query = self._runs.order_by("pruning_at").order_by("__name__").limit(PAGE)
        if after is not None:
            query = query.start_after(
                {"pruning_at": (after.to_dict() or {})["pruning_at"], "__name__": after.reference}
            )
        with ledger_errors("read pruned runs"):
            return list(query.stream(**call()))

    def _delete(self, run: Snapshot) -> bool:
        option = self._client.write_option(last_update_time=run.update_time)
        try:
            run.reference.delete(option=option, **call())
        except TROUBLE as error:
            log("run.not_deleted", severity="WARNING", run_key=run.id, error=type(error).__name__)
            return False
        return True

    def _pass_over(self, run: Snapshot) -> None:
        """Take the mark of the prune away, unless another has come since; left in place it costs a read, no more."""
        option = self._client.write_option(last_update_time=run.update_time)
        with suppress(*TROUBLE):
            run.reference.update({"pruning_at": firestore.DELETE_FIELD}, option=option, **call())

    def _count(self, account: Account, statuses: Sequence[Status], bill: Bill) -> int:
        return bill.count(self.count(account.run_key, *statuses, at=account.read_at))


def _account(run: Snapshot) -> Account:
    document = run.to_dict() or {}
    return Account(
        run_key=run.id,
        mailing=str(document.get("mailing")),
        state=document.get("state"),
        opened_at=document["opened_at"],
        intended=_number(run, "intended"),
        pruned=_number(run, "pruned"),
        duplicates=_number(run, "duplicates"),
        read_at=read_at(run),
    )


def _is_emptied(run: Snapshot, now: datetime) -> bool:
    """Whether all that it intended is gone. One that was never opened was only counted for: its delivery is gone, too."""
    return _number(run, "pruned") >= _number(run, "intended") and not _is_filling(run, now)


def _is_filling(run: Snapshot, now: datetime) -> bool:
    """Whether it is kept whatever is left of it."""
    opened_at: datetime | None = (run.to_dict() or {}).get("opened_at")
    kept = MISSED_KEPT if (run.to_dict() or {}).get("state") == State.MISSED else FILLING
    return opened_at is not None and opened_at >= now - kept


def _number(run: Snapshot, name: str) -> int:
    value: Any = (run.to_dict() or {}).get(name, 0)
    return int(value)
