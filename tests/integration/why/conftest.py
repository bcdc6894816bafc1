"""Questions about users, asked at a time of the test's choosing."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import pytest

from emulator.inbox import Inbox
from emulator.tasks import CloudTasks
from ledgermail.app import App
from ledgermail.clock import Clock
from ledgermail.support.question import Answer
from tests.integration.conftest import AppMaker, Ground
from tests.integration.planning import SHIPPED, Planning

Ask = Callable[..., Answer]


@pytest.fixture
def app(make_app: AppMaker, inbox: Inbox) -> App:
    """A deployment of every shipped mailing, with a provider of its own."""
    return App(make_app(sendgrid_url=inbox.url).settings, SHIPPED)


@pytest.fixture
def ask(app: App) -> Ask:
    """Ask of a user and a subject; now, or at another time."""

    def ask(who: str, subject: str, now: datetime | None = None) -> Answer:
        clock = Clock() if now is None else Clock(now=lambda: now)
        return replace(app.enquiries, clock=clock).ask(who, subject)

    return ask


@pytest.fixture
def planning(app: App, ground: Ground, tasks_server: CloudTasks) -> Planning:
    """Ticks of the coordinator."""
    return Planning(app, ground, tasks_server, app.mailings)
