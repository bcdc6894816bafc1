"""The locks of read-write transactions: readers share one, a writer has it alone; first come, first served.

Two that have read the same document and then want to write it wait for each other. Of such a circle the youngest
gives up at once and runs again, and then it has from the start alone what it reads, in its turn. So one of a circle
always goes on, and on a single document nobody has to run more than twice.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import takewhile

from emulator.firestore.clock import Clock
from emulator.firestore.refusals import aborted

LOCK_WAIT = timedelta(seconds=20)  # docs: "Transactions and batched writes", lock deadline
LOOK_SECONDS = 0.1  # how often a waiter looks whether the holders are gone or its own time is up
CONTENTION = "Too much contention on these documents. Please try again."


@dataclass(eq=False)
class Owner:
    """Who may hold locks: a transaction, or one commit without one. The lower its age number, the older."""

    age: int
    held: "dict[str, Lock]" = field(default_factory=dict)
    waits_for: "Lock | None" = None
    wants_alone: bool = False
    turn: "asyncio.Future[None] | None" = None


@dataclass(eq=False)
class Lock:
    """The lock of one document: who holds it, whether alone, and who waits for it."""

    holders: dict[Owner, bool] = field(default_factory=dict)
    queue: deque[Owner] = field(default_factory=deque)

    def admits(self, owner: Owner, *, alone: bool) -> bool:
        """Whether this owner may have it now, as far as the holders are concerned."""
        return all(holder is owner or not (alone or held_alone) for holder, held_alone in self.holders.items())

    def blockers(self, owner: Owner) -> Iterator[Owner]:
        """Yield whom this waiting owner waits for."""
        yield from (holder for holder in self.holders if holder is not owner)
        yield from takewhile(lambda waiting: waiting is not owner, self.queue)


class Locks:
    """The locks of one database, by document name. Used from one event loop only."""

    def __init__(self, clock: Clock, expire: Callable[[Owner], None]) -> None:
        """``expire`` is called with holders while others wait; it releases the locks of one whose time is up."""
        self._clock = clock
        self._expire = expire
        self._locks: dict[str, Lock] = {}

    async def acquire(self, owner: Owner, names: Iterable[str], *, alone: bool) -> bool:
        """Take locks, in the order of the names; return whether that took waiting. Raises Refused, ABORTED."""
        waited = False
        for name in sorted(names):
            lock = self._locks.setdefault(name, Lock())
            owner.held.setdefault(name, lock)
            if owner in lock.holders and (lock.holders[owner] or not alone):
                continue
            if lock.admits(owner, alone=alone) and (owner in lock.holders or not lock.queue):
                lock.holders[owner] = alone
            else:
                waited = True
                await self._wait(owner, lock, alone=alone)
        return waited

    def release(self, owner: Owner) -> None:
        """Give back all locks of an owner; each goes to the next in its queue."""
        for name, lock in owner.held.items():
            lock.holders.pop(owner, None)
            self._admit(lock)
            if not lock.holders and not lock.queue:
                self._locks.pop(name, None)
        owner.held.clear()

    def _admit(self, lock: Lock) -> None:
        while lock.queue and lock.admits(lock.queue[0], alone=lock.queue[0].wants_alone):
            owner = lock.queue.popleft()
            lock.holders[owner] = owner.wants_alone
            self._end_wait(owner)

    async def _wait(self, owner: Owner, lock: Lock, *, alone: bool) -> None:
        if owner in lock.holders:
            lock.queue.appendleft(owner)  # nobody in the queue can go before it gives up its share
        else:
            lock.queue.append(owner)
        owner.waits_for, owner.wants_alone = lock, alone
        owner.turn = turn = asyncio.get_running_loop().create_future()
        deadline = self._clock.now() + LOCK_WAIT
        try:
            self._break_circles(owner)
            while not turn.done():
                await asyncio.wait([turn], timeout=LOOK_SECONDS)
                self._look(owner, lock, deadline)
            turn.result()
        finally:
            owner.waits_for = None
            if owner in lock.queue:
                lock.queue.remove(owner)
            self._admit(lock)

    def _look(self, owner: Owner, lock: Lock, deadline: datetime) -> None:
        for holder in list(lock.holders):
            if owner.waits_for is lock and holder is not owner:
                self._expire(holder)
        if owner.waits_for is lock and self._clock.now() > deadline:
            raise aborted("Transaction lock timeout.")

    def _break_circles(self, owner: Owner) -> None:
        """Make the youngest give up wherever waiting for each other would never end."""
        while owner.waits_for is not None and (circle := _circle([owner], set())):
            youngest = max(circle, key=lambda member: member.age)
            assert youngest.waits_for is not None
            youngest.waits_for.queue.remove(youngest)
            self._end_wait(youngest, gives_up=True)

    def _end_wait(self, owner: Owner, *, gives_up: bool = False) -> None:
        assert owner.turn is not None
        owner.waits_for = None
        if gives_up:
            owner.turn.set_exception(aborted(CONTENTION))
        else:
            owner.turn.set_result(None)


def _circle(path: list[Owner], seen: set[Owner]) -> list[Owner]:
    """Return the owners from the first of the path back to itself that wait for each other; none if there are none."""
    last = path[-1]
    for blocker in last.waits_for.blockers(last) if last.waits_for else ():
        if blocker is path[0]:
            return path
        if blocker not in seen:
            seen.add(blocker)
            if circle := _circle([*path, blocker], seen):
                return circle
    return []
