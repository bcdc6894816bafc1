"""What the demo came to: one table a mailing, and whether the promise was kept."""

from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from google.cloud import firestore
from rich.console import Console
from rich.table import Table

from emulator.cloud import Cloud
from emulator.demo.receiver import Receiver
from emulator.demo.scene import Scene
from emulator.firestore.meter import Count, Usage
from ledgermail.ledger.delivery import TERMINAL, UNFINISHED, Guarantee, Status
from ledgermail.ledger.ledger import DELIVERIES
from ledgermail.planning.runs import RunCounts, Runs


@dataclass(frozen=True, kw_only=True)
class Kept:
    """One mailing, from three sides that know nothing of each other: the scene, the ledger, the provider."""

    mailing: str
    runs: list[RunCounts]
    lost: int  # owed by the scene and not in the ledger, or never finished
    strangers: int  # in the ledger, and not owed
    mails: int  # accepted by the provider
    copies: int  # of them, beyond the first of a delivery
    doubted: int  # of those, after an answer that was lost and that nothing proved in time: what at_least_once allows
    doubts: int  # deliveries of which it was once not known whether the mail had been taken
    settled: int  # of those, by evidence: the provider told it later

    @property
    def holds(self) -> bool:
        """Whether the identity holds in every run."""
        return bool(self.runs) and all(run.holds for run in self.runs)

    @property
    def duplicates(self) -> int:
        """Copies that the guarantee does not allow."""
        return self.copies - self.doubted

    @property
    def kept(self) -> bool:
        """Whether the promise was kept."""
        return self.holds and self.lost == self.duplicates == self.strangers == 0

    def count(self, *statuses: Status) -> int:
        """How many deliveries are in one of these."""
        return sum(run.statuses[status] for run in self.runs for status in statuses)


def look(cloud: Cloud, db: firestore.Client, scene: Scene) -> list[Kept]:
    """Count what came of it, by mailing."""
    runs = Runs(db).since(datetime.now(UTC) - timedelta(days=2), limit=1000)
    ledger = {snapshot.id: snapshot.to_dict() or {} for snapshot in db.collection(DELIVERIES).stream()}
    copies = cloud.inbox.copies()
    return [
        _look(name, owed, [r for r in runs if r.account.mailing == name], ledger, copies)
        for name, owed in scene.owed.items()
    ]


def _look(
    name: str, owed: Set[str], runs: list[RunCounts], ledger: Mapping[str, Any], copies: Mapping[str, int]
) -> Kept:
    found = {delivery_id for delivery_id, document in ledger.items() if document["mailing"] == name}
    mailed = {delivery_id: count for delivery_id, count in copies.items() if delivery_id in found}
    again = {delivery_id: count - 1 for delivery_id, count in mailed.items() if count > 1}
    return Kept(
        mailing=name,
        runs=runs,
        lost=len(owed - found) + sum(run.statuses[status] for run in runs for status in UNFINISHED),
        strangers=len(found - owed),
        mails=sum(mailed.values()),
        copies=sum(again.values()),
        doubted=sum(count for delivery_id, count in again.items() if _may_repeat(ledger[delivery_id])),
        doubts=sum("doubted_at" in ledger[delivery_id] for delivery_id in found),
        settled=sum({"doubted_at", "evidence_at"} <= ledger[delivery_id].keys() for delivery_id in found),
    )


def _may_repeat(document: Mapping[str, Any]) -> bool:
    return "doubted_at" in document and document["guarantee"] == Guarantee.AT_LEAST_ONCE


def show(kept: list[Kept], cloud: Cloud, usage: Usage | None, receiver: Receiver, console: Console) -> None:
    """Print a table of the mailings, what was done to us, the cost, and the verdicts in the last lines."""
    console.print(_table(kept))
    for one in kept:
        if one.doubts:
            console.print(
                f"{one.mailing}: {one.doubts} in doubt, of which {one.settled} settled by evidence; "
                f"possible duplicates: {one.doubted}"
            )
    faults = Counter(cloud.inbox.stats()["by_fault"])
    console.print(
        "What the provider did to us: " + ", ".join(f"{name} {count}" for name, count in sorted(faults.items()))
    )
    told = sum(receiver.events.values())
    console.print(f"Webhooks: {len(receiver.events)} customers' events, told {told} times in {receiver.calls} calls.")
    if usage is not None:
        console.print(_cost(usage, sum(run.account.intended for one in kept for run in one.runs)))
    for one in kept:
        holds = "holds" if one.holds else "BROKEN"
        console.print(f"{one.mailing}: duplicates: {one.duplicates}, lost: {one.lost}, identity: {holds}")
    console.print(f"duplicates: {sum(one.duplicates for one in kept)}")
    console.print(f"lost: {sum(one.lost for one in kept)}")
    console.print(f"identity: {'holds' if all(one.holds for one in kept) else 'BROKEN'}")


def _table(kept: list[Kept]) -> Table:
    table = Table()
    table.add_column("")
    for one in kept:
        table.add_column(one.mailing, justify="right")
    others = sorted(TERMINAL - {Status.ACCEPTED})
    _row(table, "intended", [sum(run.account.intended for run in one.runs) for one in kept])
    for status in [Status.PENDING, Status.IN_FLIGHT, Status.ACCEPTED, *others]:
        _row(table, f"  {status}", [one.count(status) for one in kept])
    _row(table, "  pruned", [sum(run.account.pruned for run in one.runs) for one in kept])
    table.add_section()
    _row(table, "runs", [len(one.runs) for one in kept])
    _row(table, "asked for again", [sum(run.account.duplicates for run in one.runs) for one in kept])
    _row(table, "mails at the provider", [one.mails for one in kept])
    _row(table, "duplicates there", [one.copies for one in kept])
    return table


def _row(table: Table, name: str, numbers: list[int]) -> None:
    table.add_row(name, *map(str, numbers))


def _cost(usage: Usage, intended: int) -> str:
    """What Google would bill for planning, delivering and upkeep, without what the demo itself looked at."""
    ours = [count for count in usage.counts if not _is_watching(count)]
    reads, writes = sum(count.reads for count in ours), sum(count.writes for count in ours)
    share = f"{reads / intended:.2f} reads and {writes / intended:.2f} writes a delivery" if intended else "no delivery"
    return f"Billable Firestore operations: {reads} reads, {writes} writes: {share}."


def _is_watching(count: Count) -> bool:
    return count.rpc == "RunAggregationQuery" or (count.collection == "runs" and not count.writes)
