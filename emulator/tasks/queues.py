"""One queue: its live tasks, the names that may not come back yet, and which task may start when."""

from __future__ import annotations

import enum
import heapq
import itertools
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from google.cloud import tasks_v2

from emulator.tasks.answers import Answer
from emulator.tasks.rate import TokenBucket
from emulator.tasks.refusal import AlreadyExistsError, NotFoundError
from emulator.tasks.validation import retry_policy

if TYPE_CHECKING:
    from emulator.tasks.journal import Journal

_TOO_RECENTLY = (
    "The task cannot be created because a task with this name existed too recently. For more information about task "
    "de-duplication see https://cloud.google.com/tasks/docs/reference/rest/v2/projects.locations.queues.tasks/create"
    "#body.request_body.FIELDS.task."
)
_NO_LONGER = (
    "The task no longer exists, though a task with this name existed recently. The task either successfully completed "
    "or was deleted."
)


@dataclass(eq=False)
class LiveTask:
    """A task that is not done: what the client gave, and what became of its attempts so far."""

    message: Any  # google.cloud.tasks.v2.Task, complete as accepted
    number: int  # the n-th task created since start or reset
    created_at: datetime
    schedule_at: datetime
    ticket: int = 0  # of its one valid entry in the schedule; 0: it is not waiting
    dispatches: int = 0
    responses: int = 0
    executions: int = 0  # responses, but not 5xx
    failures: int = 0
    first_dispatched_at: datetime | None = None
    last_scheduled_at: datetime | None = None  # the schedule_at of the last attempt
    last_dispatched_at: datetime | None = None
    last_answer: Answer | None = None
    last_answered_at: datetime | None = None
    response_was_lost: bool = False  # by a fault switch

    @property
    def name(self) -> str:
        """The full resource name."""
        return str(self.message.name)

    def start_attempt(self, now: datetime) -> None:
        """waiting -> running: it leaves the schedule and counts one dispatch more."""
        self.ticket = 0
        self.dispatches += 1
        self.first_dispatched_at = self.first_dispatched_at or now
        self.last_scheduled_at, self.last_dispatched_at = self.schedule_at, now

    def end_attempt(self, answer: Answer, now: datetime) -> None:
        """running -> not running, with this answer on record."""
        self.responses += answer.responded
        self.executions += answer.counts_as_execution
        self.failures += not answer.succeeded
        self.last_answer, self.last_answered_at = answer, now


class Fate(enum.Enum):
    """What an answer means for its task."""

    DONE = "done"
    RETRIED = "retried"
    DROPPED = "dropped"  # the retry limits are used up: deleted, and nobody is told
    GONE = "gone"  # it was deleted, purged or done while this attempt ran


class TaskQueue:
    """The state of one queue; moved by calls that carry the time, so it has no clock and starts nothing itself."""

    def __init__(self, message: Any, now: datetime, tombstone_age: timedelta) -> None:
        self.message = message  # google.cloud.tasks.v2.Queue, complete as accepted
        self.live: dict[str, LiveTask] = {}
        self.running = 0
        self._journal: Journal | None = None
        self._tombstone_age = tombstone_age
        self._tombstones: dict[str, datetime] = {}  # task name -> free again at; oldest first
        self._schedule: list[tuple[datetime, int, LiveTask]] = []
        self._tickets = itertools.count(1)
        self.configure(message, now)

    def configure(self, message: Any, now: datetime) -> None:
        """Take new settings. A new rate starts with a full bucket."""
        rate = message.rate_limits.max_dispatches_per_second
        if message is self.message or rate != self.message.rate_limits.max_dispatches_per_second:
            self._bucket = TokenBucket(rate, now)
        self.message = message
        self._retry = retry_policy(message.retry_config)
        self.changed()

    def keep(self, journal: Journal) -> None:
        """Write all changes down from now on."""
        self._journal = journal

    def changed(self) -> None:
        """Its settings or its state are other ones now."""
        if self._journal:
            self._journal.queue(self.message)

    @property
    def paused(self) -> bool:
        """Whether PauseQueue has stopped the dispatch."""
        return bool(self.message.state == tasks_v2.Queue.State.PAUSED)

    def check_unused(self, name: str, now: datetime) -> None:
        """Raise AlreadyExistsError for a name that is live, or was and has not aged enough since."""
        if name in self.live:
            raise AlreadyExistsError("Requested entity already exists")
        if now < self._tombstones.get(name, now):
            raise AlreadyExistsError(_TOO_RECENTLY)

    def add(self, task: LiveTask) -> None:
        """Put a new task into the schedule."""
        self.live[task.name] = task
        self._wait_until(task, task.schedule_at)

    def find(self, name: str, now: datetime) -> LiveTask:
        """The live task of that name. Raises NotFoundError, also for one that is done."""
        if name in self.live:
            return self.live[name]
        raise NotFoundError(_NO_LONGER if now < self._tombstones.get(name, now) else "Requested entity was not found.")

    def remove(self, task: LiveTask, now: datetime) -> None:
        """End a task; its name stays taken until the tombstone has aged."""
        del self.live[task.name]
        task.ticket = 0
        self.bury(task.name, now + self._tombstone_age)
        while (oldest := next(iter(self._tombstones))) != task.name and self._tombstones[oldest] <= now:
            del self._tombstones[oldest]

    def bury(self, name: str, free_at: datetime) -> None:
        """Keep the name of a task that is no more from coming back before then."""
        self._tombstones.pop(name, None)
        self._tombstones[name] = free_at
        if self._journal:
            self._journal.no_task(name, free_at)

    def purge(self, now: datetime) -> None:
        """Delete every task; attempts under way run on, their answers no longer matter."""
        for task in list(self.live.values()):
            self.remove(task, now)
        self.message.purge_time.FromDatetime(now)

    def forget(self) -> None:
        """Drop all tasks and tombstones, as if they had never been."""
        if self._journal:
            for name in (*self.live, *self._tombstones):
                self._journal.no_task(name, None)
        self.live.clear()
        self._tombstones.clear()
        self._schedule.clear()

    def next_start_at(self, now: datetime) -> datetime | None:
        """When the next waiting task may start; None while only a change of state can bring that about."""
        while self._schedule and self._schedule[0][1] != self._schedule[0][2].ticket:
            heapq.heappop(self._schedule)
        if not self._schedule or self.paused or self.running >= self.message.rate_limits.max_concurrent_dispatches:
            return None
        return max(self._schedule[0][0], self._bucket.ready_at(now))

    def take_due(self, now: datetime) -> LiveTask | None:
        """The task that may start now, if any, with its attempt counted and its token used."""
        start_at = self.next_start_at(now)
        if start_at is None or start_at > now:
            return None
        self._bucket.take(now)
        task = heapq.heappop(self._schedule)[2]
        self.start(task, now)
        return task

    def start(self, task: LiveTask, now: datetime) -> None:
        """Count an attempt of this task as running, whatever the limits say (RunTask)."""
        self.running += 1
        task.start_attempt(now)

    def settle(self, task: LiveTask, answer: Answer, now: datetime) -> Fate:
        """Record the answer to an attempt and decide the task's fate; a retry is back in the schedule."""
        if answer.throttles:
            self._bucket.slow_down()
        if answer.succeeded:
            self._bucket.recover()
        if self.live.get(task.name) is not task:
            return Fate.GONE
        task.end_attempt(answer, now)
        if answer.succeeded:
            self.remove(task, now)
            return Fate.DONE
        retry = retry_policy(task.message.retry_config) if task.message.HasField("retry_config") else self._retry
        if retry.exhausted(task.dispatches, task.created_at, task.first_dispatched_at or now, now):
            self.remove(task, now)
            return Fate.DROPPED
        self._wait_until(task, now + max(retry.delay(task.failures), answer.retry_after))
        return Fate.RETRIED

    def _wait_until(self, task: LiveTask, at: datetime) -> None:
        task.schedule_at = at
        task.ticket = next(self._tickets)
        heapq.heappush(self._schedule, (at, task.ticket, task))
        if self._journal:
            self._journal.task(task)
