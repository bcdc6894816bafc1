"""Everything this server knows: its queues, clock, faults and counts."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from google.cloud import tasks_v2

from emulator.clock import Clock
from emulator.tasks.faults import Faults
from emulator.tasks.naming import new_task_name
from emulator.tasks.queues import LiveTask, TaskQueue
from emulator.tasks.refusal import AlreadyExistsError, FailedPreconditionError, NotFoundError
from emulator.tasks.validation import accept_queue

if TYPE_CHECKING:
    from emulator.tasks.journal import Journal

_QUEUE_TOMBSTONE = timedelta(days=3)  # of DeleteQueue's documentation


@dataclass
class Stats:
    """What has happened since start or reset."""

    created: int = 0
    duplicates_refused: int = 0
    dispatched: int = 0  # attempts, without the copies that faults add
    succeeded: int = 0
    failed: int = 0  # attempts
    dropped: int = 0  # tasks given up
    duplicate_dispatches: int = 0
    lost_responses: int = 0
    after_done_dispatches: int = 0


class State:
    """The one object that the RPCs, the control endpoints and the dispatcher share, all on one event loop."""

    def __init__(self, clock: Clock, tombstone_age: timedelta) -> None:
        self.clock = clock
        self.faults = Faults()
        self.stats = Stats()
        self.queues: dict[str, TaskQueue] = {}
        self._tombstone_age = tombstone_age
        self._deleted_queues: dict[str, datetime] = {}  # name -> free again at
        self._journal: Journal | None = None

    def keep(self, journal: Journal) -> None:
        """Write all changes down from now on."""
        self._journal = journal
        for queue in self.queues.values():
            queue.keep(journal)

    def queue(self, name: str) -> TaskQueue:
        """The queue of that name. Raises NotFoundError."""
        if name not in self.queues:
            raise NotFoundError(
                "Queue does not exist. If you just created the queue, wait at least a minute for the queue to "
                "initialize."
            )
        return self.queues[name]

    def create_queue(self, message: Any) -> TaskQueue:
        """Add a queue with these settings, defaults filled in.

        Raises InvalidArgumentError, AlreadyExistsError; FailedPreconditionError while a deleted name is not free again.
        """
        now = self.clock.now()
        if message.name in self.queues:
            raise AlreadyExistsError("Queue already exists")
        if now < self._deleted_queues.get(message.name, now):
            raise FailedPreconditionError(
                "The queue cannot be created because a queue with this name existed too recently."
            )
        accept_queue(message)
        message.state = tasks_v2.Queue.State.RUNNING
        message.ClearField("purge_time")
        queue = self.queues[message.name] = TaskQueue(message, now, self._tombstone_age)
        if self._journal:
            queue.keep(self._journal)
            queue.changed()
        return queue

    def delete_queue(self, name: str) -> None:
        """Remove a queue with all its tasks. Raises NotFoundError."""
        if name not in self.queues:
            raise NotFoundError("Requested entity was not found.")
        self.queues.pop(name).forget()
        if self._journal:
            self._journal.no_queue(name)
        self._deleted_queues[name] = self.clock.now() + _QUEUE_TOMBSTONE

    def create_task(self, queue: TaskQueue, message: Any) -> LiveTask:
        """Add an accepted task under its name, or a random one. Raises AlreadyExistsError, and counts that."""
        now = self.clock.now()
        message.name = message.name or new_task_name(queue.message.name)
        try:
            queue.check_unused(message.name, now)
        except AlreadyExistsError:
            self.stats.duplicates_refused += 1
            raise
        self.stats.created += 1
        start_at = message.schedule_time.ToDatetime(tzinfo=UTC)
        start_at += self.faults.lateness(self.stats.created, message.name)
        task = LiveTask(message, self.stats.created, now, start_at)
        queue.add(task)
        return task

    def reset(self) -> None:
        """Forget all tasks, tombstones and counts; queues, their settings, clock and faults stay."""
        for queue in self.queues.values():
            queue.forget()
        self._deleted_queues.clear()
        self.stats = Stats()

    def counts(self) -> dict[str, object]:
        """The stats, and the number of live tasks of each queue."""
        live = {name: len(queue.live) for name, queue in self.queues.items()}
        return {**dataclasses.asdict(self.stats), "live": live}
