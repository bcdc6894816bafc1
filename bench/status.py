"""What a whole status of a large ledger is billed: `python -m bench.status --deliveries 100000`.

Runs on the embedded Firestore, which meters what production would bill. The deliveries are of two days: three in four are
alerts, the others digests and reports of some cohorts; most are accepted, and some are in every other status.
"""

import argparse
import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice

from bench.planning import ENVIRONMENT
from emulator import firestore as local
from ledgermail import store
from ledgermail.app import App
from ledgermail.ledger import ids
from ledgermail.ledger.delivery import UNFINISHED, Delivery, Status, to_document
from ledgermail.ledger.ledger import DELIVERIES
from ledgermail.mailing import load
from ledgermail.settings import FOLDER, read

PROJECT = "bench-status"
BATCH = 500
DIGEST_RUNS = 12  # three mailings, two days, two cohorts
OTHERS = 10  # of so many deliveries one is not accepted
DAY = timedelta(days=1)
PATIENCE = 300.0  # seconds a call: the embedded Firestore goes over every document to count a few


def main() -> None:
    """Fill, ask, print."""
    parser = argparse.ArgumentParser(prog="bench.status", description=__doc__)
    parser.add_argument("--deliveries", type=int, default=10_000)
    options = parser.parse_args()
    with local.start("embedded") as server:
        os.environ["FIRESTORE_EMULATOR_HOST"] = server.host
        app = App(read(ENVIRONMENT | {"LEDGERMAIL_PROJECT": PROJECT}), load(FOLDER))
        _fill(app, options.deliveries)
        store.CALL_SECONDS, store.RETRY = PATIENCE, store.RETRY.with_timeout(PATIENCE)
        server.reset_usage(PROJECT)
        started = time.perf_counter()
        report = app.statuses.report()
        seconds = time.perf_counter() - started
        billed = server.usage(PROJECT).reads
    counted = sum(run.total for run in report.seen.counts)
    print(f"{counted} deliveries in {len(report.seen.counts)} runs, identity: {report.identity}")
    print(f"reads billed: {billed}; told: {report.reads}; {seconds:.1f} s")


def _fill(app: App, count: int) -> None:
    keys = _runs(app, count)
    deliveries = (delivery for key, size in keys.items() for delivery in _of_run(app, key, size))
    while page := list(islice(deliveries, BATCH)):
        batch = app.client.batch()
        for delivery in page:
            batch.create(app.client.collection(DELIVERIES).document(delivery.id), to_document(delivery))
        batch.commit()


def _runs(app: App, count: int) -> dict[str, int]:
    """Two books and the runs of digests, by key, with how many deliveries each intends."""
    now, sizes = datetime.now(UTC), {}
    alerts, *digests = sorted(app.mailings.values(), key=lambda mailing: mailing.schedule is not None)
    for day in range(2):
        date = (now - day * DAY).date()
        sizes[f"{alerts.name}:{date}"] = count * 3 // 8
        for mailing in digests:
            for cohort in ("~default", "0 8 * * *"):
                sizes[ids.run_key(mailing.name, date.isoformat(), cohort)] = count // 4 // DIGEST_RUNS
    for key, size in sizes.items():
        account = {"mailing": key.partition(":")[0], "intended": size, "opened_at": now - timedelta(hours=1)}
        app.client.document(f"runs/{key}").set(account)
    return sizes


def _of_run(app: App, key: str, size: int) -> Iterator[Delivery]:
    mailing, now = app.mailings[key.partition(":")[0]], datetime.now(UTC)
    for number in range(size):
        status = Status.ACCEPTED if number % OTHERS else list(Status)[number // OTHERS % len(Status)]
        ended = now - timedelta(minutes=number % 60)
        delivery_id = ids.run_delivery_id(f"u{number}", key)
        finished = {"settled_at": ended, "prune_at": ended + mailing.policy.retention}
        waiting = {"wake_at": now, **({} if status is Status.PENDING else {"lease_expires_at": now, "claim_id": "c"})}
        yield Delivery(
            id=delivery_id,
            mailing=mailing.name,
            guarantee=mailing.guarantee,
            run_key=key,
            user_id=f"u{number}",
            subject=key,
            status=status,
            due_at=ended,
            created_at=ended,
            first_claimed_at=ended,
            attempt=1,
            shard=ids.shard_of(delivery_id, app.settings.shards),
            **(waiting if status in UNFINISHED else finished),
        )


if __name__ == "__main__":
    main()
