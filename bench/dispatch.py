"""Through everything: the local Cloud Tasks dispatches over HTTP to worker processes, until the mails are accepted."""

import os
import time
from pathlib import Path

from bench import ground as grounds
from bench.report import Section, Table
from emulator import cloud
from emulator.cloud import LOCATION, PROJECT
from ledgermail.app import App
from ledgermail.delivering.tasks import Wake
from ledgermail.mailing import load
from ledgermail.settings import FOLDER, read

QUEUE = f"projects/{PROJECT}/locations/{LOCATION}/queues/deliver"
LONGEST = 300.0  # seconds


def measure(count: int) -> Section:
    """On a cloud of its own, the queue held back until all tasks are there."""
    with cloud.start(log=Path(os.devnull)) as running:
        os.environ.update(running.environment)
        app = App(read(running.environment), load(FOLDER))
        db = running.firestore.client(PROJECT)
        owed = [grounds.delivery(number) for number in range(count)]
        grounds.write(db, "users", grounds.USERS, grounds.user)
        grounds.write(db, "deliveries", count, lambda number: grounds.delivery_document(owed[number]))
        with running.tasks.client() as queues:
            queues.pause_queue(name=QUEUE)
            begun = time.perf_counter()
            made = app.tasks.wake([Wake(delivery.id, 0) for delivery in owed])
            created = time.perf_counter()
            queues.resume_queue(name=QUEUE)
        while running.inbox.stats()["accepted"] < count and time.perf_counter() - created < LONGEST:
            time.sleep(0.05)
        ended = time.perf_counter()
        accepted = running.inbox.stats()["accepted"]
    assert made == accepted == count, (made, accepted)
    rows = [
        ("tasks made", f"{count / (created - begun):.0f}"),
        ("dispatched, delivered and accepted", f"{count / (ended - created):.0f}"),
    ]
    return Section(
        "Cloud Tasks dispatch",
        f"{count} deliveries by the whole local cloud, once: the queue's tasks are dispatched over HTTP, each with a token that"
        " the function checks, to two worker processes; all servers share the machine.",
        [Table(("step", "a second"), rows)],
    )
