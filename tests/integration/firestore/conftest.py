"""One embedded Firestore without an index check, which has a test of its own; a project for each test."""

from collections.abc import Iterator
from uuid import uuid4

import pytest
from google.cloud.firestore import Client

from emulator.firestore import Firestore, start


@pytest.fixture(scope="package")
def server() -> Iterator[Firestore]:
    """The embedded Firestore."""
    with start("embedded", indexes=None) as firestore:
        yield firestore


@pytest.fixture
def client(server: Firestore) -> Client:
    """A client of a project that nothing is in."""
    return server.client(f"p-{uuid4().hex}")
