"""What the demo came to: one table a mailing, and whether the promise was kept."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from google.cloud import firestore
from rich.console import Console
from rich.table import Table

from emulator.cloud import PROJECT, Cloud
from emulator.demo.scene import Scene
from emulator.firestore.meter import Count, Usage
from ledgermail.delivery import TERMINAL, UNFINISHED, Status
from ledgermail.ledger import DELIVERIES
from ledgermail.runs import RunCounts, Runs


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The numbers, from three sides that know nothing of each other: the scene, the ledger, the provider."""

    runs: list[RunCounts]
    lost: int  # owed by the scene and not in the ledger, or never finished
    mails: int  # accepted by the provider
    duplicates: int  # of them, beyond the first of a delivery
    strangers: int  # in the ledger, and not owed
    usage: Usage | None  # billable operations, where they were metered
    faults: Mapping[str, int]

    @property
    def holds(self) -> bool:
        """Whether the identity holds in every run."""
        return bool(self.runs) and all(run.holds for run in self.runs)

    @property
    def kept(self) -> bool:
        """Whether the promise was kept."""
        return self.holds and self.lost == self.duplicates == self.strangers == 0


def look(cloud: Cloud, db: firestore.Client, scene: Scene) -> Outcome:
    """Count what came of it."""
    usage = cloud.firestore.usage(PROJECT) if cloud.firestore.controlled else None
    runs = Runs(db).since(datetime.now(UTC) - timedelta(days=2), limit=8)
    found = {reference.id for reference in db.collection(DELIVERIES).select([]).stream()}
    stats = cloud.inbox.stats()
    unfinished = sum(run.statuses[status] for run in runs for status in UNFINISHED)
    return Outcome(
        runs=runs,
        lost=len(scene.owed - found) + unfinished,
        mails=stats["accepted"],
        duplicates=stats["duplicates"],
        strangers=len(found - scene.owed),
        usage=usage,
        faults=stats["by_fault"],
    )


def show(outcome: Outcome, console: Console) -> None:
    """Print the table of each mailing, the cost, and the verdict in its last lines."""
    for mailing in sorted({run.mailing for run in outcome.runs}):
        console.print(_table(mailing, [run for run in outcome.runs if run.mailing == mailing], outcome))
    faults = ", ".join(f"{name} {count}" for name, count in sorted(outcome.faults.items()) if count)
    console.print(f"What the provider did to us: {faults or 'nothing'}.")
    if outcome.usage is not None:
        console.print(_cost(outcome.usage, sum(run.intended for run in outcome.runs)))
    console.print(f"duplicates: {outcome.duplicates}")
    console.print(f"lost: {outcome.lost}")
    console.print(f"identity: {'holds' if outcome.holds else 'BROKEN'}")


def _table(mailing: str, runs: list[RunCounts], outcome: Outcome) -> Table:
    table = Table(title=f"{mailing}", title_justify="left")
    table.add_column("obligations")
    table.add_column("count", justify="right")
    table.add_row("intended", str(sum(run.intended for run in runs)))
    for status in [Status.PENDING, Status.IN_FLIGHT, Status.ACCEPTED, *sorted(TERMINAL - {Status.ACCEPTED})]:
        table.add_row(f"  {status}", str(sum(run.statuses[status] for run in runs)))
    table.add_row("  pruned", str(sum(run.pruned for run in runs)), end_section=True)
    table.add_row("matches of what existed", str(sum(run.duplicates for run in runs)))
    table.add_row("mails at the provider", str(outcome.mails))
    table.add_row("duplicates seen by the provider", str(outcome.duplicates))
    return table


def _cost(usage: Usage, intended: int) -> str:
    """What Google would bill for planning, delivering and upkeep, without what the demo itself looked at."""
    ours = [count for count in usage.counts if not _is_watching(count)]
    reads, writes = sum(count.reads for count in ours), sum(count.writes for count in ours)
    share = f"{reads / intended:.2f} reads and {writes / intended:.2f} writes a delivery" if intended else "no delivery"
    return f"Billable Firestore operations: {reads} reads, {writes} writes: {share}."


def _is_watching(count: Count) -> bool:
    return count.rpc == "RunAggregationQuery" or (count.collection == "runs" and not count.writes)
