"""The console, called as a browser calls it, on a ledger of this test's own."""

from typing import Any

import pytest
from flask.testing import FlaskClient
from google.cloud import firestore
from werkzeug.test import TestResponse

from ledgermail.app import App
from tests.integration.conftest import Ground
from tests.integration.web.console.operators import Operator


@pytest.fixture(autouse=True)
def local(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever calls is the operator of the local cloud, unless a test says otherwise."""
    monkeypatch.setenv("LEDGERMAIL_CONSOLE_AUTH", "local")


@pytest.fixture
def operator(app: App, db: firestore.Client, ground: Ground, clients: dict[str, FlaskClient]) -> Operator:
    """Somebody at the console, who brings the cookies that a test names and no others."""
    browsers = {name: client.application.test_client(use_cookies=False) for name, client in clients.items()}

    def call(function: str, method: str = "POST", path: str = "/", **request: Any) -> TestResponse:
        return browsers[function].open(path, method=method, **request)

    return Operator(app, db, ground, call)
