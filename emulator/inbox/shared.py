"""What the servers of one process share: one mailbox, one plan of faults, one clock, and the events of SendGrid's mails."""

from dataclasses import dataclass, field

from emulator.clock import Clock
from emulator.inbox.account import Account
from emulator.inbox.events.outbox import Outbox
from emulator.inbox.faults import Faults
from emulator.inbox.mails import Mailbox
from emulator.inbox.resend.keys import Keys


@dataclass(frozen=True)
class Shared:
    """The state of a running process; every part is safe to use from many threads."""

    account: Account
    clock: Clock
    outbox: Outbox
    mailbox: Mailbox = field(default_factory=Mailbox)
    faults: Faults = field(default_factory=Faults)
    keys: Keys = field(default_factory=Keys)

    def clear(self) -> None:
        """Forget every mail, every event, every count and every idempotency key; the plans stay."""
        self.mailbox.clear()
        self.outbox.clear()
        self.keys.clear()
