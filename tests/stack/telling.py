"""One attempt to tell a receiver of a delivery whose mail was accepted."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from ledgermail.delivering.outcomes import Accepted, Outcome
from ledgermail.ledger.delivery import Stage, Status
from ledgermail.ledger.transitions import EMAIL
from ledgermail.webhooks.egress import LOOPBACK, Allowed
from tests.samples import NOW, a_delivery, telling
from tests.stack.receivers import Receiver

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
TOLD = a_delivery(Status.IN_FLIGHT, stages={EMAIL: Stage(at=NOW, reference="m1")})
ACCEPTED = Accepted("u1_j1:accepted")
WELL = timedelta(seconds=30)  # a time limit that is not what a test is about


@dataclass
class Names:
    """A resolver with these answers, one after the other; the last one stays."""

    answers: list[Sequence[str]] = field(default_factory=lambda: [["127.0.0.1"]])
    asked: int = 0

    def __call__(self, *_: object) -> Sequence[str]:
        self.asked += 1
        return self.answers[min(self.asked, len(self.answers)) - 1]


def tell(receiver: Receiver, timeout: timedelta = WELL, allowed: Allowed = LOOPBACK, path: str = "/hook") -> Outcome:
    """One attempt in plain HTTP."""
    webhooks = telling(timeout, resolve=Names(), allowed=allowed)
    return webhooks.send(f"http://shop.example:{receiver.port}{path}", SECRET, TOLD)
