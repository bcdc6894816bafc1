"""The queues of queues.toml: made or changed, never deleted, as a name is refused for days after that."""

import tomllib
from collections.abc import Mapping
from typing import Any

from deploy import ROOT
from deploy.step import Command, Expected, Step
from deploy.target import Target

QUEUES = ROOT / "deploy" / "queues.toml"
# key of queues.toml -> where Cloud Tasks shows it
SHOWN = {
    "max_dispatches_per_second": ("rateLimits", "maxDispatchesPerSecond"),
    "max_concurrent_dispatches": ("rateLimits", "maxConcurrentDispatches"),
    "max_attempts": ("retryConfig", "maxAttempts"),
    "min_backoff": ("retryConfig", "minBackoff"),
    "max_backoff": ("retryConfig", "maxBackoff"),
    "max_doublings": ("retryConfig", "maxDoublings"),
}


def declared() -> dict[str, Mapping[str, Any]]:
    """The queues by name."""
    return tomllib.loads(QUEUES.read_text("utf-8"))


def queues(target: Target) -> list[Step]:
    """Each queue with its rate, its concurrency and its few retries."""
    return [_queue(target, name, values) for name, values in declared().items()]


def _queue(target: Target, name: str, values: Mapping[str, Any]) -> Step:
    flags = [f"--{key.replace('_', '-')}={value}" for key, value in values.items()]
    describe = _tasks(target, "describe", name)
    return Step(
        title=f"queue {target.name(name)}",
        find=(*describe, "--format=value(name)"),
        create=_tasks(target, "create", name, *flags),
        update=_tasks(target, "update", name, *flags),
        expected=(
            Expected(
                command=(*describe, "--format=json"),
                values={("state",): "RUNNING"} | {SHOWN[key]: value for key, value in values.items()},
            ),
        ),
        fix="You need roles/cloudtasks.queueAdmin; a paused queue goes on with `gcloud tasks queues resume`.",
    )


def _tasks(target: Target, verb: str, name: str, *flags: str) -> Command:
    where = (f"--location={target.region}", f"--project={target.project}")
    return ("gcloud", "tasks", "queues", verb, target.name(name), *where, *flags)
