"""From a match to an accepted mail: how many a second, against the floor that makes the same calls."""

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from statistics import median

from bench import ground as grounds
from bench.floor import Floor
from bench.ground import USERS, Ground, silent
from bench.report import Section, Table
from bench.rounds import interleaved, ratio
from emulator.cloud import PROJECT
from ledgermail.app import App
from ledgermail.mailing import load
from ledgermail.settings import FOLDER, read

PHASES = ("plan", "deliver", "end to end")
THREADS = 8  # of an instance
Seconds = tuple[float, float]  # on the clock, and of this process's processor time


def measure(ground: Ground, rounds: int, count: int) -> Section:
    """Ours and the floor in turn, with one delivery at a time and with as many as an instance has threads."""
    rows, ratios = [], {}
    with _contenders(ground) as contenders:
        for threads in (1, THREADS):
            times = interleaved(list(contenders), rounds, partial(_round, ground, contenders, count, threads))
            for phase in PHASES:
                (ours, our_cpu), (floor, its_cpu) = (
                    zip(*(one[phase] for one in times[name]), strict=True) for name in ("ours", "floor")
                )
                share, used = ratio(floor, ours), ratio(its_cpu, our_cpu)
                speeds = (f"{count / median(ours):.0f}", f"{count / median(floor):.0f}")
                rows.append((phase, str(threads), *speeds, f"{share:.2f}", f"{used:.2f}"))
                ratios[f"{phase}, {threads} at a time, of the floor"] = share
    return Section(
        "Deliveries a second",
        f"{count} matches of {USERS} users become deliveries (*plan*: the scan, and a task for each), and each is tried as its"
        " task would have it (*deliver*: read, judge, render, claim, send, settle), in one process. The floor makes the same"
        " calls by the raw clients: see `bench/floor.py`. Servers and client share the machine, and both sides pay for that;"
        f" the last column compares the processor time of the client alone. Medians of {rounds}; ratios of pairs.",
        [Table(("phase", "at a time", "ours, a second", "floor, a second", "of the floor", "by processor time"), rows)],
        ratios,
    )


Contender = tuple[Callable[[], None], Callable[[str], object]]  # plan all; deliver one


@contextlib.contextmanager
def _contenders(ground: Ground) -> Iterator[dict[str, Contender]]:
    """Both by name."""
    os.environ.update(ground.environment)
    app = App(read(ground.environment), load(FOLDER))
    with ground.tasks.client() as queues, silent():
        floor = Floor(ground.db, queues, ground.inbox.url, _request(ground, app))
        yield {"ours": (lambda: _scan(app), app.worker.deliver), "floor": (floor.plan, floor.deliver)}
        floor.close()


def _request(ground: Ground, app: App) -> bytes:
    """What we post for one mail."""
    owed = grounds.delivery(0)
    grounds.write(ground.db, "users", 1, grounds.user)
    grounds.write(ground.db, "deliveries", 1, lambda _: grounds.delivery_document(owed))
    app.worker.deliver(owed.id)
    (mail,) = ground.inbox.mails(delivery_id=owed.id)
    return json.dumps(ground.inbox.mail(mail["id"])["raw"]).encode()


def _scan(app: App) -> None:
    report = app.scanner.scan(app.mailings["job-alert"])
    assert not report.more


def _round(
    ground: Ground, contenders: Mapping[str, Contender], count: int, threads: int, name: str
) -> dict[str, Seconds]:
    """One round on an empty ledger, by phase; what was left of the last is cleared first."""
    plan, deliver = contenders[name]
    ground.store.reset(PROJECT)
    ground.tasks.reset()
    ground.inbox.clear()
    db, then = ground.db, datetime.now(UTC) - timedelta(seconds=2)
    grounds.write(db, "users", USERS, grounds.user)
    grounds.write(db, "matches", count, lambda number: grounds.match(number, USERS, then))
    planning = _timed(plan)
    owed = [snapshot.id for snapshot in db.collection("deliveries").select([]).stream()]
    assert len(owed) == count
    with ThreadPoolExecutor(threads) as pool:
        delivering = _timed(lambda: list(pool.map(deliver, owed)))
    assert ground.inbox.stats()["accepted"] == count
    total = (planning[0] + delivering[0], planning[1] + delivering[1])
    return dict(zip(PHASES, (planning, delivering, total), strict=True))


def _timed(work: Callable[[], object]) -> Seconds:
    begun, used = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - begun, time.process_time() - used
