"""The same work on ledgers of 10^3, 10^4, 10^5 deliveries: does it take longer, and does it cost more?"""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

from flask import Request
from google.cloud import firestore
from werkzeug.test import EnvironBuilder

from bench import ground as grounds
from bench.bulk import fill
from bench.ground import Ground, silent
from bench.report import Section, Table
from bench.rounds import interleaved, ratio
from emulator.cloud import LOCATION, create_queues
from ledgermail import endpoints
from ledgermail.app import App
from ledgermail.clock import Clock
from ledgermail.errors import LedgerUnavailable
from ledgermail.ledger.delivery import Delivery, Status
from ledgermail.mailing import load
from ledgermail.planning.schedules import parse
from ledgermail.settings import FOLDER, read
from ledgermail.upkeep.prune import Pass

WORK = 150  # of each kind in a round: less than a page, so that a digest's run has one part
KINDS = ("scan", "claim, send, settle", "plan", "sweep", "prune", "idle sweep", "status")


@dataclass(frozen=True)
class Cost:
    """Seconds on the clock; processor seconds of this process and of Firestore; what would be billed."""

    seconds: float
    processor: float
    billed: tuple[int, int, int]  # reads, writes, deletes


@dataclass(frozen=True)
class Ledger:
    """One ledger, in a project of its own, and the numbers of what is still to come into it."""

    project: str
    environment: dict[str, str]
    db: firestore.Client
    numbers: "count[int]"
    days: "count[int]"  # ahead, one after the other: no run is missed between them

    def owe(self, status: Status, **times: Any) -> list[Delivery]:
        """New deliveries in this status, written down."""
        made = [grounds.delivery(next(self.numbers), status, **times) for _ in range(WORK)]
        grounds.write(self.db, "deliveries", WORK, lambda number: grounds.delivery_document(made[number]))
        return made


def measure(ground: Ground, rounds: int, sizes: Sequence[int]) -> Section:
    """Every ledger in turn."""
    os.environ.update(ground.environment)
    ledgers = {size: _ledger(ground, size) for size in sizes}
    with silent():
        for ledger in ledgers.values():
            _warm(App(read(ledger.environment), load(FOLDER)))
        found = interleaved(list(sizes), rounds, lambda size: _round(ground, ledgers[size]))
    times, costs, ratios = [], [], {}
    for kind in KINDS:
        seconds = {size: [one[kind].seconds for one in found[size]] for size in sizes}
        used = {size: [one[kind].processor for one in found[size]] for size in sizes}
        grown = ratio(seconds[sizes[-1]], seconds[sizes[0]])
        each = 1 if kind in KINDS[-2:] else WORK
        shown = [f"{1000 * median(seconds[size]) / each:.2f}" for size in sizes]
        times.append((kind, *shown, f"{grown:.2f}", f"{ratio(used[sizes[-1]], used[sizes[0]]):.2f}"))
        costs.append(
            (kind, *("+".join(_figure(part / each) for part in found[size][-1][kind].billed) for size in sizes))
        )
        ratios[f"{kind}: time at {sizes[-1]:,} of that at {sizes[0]:,}"] = grown
    return Section("As the ledger grows", _method(rounds, sizes), _tables(sizes, times, costs), ratios)


def _method(rounds: int, sizes: Sequence[int]) -> str:
    return (
        f"The same work, {WORK} of each kind, in ledgers that already hold {', '.join(f'{size:,}' for size in sizes)} accepted"
        " deliveries and as many matches, on the embedded Firestore. Milliseconds for one delivery (of an idle sweep and of the"
        f" status: for the whole), medians of {rounds} rounds that take the ledgers in turn. The last columns are medians of"
        " pairs, the largest ledger over the smallest: on the clock, and by the processor time of client and Firestore, which"
        " others on the machine change less. Operations are those that Firestore would bill: reads+writes+deletes."
    )


def _tables(sizes: Sequence[int], times: list[tuple[str, ...]], costs: list[tuple[str, ...]]) -> list[Table]:
    named = [f"{size:,}" for size in sizes]
    return [
        Table(("milliseconds for one", *named, "largest/smallest", "by processor time"), times),
        Table(("billed operations for one", *named), costs),
    ]


def _figure(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _ledger(ground: Ground, size: int) -> Ledger:
    """A ledger of this size, with its queues and its users, who want alerts and digests."""
    project = f"bench-{size}"
    db = ground.store.client(project)
    parent = f"projects/{project}/locations/{LOCATION}"
    create_queues(ground.tasks, parent)
    with ground.tasks.client() as client:
        for name in ("deliver", "upkeep"):
            client.pause_queue(name=f"{parent}/queues/{name}")
    fill(db, ground.store.host, size)
    grounds.write(db, "users", WORK, _user)
    return Ledger(project, {**ground.environment, "LEDGERMAIL_PROJECT": project}, db, count(), count())


def _warm(app: App) -> None:
    """Ask each kind of question until it is answered: the local Firestore builds an index when a query first wants it, and
    for a large ledger that takes longer than we wait for an answer.
    """
    alert = app.mailings["job-alert"]
    for ask in (
        app.sweeper.sweep,
        lambda: app.pruner.prune(Pass(prune_id="warm", dry_run=True)),
        lambda: app.scanner.scan(alert),
        lambda: app.statuses.report(1),
    ):
        while not _answered(ask):
            pass


def _answered(ask: Callable[[], object]) -> bool:
    try:
        ask()
    except LedgerUnavailable:
        return False
    return True


def _user(number: int) -> tuple[str, dict[str, Any]]:
    user_id, document = grounds.user(number)
    return user_id, document | {"mailings": {name: {"active": True} for name in ("job-alert", "daily-digest")}}


def _round(ground: Ground, ledger: Ledger) -> dict[str, Cost]:
    """Each kind of work once, on what is put there for it first."""
    now, number, app = datetime.now(UTC), next(ledger.numbers), App(read(ledger.environment), load(FOLDER))
    cost = partial(_cost, ground, ledger.project)
    found: dict[str, Cost] = {}
    then = now - timedelta(seconds=2)
    grounds.write(
        ledger.db, "matches", WORK, lambda n: (f"m{number}-{n}", grounds.match(number * WORK + n, WORK, then)[1])
    )
    found["scan"] = cost(lambda: app.scanner.scan(app.mailings["job-alert"]))
    owed = ledger.owe(Status.PENDING)
    found["claim, send, settle"] = cost(lambda: [app.worker.deliver(delivery.id) for delivery in owed])
    found["plan"] = cost(partial(_plan, app, timedelta(days=next(ledger.days))))
    ledger.owe(Status.PENDING, due_at=then, wake_at=then)
    found["sweep"] = cost(app.sweeper.sweep)
    ledger.owe(Status.ACCEPTED, prune_at=then)
    found["prune"] = cost(lambda: app.pruner.prune(Pass(prune_id=f"p{number}")))
    found["idle sweep"] = cost(app.sweeper.sweep)
    request = Request(EnvironBuilder(method="GET").get_environ())
    found["status"] = cost(lambda: endpoints.status(app, request))
    return found


def _plan(app: App, ahead: timedelta) -> None:
    """Plan the digest of another day: a run of a day there is only once."""
    due = datetime.now(UTC) - timedelta(minutes=3)
    daily = replace(app.mailings["daily-digest"], schedule=parse(f"{due.minute} {due.hour} * * *"))
    planner = App(app.settings, {daily.name: daily}, Clock(now=lambda: datetime.now(UTC) + ahead))
    assert planner.coordinator.tick().counts["created"] == WORK


def _cost(ground: Ground, project: str, work: Callable[[], object]) -> Cost:
    ground.store.reset_usage(project)
    begun, used = time.perf_counter(), _processor_seconds(ground)
    work()
    seconds, processor = time.perf_counter() - begun, _processor_seconds(ground) - used
    usage = ground.store.usage(project)
    return Cost(seconds, processor, (usage.reads, usage.writes, usage.deletes))


def _processor_seconds(ground: Ground) -> float:
    """What this process and the Firestore server have used so far; the server's as Linux has it, elsewhere without."""
    threads = Path(f"/proc/{ground.store.pid}/task").glob("*/schedstat")
    return time.process_time() + sum(int(thread.read_text("ascii").split()[0]) for thread in threads) / 1e9
