"""Scans at a time of the test's choosing, and matches for them to find."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from ledgermail.app import App
from ledgermail.clock import Clock
from ledgermail.ledger import ids
from ledgermail.ledger.policy import Policy
from ledgermail.planning.matches import PAGE
from ledgermail.planning.scan import Scanner
from tests.samples import NOW, a_mailing, a_match, a_user

if TYPE_CHECKING:
    from tests.integration.conftest import Ground

MAILING = a_mailing()
RUN = "job-alert:2026-08-16"
OVERDUE = Policy().slack + timedelta(seconds=1)


def at(later: timedelta = timedelta(), boxes: int = 10**6) -> Clock:
    """A clock that stands so much after NOW, by which a time box is over at this reading of it."""
    readings = iter(range(10**6))
    return Clock(now=lambda: NOW + later, monotonic=lambda: 0.0 if next(readings) < boxes else 1e9)


def scanner_of(app: App, later: timedelta = timedelta(), boxes: int = 10**6) -> Scanner:
    return replace(app.scanner, clock=at(later, boxes))


def seed(ground: "Ground", count: int, first: int = 0) -> None:
    """So many matches of one user, a second apart, the last one a minute before NOW."""
    ground.user("u1", a_user())
    for start in range(first, first + count, PAGE):
        numbers = range(start, min(start + PAGE, first + count))
        ground.matches({f"m{n}": a_match(job_id=f"j{n}", matched_at=matched_at(n)) for n in numbers})


def matched_at(number: int) -> datetime:
    return NOW - timedelta(minutes=20) + timedelta(seconds=number)


def jobs(*numbers: int) -> set[str]:
    return {ids.delivery_id("u1", f"j{n}") for n in numbers}


def sweep(app: App, later: timedelta = OVERDUE) -> None:
    replace(app.sweeper, clock=at(later)).sweep()
