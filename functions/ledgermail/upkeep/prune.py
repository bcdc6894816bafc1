"""Prune: delete what is finished and past its retention, and keep account of it.

Only finished deliveries have a prune_at, so what is unfinished cannot be seen from here. A page is one atomic commit: its
deletes, the audit, and the runs' `pruned` counts; so the identity holds before and after. A run goes when all of its
deliveries are gone.
"""

from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from ledgermail.clock import Clock
from ledgermail.log import log
from ledgermail.planning.runs import Runs
from ledgermail.upkeep.upkeep import PAGE, Position, Upkeep, count_by


@dataclass(frozen=True, kw_only=True)
class Pass:
    """One pruning from end to end, however many calls it takes: its audit document, and where it stands."""

    prune_id: str
    shard: int = 0
    after: Position | None = None
    dry_run: bool = False


@dataclass
class Report:
    """What one call did: deliveries deleted (or, on a dry run, due to be) by mailing and status; where to go on."""

    prune_id: str
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    deleted: int = 0
    runs_deleted: int = 0
    go_on: Pass | None = None


@dataclass(frozen=True, kw_only=True)
class Pruner:
    """What a pruning works with."""

    upkeep: Upkeep
    runs: Runs
    clock: Clock
    shards: int
    time_box: timedelta

    def prune(self, current: Pass) -> Report:
        """Prune from where the pass stands until its end or the end of the time box. Raises LedgerUnavailable."""
        now, until = self.clock.now(), self.clock.monotonic() + self.time_box.total_seconds()
        report = Report(current.prune_id)
        while current.shard < self.shards:
            if self.clock.monotonic() >= until:
                report.go_on = current
                break
            current = self._prune_page(current, now, report)
        else:
            if not current.dry_run:
                report.runs_deleted = self.runs.delete_emptied(now, lambda: self.clock.monotonic() >= until)
        log("prune.done" if report.go_on is None else "prune.goes_on", prune_id=report.prune_id, deleted=report.deleted)
        return report

    def _prune_page(self, current: Pass, now: datetime, report: Report) -> Pass:
        """Delete one page, or only count it, and return where the pass then stands."""
        page = self.upkeep.prunable(current.shard, now, current.after)
        report.counts.update(count_by(page))
        if not current.dry_run:
            report.deleted += self.upkeep.delete(current.prune_id, page)
        if len(page) < PAGE:
            return replace(current, shard=current.shard + 1, after=None)
        return replace(current, after=Position.of(page, "prune_at"))
