"""Names of queues and tasks, checked as production checks them and refused in its words."""

import re
import secrets

from emulator.tasks.refusal import InvalidArgumentError

_PROJECT, _LOCATION, _QUEUE = r"[A-Za-z0-9.:-]+", r"[a-z0-9-]+", r"[A-Za-z0-9-]{1,100}"
_PARENT_NAME = re.compile(rf"projects/{_PROJECT}/locations/{_LOCATION}")
_QUEUE_NAME = re.compile(rf"{_PARENT_NAME.pattern}/queues/{_QUEUE}")
_TASK_ID = re.compile(r"[A-Za-z0-9_-]{1,500}")


def check_parent(parent: str) -> None:
    """Raise InvalidArgumentError unless this is projects/P/locations/L."""
    if not _PARENT_NAME.fullmatch(parent):
        raise InvalidArgumentError("Invalid resource field value in the request.")


def check_queue_name(name: str, parent: str) -> None:
    """Raise InvalidArgumentError unless this names a queue of that parent."""
    if not _QUEUE_NAME.fullmatch(name):
        wanted = "projects/<PROJECT_ID>/locations/<LOCATION_ID>/queues/<QUEUE_ID>"
        raise InvalidArgumentError(f'Queue name must be formatted: "{wanted}".')
    if not name.startswith(parent + "/"):
        raise InvalidArgumentError(f"{name} must begin with {parent}.")


def check_task_name(name: str, queue: str) -> None:
    """Raise InvalidArgumentError unless this names a task of that queue."""
    named_queue, separator, task_id = name.partition("/tasks/")
    if not separator or not _QUEUE_NAME.fullmatch(named_queue):
        wanted = "projects/<PROJECT_ID>/locations/<LOCATION_ID>/queues/<QUEUE_ID>/tasks/<TASK_ID>"
        raise InvalidArgumentError(f'Task name must be formatted: "{wanted}"')
    if not _TASK_ID.fullmatch(task_id):
        raise InvalidArgumentError(
            f'Task ID "{task_id}" can contain only letters ([A-Za-z]), numbers ([0-9]), hyphens (-), or underscores '
            "(_). Task ID must between 1 and 500 characters."
        )
    if named_queue != queue:
        raise InvalidArgumentError(
            f"The queue name from request ('{queue}') must be the same as the queue name in the named task "
            f"('{named_queue}')."
        )


def new_task_name(queue: str) -> str:
    """A random name for a task that the client left unnamed; digits only, as production's are."""
    return f"{queue}/tasks/{secrets.randbelow(10**19):019d}"


def last_part(name: str) -> str:
    """The short id at the end of a resource name."""
    return name.rpartition("/")[2]


def queue_of(task_name: str) -> str:
    """The queue a task name belongs to."""
    return task_name.partition("/tasks/")[0]
