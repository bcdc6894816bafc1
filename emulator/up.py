"""Keep the local cloud up: the scheduler's jobs, and a wait for Ctrl-C."""

import shlex
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Event

from emulator.cloud import TRIGGER_KEY, Cloud
from emulator.process import ROOT
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


@contextmanager
def known_to_tools(environment: Mapping[str, str], file: Path = ROOT / ".local-cloud.env") -> Iterator[None]:
    """Keep how this cloud is found in a file as long as it runs: for `ledgermail --local`, or ``set -a; . <file>``."""
    file.write_text("".join(f"{name}={shlex.quote(value)}\n" for name, value in environment.items()), "utf-8")
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


def until_interrupted() -> None:
    """Wait for Ctrl-C or a request to end."""
    asked = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: asked.set())
    asked.wait()
