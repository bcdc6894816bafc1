"""The local Cloud Scheduler calling a real server."""

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, SimpleQueue

import pytest
from typing_extensions import override

from emulator.process import spawn
from emulator.scheduler import Job, Scheduler, run

AT = datetime(2026, 8, 16, 8, 0, tzinfo=UTC)
SOON = 60  # seconds a call may take to arrive before a test fails
Call = tuple[str, str, dict[str, str], bytes]


class Target(ThreadingHTTPServer):
    """A callee that records its calls and answers what ``statuses`` holds, then 200; ``held`` calls wait."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), TargetHandler)
        self.calls: SimpleQueue[Call] = SimpleQueue()
        self.statuses: list[int] = []
        self.free = threading.Event()
        self.free.set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/scan"


class TargetHandler(BaseHTTPRequestHandler):
    server: Target

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.calls.put((self.command, self.path, dict(self.headers), body))
        self.server.free.wait()
        try:
            self.send_response(self.server.statuses.pop(0) if self.server.statuses else 200)
            self.end_headers()
        except ConnectionError:
            pass  # the scheduler gave up: its deadline passed

    do_GET = do_POST  # noqa: N815 - http.server's naming

    @override
    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def target() -> Iterator[Target]:
    server = Target()
    serving = threading.Thread(target=server.serve_forever, args=(0.05,))
    serving.start()
    yield server
    server.free.set()
    server.shutdown()
    serving.join()
    server.server_close()


@pytest.fixture
def every_minute(target: Target) -> Job:
    return Job(name="scan", cron="* * * * *", url=target.url)


def test_a_run_calls_with_its_nominal_time(target: Target) -> None:
    result = run(Job(name="scan", cron="* * * * *", url=target.url, method="GET", body=b"{}"), AT)
    method, path, sent, body = target.calls.get(timeout=SOON)
    assert (result.status, result.attempts, result.succeeded) == (200, 1, True)
    assert (method, path, body) == ("GET", "/scan", b"{}")
    assert sent["User-Agent"] == "Google-Cloud-Scheduler"
    assert sent["X-CloudScheduler-ScheduleTime"] == "2026-08-16T08:00:00Z"
    assert sent["Content-Type"] == "application/octet-stream"


def test_a_failed_attempt_is_not_repeated_unless_the_job_says_so(target: Target, every_minute: Job) -> None:
    target.statuses = [503]
    result = run(every_minute, AT)
    assert (result.status, result.attempts, result.succeeded) == (503, 1, False)


def test_retries_keep_the_nominal_time_and_end_with_the_first_success(target: Target) -> None:
    target.statuses = [500, 302, 204]
    job = Job(name="scan", cron="* * * * *", url=target.url, retry_count=5, min_backoff=timedelta(milliseconds=1))
    result = run(job, AT)
    times = {target.calls.get(timeout=SOON)[2]["X-CloudScheduler-ScheduleTime"] for _ in range(result.attempts)}
    assert (result.status, result.attempts) == (204, 3)
    assert times == {"2026-08-16T08:00:00Z"}


def test_a_call_past_its_deadline_counts_as_failed_while_the_callee_goes_on(target: Target) -> None:
    target.free.clear()
    job = Job(name="scan", cron="* * * * *", url=target.url, attempt_deadline=timedelta(seconds=1))
    result = run(job, AT)
    assert target.calls.get(timeout=SOON)
    assert (result.status, result.error) == (None, "deadline exceeded")


def test_a_callee_that_is_not_there_is_a_failed_run_and_no_crash(target: Target) -> None:
    result = run(Job(name="scan", cron="* * * * *", url="http://127.0.0.1:1/"), AT)
    assert result.status is None
    assert "ConnectError" in (result.error or "")


def test_a_job_runs_when_its_time_has_come(target: Target, every_minute: Job) -> None:
    scheduler = Scheduler([every_minute])
    scheduler.start()
    scheduler.advance(60)
    first = target.calls.get(timeout=SOON)[2]["X-CloudScheduler-ScheduleTime"]
    scheduler.advance(60)
    second = target.calls.get(timeout=SOON)[2]["X-CloudScheduler-ScheduleTime"]
    scheduler.stop()
    assert first < second


def test_an_execution_is_not_started_before_the_last_one_ended(target: Target) -> None:
    day = 86400
    target.free.clear()
    scheduler = Scheduler([Job(name="scan", cron="0 0 * * *", url=target.url)])
    scheduler.start()
    scheduler.advance(day)
    target.calls.get(timeout=SOON)
    scheduler.advance(10 * day)
    with pytest.raises(Empty):
        target.calls.get(timeout=0.2)
    target.free.set()
    assert target.calls.get(timeout=SOON)
    scheduler.stop()
    assert target.calls.empty()  # ten missed times were one late call


def test_one_slow_job_does_not_delay_another(target: Target, every_minute: Job) -> None:
    target.free.clear()
    other = Job(name="sweep", cron="* * * * *", url=target.url)
    scheduler = Scheduler([every_minute, other])
    scheduler.start()
    scheduler.advance(60)
    names = {target.calls.get(timeout=SOON)[2]["X-CloudScheduler-JobName"] for _ in range(2)}
    scheduler.stop()
    assert names == {"scan", "sweep"}


def test_stopping_gives_up_a_call_under_way(target: Target, every_minute: Job) -> None:
    target.free.clear()
    scheduler = Scheduler([every_minute])
    scheduler.start()
    scheduler.advance(60)
    target.calls.get(timeout=SOON)
    scheduler.stop()  # would block for the three minutes of the deadline, and time the test out
    assert not any(thread.name == "scheduler" for thread in threading.enumerate())


def test_the_process_names_its_jobs_and_ends_with_its_parent(target: Target) -> None:
    server = spawn("emulator.scheduler", "--job", f"scan|0 8 * * 1 Europe/Berlin|{target.url}")
    server.stop()
    assert server.addresses == {"jobs": "scan"}
    assert server.process.returncode == 0
