"""A customer with a webhook, and a report to them that is due now."""

from collections.abc import Iterator

import pytest

from emulator.inbox import Inbox
from emulator.tasks import CloudTasks
from ledgermail.app import App
from tests.integration.conftest import AppMaker, Ground
from tests.integration.customers import MAILINGS, Customer, a_report
from tests.integration.delivering import patience
from tests.integration.digesting import Desk


@pytest.fixture
def customer() -> Iterator[Customer]:
    """The customer's server of this test."""
    made = Customer()
    with made.receiver:
        yield made


@pytest.fixture
def app(request: pytest.FixtureRequest, make_app: AppMaker, inbox: Inbox) -> App:
    """The App of this test's project, which may call customers on this machine."""
    return make_app(sendgrid_url=inbox.url, webhooks="loopback", provider_timeout=patience(request))


@pytest.fixture(params=MAILINGS, ids=lambda mailing: mailing.guarantee)
def report(
    request: pytest.FixtureRequest, app: App, ground: Ground, inbox: Inbox, tasks_server: CloudTasks, customer: Customer
) -> Desk:
    """A report that is due now, of a customer with a webhook, under each guarantee."""
    return a_report(app, ground, inbox, tasks_server, request.param, customer)
