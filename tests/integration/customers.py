"""A customer with a webhook, and a report to them that is due: what two tests of its stages have in common."""

import base64
import json
from threading import Event
from typing import Any

from standardwebhooks import Webhook

from emulator.inbox import Inbox
from emulator.tasks import CloudTasks
from ledgermail.app import App
from ledgermail.mailing import Mailing
from tests.integration.conftest import Ground
from tests.integration.digesting import Desk, at_most_once, desk
from tests.integration.planning import SHIPMENTS
from tests.stack.receivers import Answer as Say
from tests.stack.receivers import Receiver, Write, says

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
MAILINGS: list[Mailing] = [SHIPMENTS, at_most_once(SHIPMENTS)]
OK = says("204 No Content")
ROW = {"shipment": "SH-1", "status": "x", "destination": "y", "carrier": "z", "expected_on": "never"}


class Customer:
    """A customer's server, which answers as it is told to: the last answer stays."""

    def __init__(self) -> None:
        self.answers: list[Say] = [OK]
        self.receiver = Receiver(self._say)

    def _say(self, write: Write, over: Event) -> object:
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return answer(write, over)

    def heard(self) -> list[tuple[str, dict[str, Any]]]:
        """The id and the content of every call, whose signatures are checked."""
        calls = self.receiver.heard
        for call in calls:
            Webhook(SECRET).verify(call.body, {name.lower(): value for name, value in call.headers.items()})
        return [(call.headers["webhook-id"], json.loads(call.body)) for call in calls]

    def webhook(self) -> dict[str, str]:
        """The fields of a user who is told here."""
        return {"webhook_url": f"http://127.0.0.1:{self.receiver.port}/hook", "webhook_secret": SECRET}


def a_report(app: App, ground: Ground, inbox: Inbox, queues: CloudTasks, mailing: Mailing, customer: Customer) -> Desk:
    """A report that is due now, to a user with this webhook."""
    made = desk(app, ground, inbox, queues, mailing)
    made.user(**customer.webhook())
    versions = ground.db.collection("reports").document("school").collection("versions")
    versions.document("v1").set({"published_at": made.start, "rows": [ROW]})
    return made


def stages(report: Desk) -> list[str]:
    """The stages on record, in the order of their times."""
    found = report.document()["stages"]
    return sorted(found, key=lambda name: found[name]["at"])


def assert_told_and_mailed_once(report: Desk, customer: Customer, calls: int = 1) -> None:
    assert report.status() == "accepted"
    assert stages(report) == ["render", "email", "webhook"]
    assert len(report.mails()) == 1
    assert len(customer.heard()) == calls
    assert len({json.dumps(call, sort_keys=True) for call in customer.heard()}) == 1
    report.post.ground.assert_identity()
