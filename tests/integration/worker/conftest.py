"""The worker with a SendGrid of its own that may fail, hang and forget."""

import pytest

from emulator.inbox import Inbox
from emulator.tasks import CloudTasks
from ledgermail.app import App
from ledgermail.ledger.delivery import Guarantee
from tests.integration.conftest import AppMaker, Ground
from tests.integration.delivering import Post, patience, with_guarantee


@pytest.fixture
def app(request: pytest.FixtureRequest, make_app: AppMaker, inbox: Inbox) -> App:
    """The App of this test's project, which sends to a SendGrid of its own."""
    inbox.faults(hang_seconds=30)
    return make_app(sendgrid_url=inbox.url, provider_timeout=patience(request))


@pytest.fixture
def post(request: pytest.FixtureRequest, app: App, ground: Ground, inbox: Inbox, tasks_server: CloudTasks) -> Post:
    """The worker; at most once, where a test does not ask for `both`."""
    guarantee = getattr(request, "param", Guarantee.AT_MOST_ONCE)
    return Post(with_guarantee(app, guarantee), ground, inbox, tasks_server, guarantee)
