"""Transactions: their ids, their end, and that what a read-write one has read is still so when it commits."""

import secrets
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import count

from emulator.firestore.clock import Clock
from emulator.firestore.documents import time_of
from emulator.firestore.locks import Locks, Owner
from emulator.firestore.messages import Message
from emulator.firestore.refusals import aborted, failed_precondition, invalid
from emulator.firestore.store import HISTORY

IDLE = timedelta(seconds=60)  # docs: "Transactions and batched writes", limits
LIFETIME = timedelta(seconds=270)
_ID = struct.Struct(">8sQQ")  # this server's mark, the transaction's number, its age
CLOSED = "The referenced transaction has expired or is no longer valid."


@dataclass(eq=False)
class Transaction(Owner):
    """An open transaction. ``read_time`` None: it reads what is, under locks, and may write."""

    id: bytes = b""
    is_retry: bool = False
    read_time: datetime | None = None
    started: datetime = datetime.max
    last_used: datetime = datetime.max
    still_so: list[Callable[[], bool]] = field(default_factory=list)  # of each query: would it find the same now?


class Transactions:
    """The open transactions of one database. Used from one event loop only."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._mark = secrets.token_bytes(8)
        self._numbers = count(1)
        self._open: dict[bytes, Transaction] = {}
        self._locks = Locks(clock, self._expire)

    def begin(self, options: Message) -> Transaction:
        """Open a transaction. One that retries another keeps its age, so that it wins in the end.

        Raises Refused, INVALID_ARGUMENT, for a bad transaction to retry or time to read at.
        """
        for transaction in list(self._open.values()):
            self._expire(transaction)
        now, number = self._clock.now(), next(self._numbers)
        age, read_time, retried = number, None, options.read_write.retry_transaction
        if options.HasField("read_only"):
            read_time = self.read_time(options.read_only) or now
        elif retried:
            age = self._unpacked(retried)[1]
            self._end_attempts(age)
        id_ = _ID.pack(self._mark, number, age)
        self._open[id_] = Transaction(
            age=age, id=id_, is_retry=bool(retried), read_time=read_time, started=now, last_used=now
        )
        return self._open[id_]

    def use(self, id_: bytes) -> Transaction:
        """Return the open transaction. Raises Refused, INVALID_ARGUMENT, when there is none."""
        self._unpacked(id_)
        if id_ in self._open:
            self._expire(self._open[id_])
        if id_ not in self._open:
            raise invalid(CLOSED)
        transaction = self._open[id_]
        transaction.last_used = self._clock.now()
        return transaction

    def end(self, transaction: Transaction) -> None:
        """Close a transaction and give its locks back."""
        self._open.pop(transaction.id, None)
        self._locks.release(transaction)

    def roll_back(self, id_: bytes) -> None:
        """Close a transaction; one that is closed already is no error. Raises Refused for no id of ours."""
        self._unpacked(id_)
        if id_ in self._open:
            self.end(self._open[id_])

    async def lock(self, transaction: Transaction, names: Iterable[str], *, to_write: bool) -> bool:
        """Take locks; return whether that took waiting. Raises Refused, ABORTED; the transaction is then closed."""
        try:
            waited = await self._locks.acquire(transaction, set(names), alone=to_write or transaction.is_retry)
        except BaseException:
            self.end(transaction)
            raise
        if transaction.id not in self._open:  # rolled back, or expired, while it waited
            self._locks.release(transaction)
            raise aborted(CLOSED)
        transaction.last_used = self._clock.now()
        return waited

    def single(self) -> Transaction:
        """Open a transaction for one commit that came without."""
        now, number = self._clock.now(), next(self._numbers)
        transaction = Transaction(age=number, id=_ID.pack(self._mark, number, number), started=now, last_used=now)
        self._open[transaction.id] = transaction
        return transaction

    def read_time(self, selector: Message) -> datetime | None:
        """Return the time a message asks to read at, if it does. Raises Refused when it is out of reach."""
        if not selector.HasField("read_time"):
            return None
        if selector.read_time.nanos % 1000:
            raise invalid("timestamp cannot have more than microseconds precision")
        time, now = time_of(selector.read_time), self._clock.now()
        if time > now:
            raise invalid("The requested 'read_time' cannot be in the future.")
        if time < now - HISTORY:
            raise failed_precondition("The requested snapshot version is too old.")
        return time

    def _end_attempts(self, age: int) -> None:
        """Close the earlier attempts of a transaction: all have its age, and one whose failure was lost is open."""
        for transaction in list(self._open.values()):
            if transaction.age == age:
                self.end(transaction)

    def _expire(self, owner: Owner) -> None:
        """Close a transaction that has been idle, or open, too long."""
        assert isinstance(owner, Transaction)
        now = self._clock.now()
        if owner.waits_for is None and (now - owner.last_used > IDLE or now - owner.started > LIFETIME):
            self.end(owner)

    def _unpacked(self, id_: bytes) -> tuple[int, int]:
        """Return number and age. Raises Refused, INVALID_ARGUMENT, for an id this server has not given."""
        if len(id_) != _ID.size or not id_.startswith(self._mark):
            raise invalid("Invalid transaction.")
        _, number, age = _ID.unpack(id_)
        return number, age
