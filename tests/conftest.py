"""What tests run on: one Firestore and one Cloud Tasks for the session, a project of its own for each test.

The Firestore is the embedded one unless ``--firestore`` says otherwise.
"""

import itertools
import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from emulator import firestore as local_firestore
from emulator import tasks as local_tasks

_numbers = itertools.count(1)
settings.register_profile("ledgermail", deadline=None)  # no test asserts how long something takes
settings.load_profile("ledgermail")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the choice of Firestore."""
    parser.addoption("--firestore", default="embedded", choices=["auto", "official", "embedded"])


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slow ones first: where several processes share the files, none is then left alone with a demo at the end."""
    items.sort(key=lambda item: "stack" not in item.path.parts)


@pytest.fixture(scope="session")
def firestore_server(request: pytest.FixtureRequest) -> Iterator[local_firestore.Firestore]:
    """The Firestore of this session."""
    with local_firestore.start(request.config.getoption("--firestore")) as server:
        yield server


@pytest.fixture(scope="session")
def tasks_server() -> Iterator[local_tasks.CloudTasks]:
    """The Cloud Tasks of this session."""
    server = local_tasks.start()
    yield server
    server.stop()


@pytest.fixture
def project(firestore_server: local_firestore.Firestore, monkeypatch: pytest.MonkeyPatch) -> str:
    """A project that nothing is in, on the session's Firestore."""
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", firestore_server.host)
    return f"test-{os.getpid()}-{next(_numbers)}"
