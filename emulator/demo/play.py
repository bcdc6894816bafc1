"""Play the scene: seed it, let everything go wrong, wait until nothing is unfinished."""

import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event, Thread
from typing import Any

import httpx
from google.cloud import firestore

from emulator.cloud import TRIGGER_KEY, Cloud
from emulator.demo.scene import MAILING, Scene
from emulator.process import ROOT
from ledgermail.delivery import UNFINISHED
from ledgermail.ledger import USERS
from ledgermail.matches import MATCHES
from ledgermail.runs import Runs

# Short enough to watch, and still in the order that the settings insist on.
HURRY = {
    "LEDGERMAIL_PROVIDER_TIMEOUT": "2s",
    "LEDGERMAIL_FUNCTION_TIMEOUT": "15s",
    "LEDGERMAIL_LEASE": "16s",
    "LEDGERMAIL_TIME_BOX": "10s",
}
HURRIED_MAILING = {"retry_base": "1s", "retry_cap": "5s", "slack": "15s"}
# Shares of first tries that the provider does not simply take.
RATES = {"throttle": 0.005, "unavailable": 0.02, "server_error": 0.01, "refuse": 0.01, "hang": 0.005, "cut": 0.01}
DUPLICATE_EVERY = 10  # tasks: every tenth is dispatched twice at the same time
SWEEP_SECONDS = 3.0
LONGEST_SECONDS = 100.0  # for one act, after which what is still unfinished counts as lost
WRITES = 200  # documents a batch while seeding

Say = Callable[[str], None]


@dataclass(frozen=True)
class Progress:
    """How far the ledger is."""

    planned: int
    unfinished: int


def hurried_mailings(folder: Path) -> Path:
    """A copy of the shipped mailings whose retries can be watched."""
    shutil.copytree(ROOT / "functions" / "mailings", folder)
    declared = folder / MAILING / "mailing.toml"
    lines = [line for line in declared.read_text("utf-8").splitlines() if line.split(" ")[0] not in HURRIED_MAILING]
    declared.write_text(
        "\n".join([*lines, *(f'{name} = "{value}"' for name, value in HURRIED_MAILING.items())]), "utf-8"
    )
    return folder


def seed(db: firestore.Client, scene: Scene) -> None:
    """Write users and matches, as an adopter's application would have."""
    _write(db, USERS, scene.users)
    _write(db, MATCHES, scene.matches)


def play(cloud: Cloud, db: firestore.Client, scene: Scene, seed_number: int, say: Say) -> Iterator[Progress]:
    """Let it happen, and yield how far it is until nothing is unfinished, or too much time has passed."""
    cloud.inbox.faults(RATES, seed=seed_number, only_first=1, hang_seconds=5, retry_after=1)
    if cloud.tasks.server:
        cloud.tasks.faults(duplicate_every=DUPLICATE_EVERY, seed=seed_number)
    say("The scan is started twice at the same time.")
    _together(lambda: trigger(cloud, "scan"), lambda: trigger(cloud, "scan"))
    yield from _until(cloud, db, lambda progress: progress.planned >= len(scene.owed))
    say(f"{len(scene.leaving)} users unsubscribe between the scan and the send.")
    for user_id in scene.leaving:
        db.collection(USERS).document(user_id).update({db.field_path("mailings", MAILING, "active"): False})
    yield from _until(cloud, db, lambda progress: progress.unfinished < progress.planned * 0.7)
    killed = cloud.functions.workers()[0]
    say(f"Worker {killed} is killed in the middle of its sends.")
    os.kill(killed, signal.SIGKILL)
    say("The scan is started twice again, together with a look-back.")
    _together(lambda: trigger(cloud, "scan"), lambda: trigger(cloud, "scan"))
    yield from _until(cloud, db, lambda progress: progress.unfinished == 0)


def trigger(cloud: Cloud, job: str) -> None:
    """Start a job as a scheduler outside Google Cloud would."""
    url = f"{cloud.functions.url}/trigger"
    httpx.post(url, params={"job": job}, headers={"X-Ledgermail-Key": TRIGGER_KEY}, timeout=30).raise_for_status()


def _until(cloud: Cloud, db: firestore.Client, reached: Callable[[Progress], bool]) -> Iterator[Progress]:
    """Look once a second, with a sweep every few, until the state is reached."""
    started = swept = time.monotonic()
    while time.monotonic() - started < LONGEST_SECONDS:
        progress = measure(db)
        yield progress
        if reached(progress):
            return
        if time.monotonic() - swept >= SWEEP_SECONDS:
            trigger(cloud, "sweep")
            swept = time.monotonic()
        Event().wait(0.5)


def measure(db: firestore.Client) -> Progress:
    """Count the ledger, as status does."""
    runs = Runs(db).since(datetime.now(UTC) - timedelta(days=2), limit=8)
    return Progress(
        planned=sum(run.intended for run in runs),
        unfinished=sum(run.statuses[status] for run in runs for status in UNFINISHED),
    )


def _together(*calls: Callable[[], None]) -> None:
    threads = [Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _write(db: firestore.Client, collection: str, documents: Any) -> None:
    pairs = list(documents.items())
    for start in range(0, len(pairs), WRITES):
        batch = db.batch()
        for name, document in pairs[start : start + WRITES]:
            batch.set(db.collection(collection).document(name), document)
        batch.commit()
