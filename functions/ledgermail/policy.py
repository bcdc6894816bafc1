"""What a mailing asks of its deliveries after they are planned."""

from dataclasses import dataclass, field
from datetime import timedelta

from ledgermail.backoff import Backoff


@dataclass(frozen=True, kw_only=True)
class Policy:
    """The durations a transition needs; the defaults stand in for a mailing whose folder is gone."""

    backoff: Backoff = field(default_factory=Backoff)
    slack: timedelta = timedelta(minutes=5)  # a task this long overdue is taken for lost, and made anew
    retention: timedelta = timedelta(days=30)  # how long the compact facts of a finished delivery are kept
