"""What the service works on: every database with its transactions, the clock, the meter, the indexes."""

import asyncio
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from emulator.firestore.clock import Clock
from emulator.firestore.indexes import Indexes, MissingIndex
from emulator.firestore.journal import Changes, Journal
from emulator.firestore.messages import Message
from emulator.firestore.meter import Meter
from emulator.firestore.paths import DocumentName, database_name, project_of
from emulator.firestore.refusals import failed_precondition
from emulator.firestore.store import Database
from emulator.firestore.transactions import Transaction, Transactions


@dataclass(frozen=True)
class View:
    """What one request reads: the documents ``at`` a time (None: now), under a read-write transaction or none."""

    at: datetime | None
    transaction: Transaction | None = None
    opened: bytes = b""  # id of the transaction that the request itself has opened


class Tenant:
    """One database: its documents and its transactions."""

    def __init__(self, name: str, clock: Clock) -> None:
        self.project = project_of(name)
        self.documents = Database(name)
        self.transactions = Transactions(clock)

    def view(self, request: Message) -> View:
        """Return what the request wants to read. Raises Refused."""
        match request.WhichOneof("consistency_selector"):
            case "transaction":
                return _view(self.transactions.use(request.transaction))
            case "new_transaction":
                transaction = self.transactions.begin(request.new_transaction)
                return _view(transaction, transaction.id)
            case _:
                return View(self.transactions.read_time(request) if _has_read_time(request) else None)

    async def lock(self, view: View, names: Iterable[DocumentName]) -> bool:
        """Take the locks a read needs; return whether that took waiting. Raises Refused, ABORTED."""
        if view.transaction is None:
            return False
        return await self.transactions.lock(view.transaction, [name.text for name in names], to_write=False)


@dataclass(frozen=True)
class Realm:
    """All databases, which come into being when they are first named."""

    clock: Clock
    meter: Meter
    indexes: Indexes | None
    journal: Journal | None = None  # where all is written down that a restart shall find again
    listeners: set[asyncio.Event] = field(default_factory=set)  # set when anything has changed
    _tenants: dict[str, Tenant] = field(default_factory=dict)

    def tenant(self, database: str) -> Tenant:
        """Return a database. Raises Refused, INVALID_ARGUMENT, for what is no database name."""
        if database not in self._tenants:
            self._tenants[database] = Tenant(database_name(database), self.clock)
        return self._tenants[database]

    def store(self, at: datetime, changes: Changes) -> None:
        """Keep what a commit at that time left of each document it changed; first on record, if there is one."""
        if self.journal is not None and changes:
            self.journal.commit(at, changes)
        for database in {name.database for name in changes}:
            self.tenant(database).documents.put(changes, at)

    def reset(self, project: str | None) -> None:
        """Forget all documents and transactions of a project, of all without one."""
        if self.journal is not None:
            self.journal.reset(project)
        for name, tenant in list(self._tenants.items()):
            if project in (None, tenant.project):
                del self._tenants[name]
        self.changed()

    def changed(self) -> None:
        """Wake those that listen."""
        for listener in self.listeners:
            listener.set()

    def bill_reads(self, rpc: str, names: Iterable[DocumentName]) -> None:
        """Count one read for each document asked for, whether it exists or not."""
        for (project, collection), reads in _by_collection(names).items():
            self.meter.count(project, rpc, collection, reads=reads)

    def bill_writes(self, rpc: str, written: Iterable[DocumentName], deleted: Iterable[DocumentName]) -> None:
        """Count each write and delete, also one that changed nothing."""
        for (project, collection), writes in _by_collection(written).items():
            self.meter.count(project, rpc, collection, writes=writes)
        for (project, collection), deletes in _by_collection(deleted).items():
            self.meter.count(project, rpc, collection, deletes=deletes)

    def check_index(self, query: Message, parent: str, summed: Iterable[str] = ()) -> None:
        """Raise Refused, FAILED_PRECONDITION, when production would have no index for the query."""
        if self.indexes is None:
            return
        try:
            self.indexes.check(query, parent, tuple(summed))
        except MissingIndex as error:
            raise failed_precondition(str(error)) from error


def _view(transaction: Transaction, opened: bytes = b"") -> View:
    if transaction.read_time is not None:
        return View(transaction.read_time, opened=opened)
    return View(None, transaction, opened)


def _has_read_time(request: Message) -> bool:
    return bool(request.HasField("read_time"))


def _by_collection(names: Iterable[DocumentName]) -> Counter[tuple[str, str]]:
    return Counter((project_of(name.text), name.collection_id) for name in names)
