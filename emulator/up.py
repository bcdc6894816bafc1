"""Keep the local cloud up: the scheduler's jobs, and a wait for Ctrl-C."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

from emulator.cloud import TRIGGER_KEY, Cloud
from emulator.scheduler import Job, Scheduler

# Cron lines in UTC. They reach the functions through `trigger`, as any scheduler outside Google Cloud does.
CRON = {
    "scan": "* * * * *",
    "plan": "*/5 * * * *",
    "look-back": "7 * * * *",
    "sweep": "*/2 * * * *",
    "prune": "17 3 * * *",
}


@contextmanager
def jobs(cloud: Cloud) -> Iterator[None]:
    """Run the scheduler beside the cloud."""
    key = {"X-Ledgermail-Key": TRIGGER_KEY}
    url = f"{cloud.functions.url}/trigger?job="
    scheduler = Scheduler([Job(name=name, cron=cron, url=url + name, headers=key) for name, cron in CRON.items()])
    scheduler.start()
    try:
        yield
    finally:
        scheduler.stop()


def until_interrupted() -> None:
    """Wait for Ctrl-C or a request to end."""
    asked = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: asked.set())
    asked.wait()
