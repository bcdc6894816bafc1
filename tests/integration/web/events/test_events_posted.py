"""What the local SendGrid posts is what the function takes: from a send whose answer was lost to what the ledger says."""

from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.serving import make_server

from emulator.inbox import Inbox
from emulator.tasks import CloudTasks
from ledgermail.app import App
from ledgermail.app import app as app_of_process
from ledgermail.ledger.delivery import Guarantee
from tests.integration.conftest import Ground
from tests.integration.delivering import Post
from tests.samples import a_user


@pytest.fixture
def app(app: App, inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> App:
    """The App of a deployment that trusts the local SendGrid's key."""
    monkeypatch.setenv("LEDGERMAIL_EVENTS_KEY", inbox.events_key)
    app_of_process.cache_clear()
    return app_of_process()


@pytest.fixture
def url(app: App, inbox: Inbox, clients: dict[str, FlaskClient]) -> Iterator[str]:
    """The function on an address; nothing is posted there yet."""
    server = make_server("127.0.0.1", 0, clients["events"].application, threaded=True)
    serving = Thread(target=server.serve_forever)
    serving.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    inbox.events()
    server.shutdown()
    serving.join()
    server.server_close()


@pytest.fixture
def alerts(app: App, ground: Ground, inbox: Inbox, tasks_server: CloudTasks) -> Post:
    """The worker of the alerts."""
    return Post(app, ground, inbox, tasks_server, Guarantee.AT_MOST_ONCE)


def user(ground: Ground) -> dict[str, Any]:
    return ground.db.collection("users").document("u1").get().to_dict() or {}


@pytest.mark.parametrize("fault", ["cut", "error_after"])
def test_an_alert_in_doubt_is_accepted_when_the_provider_tells_of_it(
    alerts: Post, inbox: Inbox, url: str, fault: str
) -> None:
    inbox.events(url, delay_seconds=3600)
    inbox.fail_next(fault)
    alerts.owe()
    alerts.deliver()
    assert alerts.status() == "unknown"
    inbox.flush()
    assert inbox.stats()["events"]["last_failure"] == ""
    assert alerts.status() == "accepted"
    assert set(alerts.document()["events"]) == {"processed", "delivered"}
    assert alerts.mails() == 1


def test_copies_in_any_order_under_new_ids_come_to_the_same(alerts: Post, inbox: Inbox, url: str) -> None:
    inbox.events(url, delay_seconds=3600, copies=5, shuffle=True, new_ids=True, at_once=4, batch=3)
    alerts.owe()
    alerts.deliver()
    inbox.emit("open", inbox.mails()[0]["id"])
    inbox.flush()
    assert inbox.stats()["events"]["posted"] == 15
    assert set(alerts.document()["events"]) == {"processed", "delivered", "open"}
    assert alerts.status() == "accepted"


@pytest.mark.parametrize(("name", "reason"), [("bounce", "bounce"), ("spamreport", "spam_report")])
def test_an_address_that_does_not_want_or_take_mail_is_suppressed(
    alerts: Post, ground: Ground, inbox: Inbox, url: str, name: str, reason: str
) -> None:
    inbox.events(url)
    alerts.owe()
    ground.user("u1", a_user(email=f"{name}@example.com"))
    alerts.deliver()
    inbox.settled()
    assert user(ground)["suppressed"]["reason"] == reason
