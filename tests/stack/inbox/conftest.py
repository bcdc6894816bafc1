"""A running local SendGrid, empty and without faults for each test."""

from collections.abc import Iterator

import httpx
import pytest

from emulator import inbox
from emulator.inbox import Inbox


@pytest.fixture(scope="module")
def running() -> Iterator[Inbox]:
    server = inbox.start()
    yield server
    server.stop()


@pytest.fixture
def box(running: Inbox) -> Inbox:
    running.faults()
    running.clear()
    return running


@pytest.fixture
def http(box: Inbox) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {inbox.DEFAULT_KEY}"}
    with httpx.Client(base_url=box.url, headers=headers, timeout=20, trust_env=False) as client:
        yield client
