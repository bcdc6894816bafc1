"""Plan one run of a large audience in parts side by side, and count: `python -m bench.planning --users 100000`.

Runs on the embedded Firestore, which meters what production would bill. The tasks of the deliveries are not made: they are
Cloud Tasks' affair, and the same for each delivery, however large the audience.
"""

import argparse
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from google.cloud import firestore

from emulator import firestore as local
from ledgermail.app import App
from ledgermail.delivering.tasks import Tasks, Wake
from ledgermail.mailing import load
from ledgermail.planning.schedules import parse
from ledgermail.settings import FOLDER, read

PROJECT = "bench-planning"
MAILING = "daily-digest"
BATCH = 500
ENVIRONMENT = {
    "LEDGERMAIL_PROJECT": PROJECT,
    "LEDGERMAIL_LOCATION": "europe-west1",
    "LEDGERMAIL_FUNCTION_URL": "http://127.0.0.1:1/{function}",
    "LEDGERMAIL_TASK_ACCOUNT": "tasks@bench.iam.gserviceaccount.com",
    "LEDGERMAIL_SENDER": "alerts@example.com",
    "LEDGERMAIL_FUNCTION_TIMEOUT": "29m",
    "LEDGERMAIL_LEASE": "30m",
    "LEDGERMAIL_TIME_BOX": "28m",
}


class NoTasks(Tasks):
    """Makes no task, and remembers which parts were to be planned."""

    def wake(self, wakes: Sequence[Wake]) -> int:  # type: ignore[explicit-override] # typing has it from 3.12 on
        """Count them."""
        return len(wakes)

    def go_on(self, function: str, body: dict[str, object]) -> bool:  # type: ignore[explicit-override]
        """Do nothing: the bench plans the parts itself."""
        return True


def main() -> None:
    """Seed, plan, print."""
    parser = argparse.ArgumentParser(prog="bench.planning", description=__doc__)
    parser.add_argument("--users", type=int, default=20_000)
    parser.add_argument("--threads", type=int, default=4)
    options = parser.parse_args()
    with local.start("embedded") as server:
        os.environ["FIRESTORE_EMULATOR_HOST"] = server.host
        app = _app()
        _seed(app.client, options.users)
        server.reset_usage(PROJECT)
        started = time.perf_counter()
        app.coordinator.tick()
        ((run_key, parts),) = app.coordinator.runs.unplanned()
        with ThreadPoolExecutor(options.threads) as pool:
            list(pool.map(lambda part: app.coordinator.plan_part(run_key, part.number), parts))
        seconds = time.perf_counter() - started
        usage = server.usage(PROJECT)
        run = app.client.document(f"runs/{run_key}").get().to_dict() or {}
    print(
        f"{options.users} users in {len(parts)} parts, {options.threads} at a time: {options.users / seconds:.0f} a second"
    )
    print(f"run: {run['state']}, intended {run['intended']}")
    print(f"reads {usage.reads / options.users:.4f} and writes {usage.writes / options.users:.4f} a subscriber")


def _app() -> App:
    settings = read(ENVIRONMENT)
    due = datetime.now(UTC) - timedelta(minutes=3)
    mailing = replace(load(FOLDER)[MAILING], schedule=parse(f"{due.minute} {due.hour} * * *"))
    app = App(settings, {MAILING: mailing})
    app.__dict__["tasks"] = NoTasks(settings)  # in the place of what the cached property would make
    return app


def _seed(db: firestore.Client, users: int) -> None:
    """Users with ids as Firebase makes them: spread over the letters."""
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    document = {"email": "u@example.com", "mailings": {MAILING: {"active": True}}}
    for start in range(0, users, BATCH):
        batch = db.batch()
        for number in range(start, min(start + BATCH, users)):
            user_id = f"{letters[number % 62]}{letters[number // 62 % 62]}{number:08d}"
            batch.set(db.collection("users").document(user_id), document)
        batch.commit()


if __name__ == "__main__":
    main()
