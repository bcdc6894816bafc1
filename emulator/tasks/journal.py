"""Queues, tasks, tombstones, clock and key in a file, for a server that goes on where another, perhaps killed, has ended.

Each line is a JSON object of what is so from now on, by kind and name; null: there is no such thing any more. It is written
before the call that brought it about is answered. Counts, faults and the names of deleted queues are not kept. An attempt
under way at the end was none: its task is dispatched again, as Cloud Tasks may always do.
"""

import base64
import json
import os
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from google.cloud import tasks_v2

from emulator.tasks.answers import Answer
from emulator.tasks.queues import LiveTask
from emulator.tasks.state import State

QUEUE, TASK, TOMBSTONE, AHEAD, KEY = "queue", "task", "tombstone", "ahead", "key"
TIMES = (
    "created_at",
    "schedule_at",
    "first_dispatched_at",
    "last_scheduled_at",
    "last_dispatched_at",
    "last_answered_at",
)
COUNTS = ("number", "dispatches", "responses", "executions", "failures", "response_was_lost")


class Journal:
    """The file, written by calls on the event loop."""

    def __init__(self, path: Path) -> None:
        """Begin the file anew with what is left of it: what was done meanwhile, and half a line, is gone."""
        self.kept = _read(path)
        new = path.with_suffix(".new")
        lines = (_line({kind: {name: value}}) for kind, values in self.kept.items() for name, value in values.items())
        new.write_bytes(b"".join(lines))
        new.replace(path)
        self.ahead: float = self.kept.get(AHEAD, {}).get("seconds", 0.0)
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND)

    def queue(self, message: Any) -> None:
        """A queue has these settings and this state."""
        self._write(QUEUE, message.name, _text(message))

    def no_queue(self, name: str) -> None:
        """A queue was deleted."""
        self._write(QUEUE, name, None)

    def task(self, task: LiveTask) -> None:
        """A task waits."""
        self._write(TASK, task.name, _record(task))

    def no_task(self, name: str, free_at: datetime | None) -> None:
        """A task is done or deleted; its name may come back then, None: at once."""
        _append(self._file, {TASK: {name: None}, TOMBSTONE: {name: free_at and free_at.isoformat()}})

    @property
    def key(self) -> str:
        """The private key of the tokens; empty where there is none yet."""
        key: str = self.kept.get(KEY, {}).get("pem", "")
        return key

    def write_key(self, pem: str) -> None:
        """The tokens are signed with this key."""
        self._write(KEY, "pem", pem)

    def advance(self, seconds: float) -> None:
        """The clock was moved ahead."""
        self.ahead += seconds
        self._write(AHEAD, "seconds", self.ahead)

    def _write(self, kind: str, name: str, value: Any) -> None:
        _append(self._file, {kind: {name: value}})


def restore(journal: Journal, state: State) -> None:
    """Fill an empty state with what is kept, and have it written on."""
    state.clock.advance(timedelta(seconds=journal.ahead))
    for text in journal.kept.get(QUEUE, {}).values():
        message = tasks_v2.Queue.pb().FromString(base64.b64decode(text))
        paused = message.state  # creating it sets that anew
        state.create_queue(message).message.state = paused
    for name, free_at in journal.kept.get(TOMBSTONE, {}).items():
        state.queue(_queue_of(name)).bury(name, datetime.fromisoformat(free_at))
    for name, record in journal.kept.get(TASK, {}).items():
        state.queue(_queue_of(name)).add(_task(record))
    state.keep(journal)


def _read(path: Path) -> dict[str, dict[str, Any]]:
    kept: dict[str, dict[str, Any]] = {}
    for line in path.read_bytes().splitlines(keepends=True) if path.exists() else []:
        for kind, values in json.loads(line).items() if line.endswith(b"\n") else []:
            ours = kept.setdefault(kind, {})
            for name, value in values.items():
                ours.pop(name, None)
                if value is not None:
                    ours[name] = value  # behind the others: tombstones are kept in the order of their ends
    return kept


def _append(file: int, entry: Mapping[str, Any]) -> None:
    os.write(file, _line(entry))


def _line(entry: Mapping[str, Any]) -> bytes:
    return json.dumps(entry).encode() + b"\n"


def _queue_of(task_name: str) -> str:
    return task_name.partition("/tasks/")[0]


def _text(message: Any) -> str:
    return base64.b64encode(message.SerializeToString()).decode()


def _record(task: LiveTask) -> dict[str, Any]:
    answer = task.last_answer
    times = {name: time and time.isoformat() for name in TIMES for time in [getattr(task, name)]}
    return {
        "message": _text(task.message),
        "last_answer": answer and [answer.status, answer.responded, answer.retry_after.total_seconds()],
        **times,
        **{name: getattr(task, name) for name in COUNTS},
    }


def _task(record: Mapping[str, Any]) -> LiveTask:
    answer = record["last_answer"]
    times: dict[str, Any] = {name: record[name] and datetime.fromisoformat(record[name]) for name in TIMES}
    return LiveTask(
        message=tasks_v2.Task.pb().FromString(base64.b64decode(record["message"])),
        last_answer=answer and Answer(answer[0], answer[1], timedelta(seconds=answer[2])),
        **times,
        **{name: record[name] for name in COUNTS},
    )
