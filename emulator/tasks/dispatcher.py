"""Calls the targets: starts each task when its queue allows, and hands the answer back to the queue."""

import asyncio
from collections.abc import Coroutine
from datetime import datetime

import h11

from emulator.tasks.answers import DEADLINE_EXCEEDED, UNREACHABLE, Answer, retry_after
from emulator.tasks.http_client import HttpClient
from emulator.tasks.http_task import Outgoing, outgoing
from emulator.tasks.oidc import TokenSigner
from emulator.tasks.queues import Fate, LiveTask, TaskQueue
from emulator.tasks.state import State

_SHORTEST_TIMER = 0.001  # seconds; the loop's clock and the wall clock do not agree to the microsecond
_LONGEST_TIMER = 3600.0  # seconds; then it looks again
_LOST = Answer(UNREACHABLE, responded=False)


class Dispatcher:
    """One timer a queue, set for the moment its next task may start; everything else happens on events."""

    def __init__(self, state: State, signer: TokenSigner) -> None:
        self._state = state
        self._signer = signer
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._requests: set[asyncio.Task[None]] = set()
        self._deadlines: dict[asyncio.Timeout, datetime] = {}
        self._client = HttpClient()

    def poke(self, queue: TaskQueue) -> None:
        """Start what may start in this queue now, and set the timer for the rest. Call it after any change."""
        now = self._state.clock.now()
        while task := queue.take_due(now):
            self._send_attempt(queue, task)
        self._set_timer(queue, now)

    def run(self, queue: TaskQueue, task: LiveTask) -> None:
        """Start an attempt at once, whatever rate, concurrency and pause say (RunTask)."""
        now = self._state.clock.now()
        task.schedule_at = now
        queue.start(task, now)
        self._send_attempt(queue, task)

    def clock_moved(self) -> None:
        """Look at every queue and every dispatch deadline again."""
        now = self._state.clock.now()
        loop_now = asyncio.get_running_loop().time()
        for timeout, deadline_at in self._deadlines.items():
            timeout.reschedule(loop_now + max(0.0, (deadline_at - now).total_seconds()))
        for queue in self._state.queues.values():
            self.poke(queue)

    def abandon(self) -> None:
        """Cut off every request under way; their answers do not count."""
        for request in self._requests:
            request.cancel()

    def _set_timer(self, queue: TaskQueue, now: datetime) -> None:
        if timer := self._timers.pop(queue.message.name, None):
            timer.cancel()
        start_at = queue.next_start_at(now)
        if start_at is not None:
            delay = min(max((start_at - now).total_seconds(), _SHORTEST_TIMER), _LONGEST_TIMER)
            self._timers[queue.message.name] = asyncio.get_running_loop().call_later(delay, self.poke, queue)

    def _send_attempt(self, queue: TaskQueue, task: LiveTask) -> None:
        request = outgoing(queue.message.name, task, self._signer)
        self._state.stats.dispatched += 1
        self._spawn(self._attempt(queue, task, request))
        if task.dispatches == 1 and self._state.faults.duplicates(task.number, task.name):
            self._state.stats.duplicate_dispatches += 1
            self._spawn(self._copy(request))

    async def _attempt(self, queue: TaskQueue, task: LiveTask, request: Outgoing) -> None:
        try:
            answer = self._possibly_lost(task, await self._send(request))
            fate = queue.settle(task, answer, self._state.clock.now())
            self._count(fate)
            if fate is Fate.DONE and self._state.faults.repeats_after_done(task.number, task.name):
                self._state.stats.after_done_dispatches += 1
                self._spawn(self._copy(request))
        finally:
            queue.running -= 1
            self.poke(queue)

    async def _copy(self, request: Outgoing) -> None:
        """Send a request whose answer nobody waits for."""
        await self._send(request)

    async def _send(self, request: Outgoing) -> Answer:
        """Never raises for what a target does: a refused connection or a passed deadline is an answer, too."""
        timeout = asyncio.timeout(request.deadline.total_seconds())
        self._deadlines[timeout] = self._state.clock.now() + request.deadline
        try:
            async with timeout:
                response = await self._client.request(request.method, request.url, request.headers, request.body)
        except (OSError, h11.ProtocolError, ValueError):
            return Answer(DEADLINE_EXCEEDED if timeout.expired() else UNREACHABLE, responded=False)
        finally:
            del self._deadlines[timeout]
        header = dict(response.headers).get(b"retry-after", b"").decode("latin-1")
        return Answer(response.status_code, responded=True, retry_after=retry_after(header, self._state.clock.now()))

    def _possibly_lost(self, task: LiveTask, answer: Answer) -> Answer:
        """The fault that a target did its work and the answer never arrived, once a task."""
        if task.response_was_lost or not answer.succeeded:
            return answer
        if not self._state.faults.loses_response(task.number, task.name):
            return answer
        task.response_was_lost = True
        self._state.stats.lost_responses += 1
        return _LOST

    def _count(self, fate: Fate) -> None:
        self._state.stats.succeeded += fate is Fate.DONE
        self._state.stats.failed += fate in (Fate.RETRIED, Fate.DROPPED)
        self._state.stats.dropped += fate is Fate.DROPPED

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        request = asyncio.create_task(work)
        self._requests.add(request)
        request.add_done_callback(self._requests.discard)
