"""What a mailing asks of its deliveries after they are planned."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from ledgermail.ledger.backoff import Backoff
from ledgermail.ledger.delivery import Status


@dataclass(frozen=True, kw_only=True)
class Policy:
    """The durations a transition needs; the defaults stand in for a mailing whose folder is gone."""

    backoff: Backoff = field(default_factory=Backoff)
    slack: timedelta = timedelta(minutes=5)  # a task this long overdue is taken for lost, and made anew
    retention: timedelta = timedelta(days=30)  # how long the compact facts of a finished delivery are kept
    retentions: Mapping[Status, timedelta] = field(default_factory=dict)  # where a status has one of its own
    evidence_grace: timedelta = timedelta()  # a lost answer is not tried again before this: proof may still come
    repeatable: timedelta = timedelta()  # so long after the first attempt the provider knows a repeated request for one

    def kept(self, status: Status) -> timedelta:
        """How long a delivery that ended so is kept."""
        return self.retentions.get(status, self.retention)

    @property
    def least_kept(self) -> timedelta:
        """How long the facts are kept whatever became of the delivery."""
        return min([self.retention, *self.retentions.values()])
