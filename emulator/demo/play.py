"""Play the scene: seed it, let everything go wrong, wait until nothing is unfinished."""

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Event, Thread
from typing import Any

import httpx
from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter

from emulator.cloud import TRIGGER_KEY, Cloud
from emulator.demo.digests import SHARES, default_schedules
from emulator.demo.scene import MAILING, Scene
from emulator.process import ROOT
from ledgermail.ledger.ledger import DELIVERIES, USERS
from ledgermail.planning.book import RUNS
from ledgermail.planning.matches import MATCHES
from ledgermail.store import call, count_of

# Short enough to watch, and still in the order that the settings insist on.
HURRY = {
    "LEDGERMAIL_PROVIDER_TIMEOUT": "2s",
    "LEDGERMAIL_FUNCTION_TIMEOUT": "15s",
    "LEDGERMAIL_LEASE": "16s",
    "LEDGERMAIL_TIME_BOX": "10s",
}
HURRIED = {"retry_base": "1s", "retry_cap": "5s", "slack": "15s", "evidence_grace": "8s", "catch_up": "20h"}
# Shares of first tries that the provider does not simply take.
RATES = {"throttle": 0.005, "unavailable": 0.02, "server_error": 0.01, "refuse": 0.01, "hang": 0.005, "cut": 0.01}
DUPLICATE_EVERY = 10  # tasks: every tenth is dispatched twice at the same time
SWEEP_SECONDS = 3.0
LONGEST_SECONDS = 100.0  # for one act, after which what is still unfinished counts as lost
MAILINGS = (MAILING, *SHARES)
SHARDS = 4  # the default of the settings
WRITES = 200  # documents a batch while seeding

Say = Callable[[str], None]


@dataclass(frozen=True)
class Progress:
    """How far the ledger is."""

    planned: int
    unfinished: int


def hurried_mailings(folder: Path, now: datetime) -> Path:
    """A copy of the shipped mailings whose retries can be watched, and whose schedules were due just before `now`."""
    shutil.copytree(ROOT / "functions" / "mailings", folder)
    for declared in folder.glob("*/mailing.toml"):
        name = declared.parent.name
        schedule = {"schedule": default_schedules(now)[name]} if name != MAILING else {}
        changes = {**HURRIED, **schedule}
        lines = [line for line in declared.read_text("utf-8").splitlines() if line.split(" ")[0] not in changes]
        lines += [f'{key} = "{value}"' for key, value in changes.items()]
        declared.write_text("\n".join(lines), "utf-8")
    return folder


def seed(db: firestore.Client, scene: Scene) -> None:
    """Write users, matches and reports, as an adopter's application would have."""
    _write(db, {f"{USERS}/{user_id}": user for user_id, user in scene.users.items()})
    _write(db, {f"{MATCHES}/{match_id}": match for match_id, match in scene.matches.items()})
    _write(db, scene.reports)


def play(cloud: Cloud, db: firestore.Client, scene: Scene, seed_number: int, say: Say) -> Iterator[Progress]:
    """Let it happen, and yield how far it is until nothing is unfinished, or too much time has passed."""
    owed = sum(len(ids) for ids in scene.owed.values())
    cloud.inbox.faults(RATES, seed=seed_number, only_first=1, hang_seconds=5, retry_after=1)
    if cloud.tasks.server:
        cloud.tasks.faults(duplicate_every=DUPLICATE_EVERY, seed=seed_number)
    say("The scan and the coordinator are each started twice at the same time, and a worker is killed over it.")
    _together(*(lambda job=job: trigger(cloud, job) for job in ("scan", "plan", "scan", "plan")))
    _kill_one(cloud)
    say("They are started again, in case that took them with it.")
    _together(*(lambda job=job: trigger(cloud, job) for job in ("scan", "plan")))
    yield from _until(cloud, db, lambda progress: progress.planned >= owed, again=("plan", "scan"))
    say(f"{len(scene.leaving)} users unsubscribe before their mails are sent, and {len(scene.joining)} come too late.")
    _write(db, {f"{USERS}/{user_id}": user for user_id, user in scene.joining.items()})
    for user_id in scene.leaving:
        db.collection(USERS).document(user_id).update(
            {db.field_path("mailings", name, "active"): False for name in scene.users[user_id]["mailings"]}
        )
    yield from _until(cloud, db, lambda progress: progress.unfinished < progress.planned * 0.6)
    say("A worker is killed in the middle of its sends.")
    _kill_one(cloud)
    say("Everything is started twice again.")
    _together(*(lambda job=job: trigger(cloud, job) for job in ("scan", "plan", "scan", "plan", "look-back")))
    yield from _until(cloud, db, lambda progress: progress.unfinished == 0)


def _kill_one(cloud: Cloud) -> None:
    os.kill(cloud.functions.workers()[0], signal.SIGKILL)


def trigger(cloud: Cloud, job: str) -> None:
    """Start a job as a scheduler outside Google Cloud would."""
    url = f"{cloud.functions.url}/trigger"
    httpx.post(url, params={"job": job}, headers={"X-Ledgermail-Key": TRIGGER_KEY}, timeout=30).raise_for_status()


def _until(
    cloud: Cloud, db: firestore.Client, reached: Callable[[Progress], bool], again: Sequence[str] = ()
) -> Iterator[Progress]:
    """Look twice a second until the state is reached; every few, a sweep and what else a scheduler would start again."""
    started = swept = time.monotonic()
    while time.monotonic() - started < LONGEST_SECONDS:
        progress = measure(db)
        yield progress
        if reached(progress):
            return
        if time.monotonic() - swept >= SWEEP_SECONDS:
            for job in ("sweep", *again):
                trigger(cloud, job)
            swept = time.monotonic()
        Event().wait(0.5)


def measure(db: firestore.Client) -> Progress:
    """Count what the runs intend, and what is unfinished of it, shard by shard as the sweep reads it."""
    planned = sum((run.to_dict() or {}).get("intended", 0) for run in db.collection(RUNS).stream())
    return Progress(planned, sum(_unfinished(db, name, shard) for name in MAILINGS for shard in range(SHARDS)))


def _unfinished(db: firestore.Client, mailing: str, shard: int) -> int:
    query = db.collection(DELIVERIES).where(filter=FieldFilter("mailing", "==", mailing))
    query = query.where(filter=FieldFilter("shard", "==", shard)).order_by("unfinished_since")
    return count_of(query.count().get(**call()))


def _together(*calls: Callable[[], None]) -> None:
    threads = [Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _write(db: firestore.Client, documents: Mapping[str, Mapping[str, Any]]) -> None:
    """Write these documents by path."""
    pairs = list(documents.items())
    for start in range(0, len(pairs), WRITES):
        batch = db.batch()
        for path, document in pairs[start : start + WRITES]:
            batch.set(db.document(path), dict(document))
        batch.commit()
