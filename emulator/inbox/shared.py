"""What the servers of one process share: one mailbox, one plan of faults, one clock."""

from dataclasses import dataclass, field

from emulator.clock import Clock
from emulator.inbox.account import Account
from emulator.inbox.faults import Faults
from emulator.inbox.mails import Mailbox
from emulator.inbox.resend.keys import Keys


@dataclass(frozen=True)
class Shared:
    """The state of a running process; every part is safe to use from many threads."""

    account: Account
    mailbox: Mailbox = field(default_factory=Mailbox)
    faults: Faults = field(default_factory=Faults)
    clock: Clock = field(default_factory=Clock)
    keys: Keys = field(default_factory=Keys)

    def clear(self) -> None:
        """Forget every mail, every count and every idempotency key; the faults stay."""
        self.mailbox.clear()
        self.keys.clear()
