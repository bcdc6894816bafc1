"""A local Cloud Scheduler: cron lines become HTTP calls with the headers, deadline and retries of the real one.

The facts are those of the scheduler_v1 client's docstrings. The OIDC token is left out: locally nothing checks it.
"""

import argparse
import asyncio
import contextlib
import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import httpx
from cronsim import CronSim, CronSimError

from emulator.clock import Clock
from emulator.process import announce, until_parent_ends

_CRON_FIELDS = 5  # unix-cron: no seconds
_MAX_BACKOFF = timedelta(hours=1)
_MAX_DOUBLINGS = 5
_LONGEST_WAIT = timedelta(minutes=1)
# What the service sets itself; a job's own values for these are dropped.
_OWN_HEADERS = ("user-agent", "host", "content-length", "x-cloudscheduler", "x-google-", "x-appengine-")
_log = logging.getLogger(__name__)


class JobError(Exception):
    """A job that cannot be scheduled; the text names it and what is wrong."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """What to call and when. ``cron`` is a unix-cron line, read in the IANA zone that may follow it, else in UTC."""

    name: str
    cron: str
    url: str
    method: str = "POST"
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    attempt_deadline: timedelta = timedelta(minutes=3)
    retry_count: int = 0
    min_backoff: timedelta = timedelta(seconds=5)

    def __post_init__(self) -> None:
        try:
            next(self.instants_after(datetime.now(UTC)))
        except (CronSimError, ZoneInfoNotFoundError, ValueError, StopIteration) as error:
            raise JobError(f"{self.name}: {self.cron!r}: {error}") from error
        if not self.url.startswith(("http://", "https://")):
            raise JobError(f"{self.name}: {self.url!r} is no HTTP address")

    def instants_after(self, after: datetime) -> Iterator[datetime]:
        """All due instants later than ``after``, in UTC."""
        *fields, last = self.cron.split()
        zoned = len(fields) == _CRON_FIELDS
        line = " ".join(fields if zoned else [*fields, last])
        if len(line.split()) != _CRON_FIELDS:
            raise JobError(f"{self.name}: a cron line has five fields, {self.cron!r} does not")
        local = after.astimezone(ZoneInfo(last if zoned else "UTC"))
        return (instant.astimezone(UTC) for instant in CronSim(line, local))


@dataclass(frozen=True)
class Run:
    """One execution: how often it was attempted, and the last answer's status, or the error when there was none."""

    job: str
    scheduled_at: datetime
    attempts: int
    status: int | None
    error: str | None = None

    @property
    def succeeded(self) -> bool:
        return self.status is not None and 200 <= self.status < 300


def due(job: Job, after: datetime, until: datetime) -> list[datetime]:
    """The instants in (after, until] at which the job is due, in UTC. Both ends are aware.

    A local time that a clock change skips counts at the first valid instant after it; one that comes twice, once.
    """
    if after.tzinfo is None or until.tzinfo is None:
        raise JobError(f"{job.name}: naive time")
    return list(takewhile(lambda instant: instant <= until, job.instants_after(after)))


def next_due(job: Job, after: datetime, now: datetime) -> datetime:
    """The nominal time of the call after ``after``: the last one missed by ``now``, if any, else the first to come.

    An execution that outlasts the next due time delays it, and several missed ones become one late call.
    """
    missed = due(job, after, now)
    return missed[-1] if missed else next(job.instants_after(after))


def headers(job: Job, scheduled_at: datetime) -> dict[str, str]:
    """The headers of an attempt; the schedule time is the nominal one, on retries too."""
    own = {name: value for name, value in job.headers.items() if not name.lower().startswith(_OWN_HEADERS)}
    typed = any(name.lower() == "content-type" for name in own)
    return {
        **({} if typed else {"Content-Type": "application/octet-stream"}),
        **own,
        "User-Agent": "Google-Cloud-Scheduler",
        "X-CloudScheduler": "true",
        "X-CloudScheduler-JobName": job.name,
        "X-CloudScheduler-ScheduleTime": scheduled_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def backoff(job: Job, attempts: int) -> timedelta:
    """The pause after so many attempts: min_backoff, doubled five times, at most one hour."""
    return min(job.min_backoff * (1 << min(attempts - 1, _MAX_DOUBLINGS)), _MAX_BACKOFF)


def run(job: Job, scheduled_at: datetime) -> Run:
    """Run the job now, as due at ``scheduled_at``, and wait for its end."""
    return asyncio.run(_run(job, scheduled_at))


async def _run(job: Job, scheduled_at: datetime) -> Run:
    attempts = 0
    while True:
        attempts += 1
        status, error = await _attempt(job, scheduled_at)
        result = Run(job.name, scheduled_at, attempts, status, error)
        _log.info("scheduler.called job=%s attempt=%d status=%s error=%s", job.name, attempts, status, error)
        if result.succeeded or attempts > job.retry_count:
            return result
        await asyncio.sleep(backoff(job, attempts).total_seconds())


async def _attempt(job: Job, scheduled_at: datetime) -> tuple[int | None, str | None]:
    """The answer's status, or what went wrong. Past the deadline the callee may still be at work."""
    try:
        async with (
            asyncio.timeout(job.attempt_deadline.total_seconds()),
            httpx.AsyncClient(timeout=None, trust_env=False) as client,  # noqa: S113 - the deadline is around it
        ):
            answer = await client.request(job.method, job.url, content=job.body, headers=headers(job, scheduled_at))
    except TimeoutError:
        return None, "deadline exceeded"
    except httpx.HTTPError as error:
        return None, repr(error)
    return answer.status_code, None


class Scheduler:
    """Runs jobs at their times in a thread of its own, each job's executions one after the other."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._jobs = jobs
        self._clock = Clock()
        self._loop = asyncio.new_event_loop()
        self._moved = asyncio.Event()
        self._keeping = self._loop.create_task(self._keep_all(self._clock.now()))
        self._thread = threading.Thread(target=self._serve, name="scheduler")

    def start(self) -> None:
        """Begin. What was due before the scheduler was made is not made up for."""
        self._thread.start()

    def advance(self, seconds: float) -> None:
        """Move the scheduler's clock forward; a job that became due in between runs at once, and once."""
        self._clock.advance(timedelta(seconds=seconds))
        self._loop.call_soon_threadsafe(self._moved.set)

    def stop(self) -> None:
        """Stop at once: waits end, and calls under way are given up."""
        self._loop.call_soon_threadsafe(self._keeping.cancel)
        self._thread.join()

    def _serve(self) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            self._loop.run_until_complete(self._keeping)
        self._loop.run_until_complete(self._loop.shutdown_default_executor())  # where names are looked up
        self._loop.close()

    async def _keep_all(self, since: datetime) -> None:
        async with asyncio.TaskGroup() as group:
            for job in self._jobs:
                group.create_task(self._keep(job, since))
            while await self._moved.wait():
                self._moved = asyncio.Event()

    async def _keep(self, job: Job, after: datetime) -> None:
        while True:
            now = self._clock.now()
            at = next_due(job, after, now)
            if at > now:
                # In slices, because a machine that sleeps stops the timer and not the clock.
                pause = min(at - now, _LONGEST_WAIT).total_seconds()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._moved.wait(), pause)
            else:
                await _run(job, at)
                after = at


def _job(line: str) -> Job:
    """The job of a ``name|cron line|url`` argument."""
    try:
        name, cron, url = line.split("|")
        return Job(name=name, cron=cron, url=url)
    except (ValueError, JobError) as error:
        raise argparse.ArgumentTypeError(f"{line!r}: {error}") from error


def main() -> None:
    """Run the jobs of the command line until the parent ends."""
    parser = argparse.ArgumentParser(prog="emulator.scheduler", description=__doc__)
    parser.add_argument("--job", action="append", required=True, type=_job, metavar="'NAME|CRON [ZONE]|URL'")
    jobs: list[Job] = parser.parse_args().job
    logging.basicConfig(format="%(message)s")
    _log.setLevel(logging.INFO)
    scheduler = Scheduler(jobs)
    scheduler.start()
    announce(jobs=", ".join(job.name for job in jobs))
    with contextlib.suppress(KeyboardInterrupt):
        until_parent_ends()
    scheduler.stop()


if __name__ == "__main__":
    main()
