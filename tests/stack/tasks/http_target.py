"""A tiny HTTP target for tasks, in a thread, that answers as it is told; and waiting for what a server does."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from google.cloud import tasks_v2
from typing_extensions import override

from emulator.tasks import CloudTasks

PARENT = "projects/demo/locations/us-central1"
PATIENCE = 60  # seconds that anything may take before a test gives up
Answer = tuple[int, Mapping[str, str]]
MakeQueue = Callable[..., str]  # of rate_limits and retry_config fields


@dataclass(frozen=True)
class Received:
    """One request as the target saw it."""

    method: str
    path: str
    headers: Mapping[str, str]  # names in lower case
    body: bytes


@dataclass
class Target:
    """What the target got, and what it will answer: the answers in order, then 200."""

    url: str = ""
    received: list[Received] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    most_at_once: int = 0
    open: threading.Event = field(default_factory=threading.Event)  # cleared: it answers nobody
    changed: threading.Condition = field(default_factory=threading.Condition)
    _now: int = 0

    def answer_with(self, *answers: int | Answer) -> None:
        self.answers = [(answer, {}) if isinstance(answer, int) else answer for answer in answers]

    def wait_for(self, number: int) -> list[Received]:
        """The requests, once there are so many. Fails when they do not come."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.received) >= number, PATIENCE), self.received
            return list(self.received)

    def take(self, request: Received) -> Answer:
        with self.changed:
            self.received.append(request)
            self._now += 1
            self.most_at_once = max(self.most_at_once, self._now)
            answer = self.answers.pop(0) if self.answers else (200, {})
            self.changed.notify_all()
        self.open.wait(PATIENCE)
        with self.changed:
            self._now -= 1
        return answer


class _Server(ThreadingHTTPServer):
    @override
    def handle_error(self, request: object, client_address: object) -> None:
        """A caller that hangs up is part of the tests."""


@contextmanager
def http_target() -> Iterator[Target]:
    """Serve a new target."""
    target = Target()
    target.open.set()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # head and body are two writes; the second would wait 40 ms for an ACK

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, fields = target.take(Received(self.command, self.path, headers, body))
            self.send_response(status)
            for name, value in {"Content-Length": "0", **fields}.items():
                self.send_header(name, value)
            self.end_headers()

        do_GET = do_POST = do_PUT = _serve  # noqa: N815

        @override
        def log_message(self, format: str, *args: object) -> None:
            """Silent."""

    server = _Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    target.url = f"http://127.0.0.1:{server.server_port}/work"
    yield target
    target.open.set()
    server.shutdown()
    thread.join()
    server.server_close()


def until(condition: Callable[[], object]) -> None:
    """Wait until a condition of a running server holds. Fails when it does not within the patience."""
    pause = threading.Event()
    for _ in range(PATIENCE * 100):
        if condition():
            return
        pause.wait(0.01)
    raise AssertionError("the condition never held")


def wait_for_failures(cloud: CloudTasks, number: int) -> None:
    """Wait until so many attempts have failed since the reset."""
    until(lambda: cloud.stats()["failed"] == number)


def add_task(
    client: tasks_v2.CloudTasksClient,
    queue: str,
    url: str,
    task_id: str = "",
    *,
    request: Mapping[str, Any] | None = None,
    **fields: Any,
) -> tasks_v2.Task:
    """Create a task for that URL; ``request`` are more HttpRequest fields, the rest Task fields."""
    http_request = {"url": url, **(request or {})}
    name = f"{queue}/tasks/{task_id}" if task_id else ""
    return client.create_task(request={"parent": queue, "task": {"name": name, "http_request": http_request, **fields}})
