"""Sweep: recover what got stuck. A task that was lost is made anew, a dead worker's lease ends as the guarantee says.

Only deliveries whose wake_at has come are read, shard by shard in that order. Each change moves wake_at on or ends the
delivery, so the same sweep twice, or two at once, is harmless, and one that died leaves nothing in the way of the next. What
a sweep may not touch it passes over, and goes on behind it.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any

from ledgermail.clock import Clock
from ledgermail.delivering.gate import Gates
from ledgermail.delivering.tasks import Tasks, wake_of
from ledgermail.errors import ClaimLost, InvalidDocument, LedgerUnavailable, NewerSchema
from ledgermail.ledger import transitions
from ledgermail.ledger.delivery import Delivery, Status
from ledgermail.ledger.ledger import Ledger, Stored, stored
from ledgermail.ledger.policy import Policy
from ledgermail.log import log
from ledgermail.mailing import Mailing
from ledgermail.store import Snapshot
from ledgermail.upkeep.upkeep import PAGE, Position, Upkeep


@dataclass
class Report:
    """What one sweep did: deliveries by what became of them, tasks made, and where to go on if time ran out."""

    counts: Counter[str] = field(default_factory=Counter)
    go_on_at: int | None = None  # the shard that was not finished
    after: Position | None = None  # how far it was looked at


@dataclass(frozen=True, kw_only=True)
class Sweeper:
    """What a sweep works with."""

    upkeep: Upkeep
    ledger: Ledger
    gates: Gates
    tasks: Tasks
    mailings: Mapping[str, Mailing]
    clock: Clock
    shards: int
    time_box: timedelta

    def sweep(self, first_shard: int = 0, after: Position | None = None) -> Report:
        """Sweep the shards from this one on, behind that position in it, until the end or the end of the time box.

        Raises LedgerUnavailable.

        While mail is held back only leases are ended: a new task for what must wait would be a write for nothing.
        """
        until = self.clock.monotonic() + self.time_box.total_seconds()
        held_back = self.gates.read().wait(self.clock.now()) is not None
        report = Report(after=after)
        for shard in range(first_shard, self.shards):
            if not self._sweep_shard(shard, Status.IN_FLIGHT if held_back else None, until, report):
                report.go_on_at = shard
                break
        return report

    def _sweep_shard(self, shard: int, only: Status | None, until: float, report: Report) -> bool:
        """Page by page; whether the end was reached."""
        now, page = self.clock.now(), None
        while page is None or len(page) == PAGE:
            if self.clock.monotonic() >= until:
                return False
            page = self.upkeep.overdue(shard, now, report.after, only=only)
            if not self._sweep_page(page, now, until, report):
                return False
        report.after = None
        return True

    def _sweep_page(self, page: list[Snapshot], now: datetime, until: float, report: Report) -> bool:
        """Delivery by delivery, then their tasks; whether the page's end was reached."""
        in_time = takewhile(lambda _: self.clock.monotonic() < until, page)
        looked_at = [self._sweep_one(snapshot, now, report) for snapshot in in_time]
        swept = [delivery for delivery in looked_at if delivery is not None]
        report.counts.update(delivery.status for delivery in swept)
        report.counts["woken"] += self.tasks.wake([wake_of(d) for d in swept if d.status is Status.PENDING])
        report.after = Position.of(page[: len(looked_at)], "wake_at") or report.after
        return len(looked_at) == len(page)

    def _sweep_one(self, snapshot: Snapshot, now: datetime, report: Report) -> Delivery | None:
        """Change one delivery; None for what is not ours to touch, or cannot be written: nobody else shall wait for it."""
        try:
            current = stored(snapshot)
        except NewerSchema:
            report.counts["passed_over"] += 1
            return None
        except InvalidDocument as problem:
            is_aside = self.ledger.set_aside(snapshot, problem, Policy())
            log("delivery.invalid", severity="ERROR", delivery_id=snapshot.id, problem=str(problem))
            report.counts["invalid" if is_aside else "not_swept"] += 1
            return None
        try:
            return self._change(current, now)
        except LedgerUnavailable as error:
            log("delivery.not_swept", severity="WARNING", delivery_id=snapshot.id, error=str(error))
            report.counts["not_swept"] += 1
            return None

    def _change(self, current: Stored, now: datetime) -> Delivery | None:
        mailing = self.mailings.get(current.delivery.mailing)
        policy = mailing.policy if mailing else Policy()
        verb: dict[str, Any] = {"now": now, "policy": policy}
        try:
            swept = self.ledger.change(
                current.delivery.id, lambda d: transitions.sweep(d, **verb), known=current
            ).delivery
        except (ClaimLost, InvalidDocument, NewerSchema):
            return None  # somebody was faster, and it has moved on
        log("delivery.swept", before=current.delivery.status, **swept.log_fields())
        return swept
