"""What the chaos came to, by guarantee: the scene, the ledger, its file and the provider know nothing of each other."""

from collections import Counter
from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass, field

from google.cloud import firestore
from rich.console import Console
from rich.table import Table

from emulator.chaos.play import Played
from emulator.chaos.points import POINTS
from emulator.chaos.watch import History, Seen, allowed
from emulator.demo.scene import Scene
from ledgermail.ledger.delivery import TERMINAL, UNFINISHED, Guarantee, Status
from ledgermail.ledger.ledger import DELIVERIES


@dataclass
class Verdict:
    """One guarantee."""

    guarantee: Guarantee
    intended: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    # Owed, and not in the ledger, or unfinished, or accepted and not mailed, or ended without a reason.
    lost: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)  # in the ledger or at the provider, and not owed
    mails: int = 0
    copies: int = 0  # beyond the first of a delivery
    # Mailed more often than the guarantee allows, or ended otherwise.
    forbidden: list[str] = field(default_factory=list)
    doubts: int = 0
    proven: int = 0

    @property
    def kept(self) -> bool:
        """Whether the README's table holds."""
        return not (self.lost or self.strangers or self.forbidden)


@dataclass(frozen=True, kw_only=True)
class Outside:
    """What is known outside of the ledger's file."""

    found: Mapping[str, str]  # the status of every delivery, as the ledger tells it
    mailed: Mapping[str, int]  # copies at the provider
    refused: int = 0  # mails, by the provider
    told: Collection[str] = ()  # events, at the customers
    events: bool = False  # whether the provider told what became of mails


def judge(scene: Scene, history: History, outside: Outside) -> list[Verdict]:
    """A verdict a guarantee."""
    owed = set[str]().union(*scene.owed.values())
    verdicts = {guarantee: Verdict(guarantee) for guarantee in Guarantee}
    by_id = {name: seen for name, seen in history.deliveries.items() if not seen.pruned}
    for name in owed - by_id.keys():
        verdicts[_guarantee_of(scene, name, history)].lost.append(f"{name}: is not in the ledger")
    for name, seen in by_id.items():
        verdict = verdicts[Guarantee(seen.guarantee)]
        _count(verdict, name, seen, outside.mailed.get(name, 0), outside.events)
        _ended(verdict, name, seen)
        if seen.told and f"{name.replace('.', '%2E')}:accepted" not in outside.told:
            verdict.lost.append(f"{name}: its webhook is on record, and the customer was told nothing")
        if name not in owed:
            verdict.strangers.append(name)
        if (said := outside.found.get(name)) != seen.status:
            verdict.lost.append(f"{name}: the ledger says {said}, its file {seen.status}")
    for name in outside.mailed.keys() - by_id.keys():
        verdicts[Guarantee.AT_MOST_ONCE].strangers.append(f"{name}: was mailed, and is in no ledger")
    _rejected(verdicts, by_id, outside.refused)
    return list(verdicts.values())


def _guarantee_of(scene: Scene, name: str, history: History) -> Guarantee:
    mailing = next(mailing for mailing, ids in scene.owed.items() if name in ids)
    known = (seen.guarantee for seen in history.deliveries.values() if seen.mailing == mailing)
    return Guarantee(next(known, Guarantee.AT_MOST_ONCE))


def _count(verdict: Verdict, name: str, seen: Seen, mails: int, events: bool) -> None:
    verdict.intended += 1
    verdict.statuses[seen.status] += 1
    verdict.mails += mails
    verdict.copies += max(0, mails - 1)
    verdict.doubts += seen.doubts
    verdict.proven += seen.proven
    if seen.status in UNFINISHED:
        verdict.lost.append(f"{name}: is {seen.status}")
    if seen.status == Status.ACCEPTED and not mails:
        verdict.lost.append(f"{name}: is accepted, and was never mailed")
    if mails > (1 if events else allowed(seen)):
        verdict.forbidden.append(f"{name}: {mails} mails, {seen.doubts} doubts")
    if mails and seen.status not in _may_be(verdict.guarantee, events):
        verdict.forbidden.append(f"{name}: is {seen.status}, and was mailed")


def _ended(verdict: Verdict, name: str, seen: Seen) -> None:
    """Hold its end against what happened. Nobody cancels here, and no last day comes."""
    if seen.status in {Status.CANCELLED, Status.EXPIRED}:
        verdict.lost.append(f"{name}: is {seen.status}")
    if seen.status == Status.UNKNOWN and verdict.guarantee is Guarantee.AT_LEAST_ONCE:
        verdict.lost.append(f"{name}: is unknown, and was to be tried again")
    if seen.status == Status.UNKNOWN and not seen.doubts:
        verdict.lost.append(f"{name}: is unknown, and was never in doubt")


def _rejected(verdicts: Mapping[Guarantee, Verdict], deliveries: Mapping[str, Seen], refused: int) -> None:
    """All mail of the scene can be made: only the provider refuses one."""
    rejected = [name for name, seen in deliveries.items() if seen.status == Status.REJECTED]
    if len(rejected) > refused:
        for name in rejected:
            lost = verdicts[Guarantee(deliveries[name].guarantee)].lost
            lost.append(f"{name}: is one of {len(rejected)} rejected, and the provider refused {refused} mails")


def _may_be(guarantee: Guarantee, events: bool) -> Set[Status]:
    """What a delivery may be whose mail is at the provider. With events every mail is proven."""
    if events:
        return {Status.ACCEPTED}
    return {Status.ACCEPTED, Status.UNKNOWN} if guarantee is Guarantee.AT_MOST_ONCE else set(Status)


def statuses(db: firestore.Client) -> dict[str, str]:
    """The status of every delivery, as the ledger itself tells it."""
    found = db.collection(DELIVERIES).select(["status"]).stream()
    return {snapshot.id: (snapshot.to_dict() or {})["status"] for snapshot in found}


def show(verdicts: list[Verdict], history: History, played: Played, kills: Counter[str], console: Console) -> None:
    """Print the table and what is wrong."""
    console.print(_table(verdicts))
    total = kills.total() + played.killed
    names = {point.name for point in POINTS}
    spared = names - {kill.partition(" ")[0] for kill in kills}  # a kill says where around the point, too
    console.print(
        f"{played.trouble_seconds:.0f} s of trouble: {total} processes killed ({kills.total()} at {len(names - spared)} of "
        f"{len(names)} crash points, "
        f"{played.killed} anywhere), the ledger {played.ledger_restarts} times, the queues {played.queue_restarts} times; "
        f"{played.calls} calls of schedulers, {played.unanswered} without an answer."
    )
    if spared:
        console.print(f"Nobody died at: {', '.join(sorted(spared))}.")
    sums = played.tasks
    console.print(
        f"Tasks: {sums['created']} made, {sums['dispatched']} attempts, {sums['failed']} of them failed, "
        f"{sums['duplicate_dispatches'] + sums['after_done_dispatches']} copies, {sums['lost_responses']} answers lost."
    )
    console.print(f"Then it settled by itself in {played.calm_seconds:.0f} s.")
    state = "held after each" if not history.broken else f"was BROKEN after {len(history.broken)}"
    console.print(f"identity: {state} of {history.commits} commits")
    for verdict in verdicts:
        _say(f"{verdict.guarantee}: lost", verdict.lost, console)
        _say(f"{verdict.guarantee}: not owed", verdict.strangers, console)
        _say(f"{verdict.guarantee}: not allowed", verdict.forbidden, console)
    _say("identity", history.broken, console)


def _say(what: str, problems: list[str], console: Console) -> None:
    for problem in problems[:10]:
        console.print(f"{what}: {problem}", markup=False)


def _table(verdicts: list[Verdict]) -> Table:
    table = Table()
    table.add_column("")
    for verdict in verdicts:
        table.add_column(str(verdict.guarantee), justify="right")
    rows: list[tuple[str, list[int]]] = [("intended", [verdict.intended for verdict in verdicts])]
    shown = [Status.ACCEPTED, *sorted(TERMINAL - {Status.ACCEPTED}), *sorted(UNFINISHED)]
    rows += [(f"  {status}", [verdict.statuses[status] for verdict in verdicts]) for status in shown]
    rows += [
        ("lost", [len(verdict.lost) for verdict in verdicts]),
        ("not owed", [len(verdict.strangers) for verdict in verdicts]),
        ("mails at the provider", [verdict.mails for verdict in verdicts]),
        ("duplicates there", [verdict.copies for verdict in verdicts]),
        ("  not allowed", [len(verdict.forbidden) for verdict in verdicts]),
        ("doubts", [verdict.doubts for verdict in verdicts]),
        ("settled by evidence", [verdict.proven for verdict in verdicts]),
    ]
    for name, numbers in rows:
        table.add_row(name, *map(str, numbers))
    return table
