"""A local Cloud Tasks, its real client, new queues, and a target."""

import itertools
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

import pytest
from google.cloud import tasks_v2

from emulator.tasks import CloudTasks, start
from tests.stack.tasks.http_target import PARENT, MakeQueue, Target, http_target

_numbers = itertools.count(1)


@pytest.fixture
def target() -> Iterator[Target]:
    with http_target() as target:
        yield target


@pytest.fixture(scope="session")
def server() -> Iterator[CloudTasks]:
    server = start()
    yield server
    server.stop()


@pytest.fixture
def cloud(server: CloudTasks, target: Target) -> Iterator[CloudTasks]:
    """The server with no task, no fault and no count; its time may be ahead. Depends on the target to outlive none."""
    server.reset()
    server.faults()
    yield server
    server.reset()


@pytest.fixture(scope="session")
def session_client(server: CloudTasks) -> Iterator[tasks_v2.CloudTasksClient]:
    with server.client() as client:
        yield client


@pytest.fixture
def client(session_client: tasks_v2.CloudTasksClient, cloud: CloudTasks) -> tasks_v2.CloudTasksClient:
    """The real client of the fresh server."""
    return session_client


@pytest.fixture
def make_queue(client: tasks_v2.CloudTasksClient) -> Iterator[MakeQueue]:
    """Create a queue of a new name with these rate_limits and retry_config fields; 10 s to 5 min backoff if not."""
    names = []

    def make(rate_limits: Mapping[str, Any] | None = None, **retry_config: Any) -> str:
        name = f"{PARENT}/queues/q{next(_numbers)}"
        backoff = {"min_backoff": timedelta(seconds=10), "max_backoff": timedelta(minutes=5), "max_doublings": 3}
        settings = {"name": name, "rate_limits": rate_limits or {}, "retry_config": backoff | retry_config}
        names.append(client.create_queue(request={"parent": PARENT, "queue": settings}).name)
        return name

    yield make
    for name in names:
        client.delete_queue(name=name)
