"""The locks of read-write transactions: one owner each, first come, first served.

A read in such a transaction takes the lock that its commit will need, so two that read and then write one document
queue up and both succeed. Of those that wait for each other in a circle the youngest gives up. (Production lets
readers share a lock and then has them compete for its upgrade; the outcome is as serialisable, with more aborts.)
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from emulator.firestore.clock import Clock
from emulator.firestore.refusals import aborted

LOCK_WAIT = timedelta(seconds=20)  # docs: "Transactions and batched writes", lock deadline
LOOK_SECONDS = 0.1  # how often a waiter looks whether the holder is gone or its own time is up


@dataclass(eq=False)
class Owner:
    """Who may hold locks: a transaction, or one commit without one. The lower its age number, the older."""

    age: int
    held: set[str] = field(default_factory=set)
    waits_for: str | None = None
    turn: "asyncio.Future[None] | None" = None


class Locks:
    """Who holds which document's lock, and who waits. Used from one event loop only."""

    def __init__(self, clock: Clock, expire: Callable[[Owner], None]) -> None:
        """``expire`` is called with the holder while others wait, and releases its locks if its time is up."""
        self._clock = clock
        self._expire = expire
        self._holders: dict[str, Owner] = {}
        self._queues: dict[str, deque[Owner]] = {}

    async def acquire(self, owner: Owner, names: Iterable[str]) -> bool:
        """Take the locks, in the order of the names; return whether that took waiting. Raises Refused, ABORTED."""
        waited = False
        for name in sorted(names):
            holder = self._holders.setdefault(name, owner)
            if holder is owner:
                owner.held.add(name)
            else:
                waited = True
                await self._wait(owner, name)
        return waited

    def release(self, owner: Owner) -> None:
        """Give back all locks of an owner; each goes to the first in its queue."""
        for name in owner.held:
            queue = self._queues.get(name)
            if queue:
                self._hand_over(name, queue.popleft())
            else:
                del self._holders[name]
        owner.held.clear()

    def _hand_over(self, name: str, owner: Owner) -> None:
        self._holders[name] = owner
        owner.held.add(name)
        owner.waits_for = None
        assert owner.turn is not None
        owner.turn.set_result(None)

    async def _wait(self, owner: Owner, name: str) -> None:
        queue = self._queues.setdefault(name, deque())
        queue.append(owner)
        owner.waits_for, owner.turn = name, asyncio.get_running_loop().create_future()
        deadline = self._clock.now() + LOCK_WAIT
        try:
            self._break_circle(owner)
            while not owner.turn.done():
                await asyncio.wait([owner.turn], timeout=LOOK_SECONDS)
                self._look(owner, name, deadline)
            owner.turn.result()
        finally:
            owner.waits_for = owner.turn = None
            if owner in queue:
                queue.remove(owner)
            if not queue and self._queues.get(name) is queue:
                del self._queues[name]

    def _look(self, owner: Owner, name: str, deadline: datetime) -> None:
        assert owner.turn is not None
        if not owner.turn.done():
            self._expire(self._holders[name])
        if not owner.turn.done() and self._clock.now() > deadline:
            raise aborted("Transaction lock timeout.")

    def _break_circle(self, owner: Owner) -> None:
        """Make the youngest give up where waiting for each other would never end."""
        circle = [owner]
        while (name := circle[-1].waits_for) is not None:
            holder = self._holders[name]
            if holder is owner:
                youngest = max(circle, key=lambda member: member.age)
                assert youngest.turn is not None
                assert youngest.waits_for is not None
                self._queues[youngest.waits_for].remove(youngest)
                youngest.waits_for = None
                youngest.turn.set_exception(aborted("Too much contention on these documents. Please try again."))
                return
            circle.append(holder)
