"""Call the functions as functions-framework serves them, in the environment of one test."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import functions_framework
import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from emulator.functions import MAIN, names
from emulator.inbox import Inbox
from emulator.tasks import CloudTasks
from ledgermail.app import App
from ledgermail.app import app as app_of_process
from tests.integration.conftest import AppMaker, Ground
from tests.samples import ENVIRONMENT

FUNCTIONS = names()
KEY = ENVIRONMENT["LEDGERMAIL_TRIGGER_KEY"]
Call = Callable[..., TestResponse]
Queued = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def app(make_app: AppMaker, project: str, inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> Iterator[App]:
    """The App that the functions make of this test's environment."""
    make_app()
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("LEDGERMAIL_PROJECT", project)
    monkeypatch.setenv("LEDGERMAIL_SENDGRID_URL", inbox.url)
    app_of_process.cache_clear()
    yield app_of_process()
    app_of_process.cache_clear()


@pytest.fixture(scope="module")
def clients() -> dict[str, FlaskClient]:
    """Every function as functions-framework serves it."""
    create_app: Any = functions_framework.create_app
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("FUNCTION_TARGET", "")  # each create_app sets it, for the whole process
        return {name: create_app(target=name, source=str(MAIN)).test_client() for name in FUNCTIONS}


@pytest.fixture
def call(clients: dict[str, FlaskClient], app: App) -> Call:
    """Call a function: POST unless told otherwise."""

    def call(function: str, method: str = "POST", path: str = "/", **request: Any) -> TestResponse:
        return clients[function].open(path, method=method, **request)

    return call


@pytest.fixture
def queued(app: App, tasks_server: CloudTasks) -> Queued:
    """The upkeep tasks that wait: function and body of each."""
    parent = f"projects/{app.settings.project}/locations/europe-west1/queues/upkeep"

    def read() -> list[dict[str, Any]]:
        with tasks_server.client() as client:
            waiting = list(client.list_tasks(request={"parent": parent, "response_view": "FULL"}))
        return [{"url": t.http_request.url, **json.loads(t.http_request.body)} for t in waiting]

    return read


@pytest.fixture
def planned(ground: Ground) -> None:
    """The coordinator ran a moment ago and dealt with all that was due: a status of an empty ledger is well."""
    until = datetime.now(UTC) - timedelta(milliseconds=1)
    for mailing in ("daily-digest", "weekly-digest"):
        ground.db.document(f"state/plan:{mailing}").set({"planned": {"~default": until}})
