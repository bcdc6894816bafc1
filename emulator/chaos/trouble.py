"""What goes wrong: the provider, the ledger and the queues fail by rates, are killed and come back; all drawn from one seed."""

from collections.abc import Mapping
from typing import Any

from emulator.cloud import Cloud

# Shares of all tries of a message.
PROVIDER = {
    "throttle": 0.002,
    "unavailable": 0.02,
    "server_error": 0.005,
    "error_after": 0.01,
    "bad_gateway": 0.003,
    "refuse": 0.005,
    "hang": 0.001,
    "hang_after": 0.002,
    "cut": 0.01,
    "reset": 0.005,
}
# Shares of all recipients: what is told of a mail after it was taken. Each event comes twice, in any order, up to so late.
FATES = {"deferred": 0.05, "bounce": 0.01, "dropped": 0.005, "spamreport": 0.005, "open": 0.1, "click": 0.05}
EVENTS = {"rates": FATES, "copies": 2, "new_ids": True, "shuffle": True, "delay_seconds": 5, "retry_seconds": 1}
HANG_SECONDS = 4  # longer than the provider's timeout
# Shares of all calls. "after": it was done, and nobody is told.
LEDGER: tuple[Mapping[str, Any], ...] = (
    {"rpc": "Commit", "when": "before", "code": "UNAVAILABLE", "rate": 0.01},
    {"rpc": "Commit", "when": "after", "code": "UNAVAILABLE", "rate": 0.01},
    {"rpc": "Commit", "when": "after", "code": "INTERNAL", "rate": 0.005},
    {"rpc": "Commit", "when": "before", "code": "ABORTED", "rate": 0.005},
    {"rpc": "Commit", "when": "after", "code": "HANG", "rate": 0.0003},
    {"rpc": "BatchGetDocuments", "code": "INTERNAL", "rate": 0.005},
    {"rpc": "RunQuery", "code": "DEADLINE_EXCEEDED", "rate": 0.005},
    {"rpc": "*", "code": "OK", "delay": 0.2, "rate": 0.005},
)
# Shares of all tasks: twice at once, again after it is done, again because its answer was lost, and late.
TASKS = {
    "duplicate_rate": 0.2,
    "after_done_rate": 0.05,
    "lose_response_rate": 0.05,
    "late_rate": 0.02,
    "late_seconds": 8.0,
}


def begin(cloud: Cloud, seed: int, *, events: bool) -> None:
    """From now on everything fails now and then; with `events`, they are told of."""
    if events:
        cloud.inbox.events(f"{cloud.functions.url}/events", seed=seed, **EVENTS)
    cloud.inbox.faults(PROVIDER, seed=seed, hang_seconds=HANG_SECONDS, retry_after=1)
    ledger(cloud, seed)
    queues(cloud, seed)


def end(cloud: Cloud) -> None:
    """From now on nothing fails."""
    cloud.inbox.faults()
    cloud.firestore.clear_faults()
    cloud.tasks.faults()


def ledger(cloud: Cloud, seed: int) -> None:
    """Let the ledger fail: a new server knows of no fault."""
    for number, fault in enumerate(LEDGER):
        cloud.firestore.fail(**fault, times=None, seed=seed * 1000 + number)


def queues(cloud: Cloud, seed: int) -> None:
    """Let the queues fail: a new server knows of no fault."""
    cloud.tasks.faults(seed=seed, **TASKS)
