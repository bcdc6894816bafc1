"""A deployment that is sent events, and the provider that signs them."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from werkzeug.test import TestResponse

from ledgermail.app import App
from ledgermail.app import app as app_of_process
from tests.integration.web.conftest import Call
from tests.integration.web.events.signing import Signer

Post = Callable[[Sequence[Any]], TestResponse]


@pytest.fixture
def signer() -> Signer:
    """The provider's key."""
    return Signer()


@pytest.fixture
def app(app: App, signer: Signer, monkeypatch: pytest.MonkeyPatch) -> App:
    """The App of a deployment that is sent events."""
    monkeypatch.setenv("LEDGERMAIL_EVENTS_KEY", signer.public)
    app_of_process.cache_clear()
    return app_of_process()


@pytest.fixture
def post(call: Call, signer: Signer) -> Post:
    """Post a batch of events, signed."""

    def post(events: Sequence[Any]) -> TestResponse:
        raw = json.dumps(events).encode()
        return call("events", data=raw, headers=signer.headers(raw))

    return post
