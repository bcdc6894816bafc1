"""The console, called as a browser calls it, on a ledger of this test's own."""

import pytest
from google.cloud import firestore

from ledgermail.app import App
from tests.integration.conftest import Ground
from tests.integration.web.conftest import Call
from tests.integration.web.console.operators import Operator


@pytest.fixture(autouse=True)
def local(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever calls is the operator of the local cloud, unless a test says otherwise."""
    monkeypatch.setenv("LEDGERMAIL_CONSOLE_AUTH", "local")


@pytest.fixture
def operator(app: App, db: firestore.Client, ground: Ground, call: Call) -> Operator:
    """Somebody at the console."""
    return Operator(app, db, ground, call)
