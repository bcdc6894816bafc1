"""One JSON line an event, in the shape that Cloud Logging reads: a dotted name and fields, never an address or a body.

`log_table.py` has every event and field. What looks like an address is masked here, as an error's words may quote one.
"""

import json
import re
import sys
from collections.abc import Callable
from contextvars import ContextVar
from threading import Event

# The trace of the request at hand, as Cloud Logging names it; set while it is served.
trace: ContextVar[str] = ContextVar("trace", default="")
_project = ""  # of this process
ADDRESS = re.compile(r"[^\s@<>()\[\]{}\"',;:=|]+@[^\s@<>()\[\]{}\"',;:=|]+")
MASK = "(address)"
AS_JSON = json.JSONEncoder(default=str, ensure_ascii=False).encode
_aside = Event()  # of the process, as parts log from threads of theirs


def of_project(project: str) -> None:
    """Say once which project the traces are of: without it Cloud Logging does not find a line's request."""
    global _project
    _project = project


def log(event: str, /, severity: str = "INFO", **fields: object) -> None:
    """Write one event. `severity` is one of Cloud Logging's: INFO, WARNING, ERROR."""
    line: dict[str, object] = {"severity": severity, "message": event, "event": event}
    line |= {name: masked(value) for name, value in fields.items()}
    if trace.get():
        line["logging.googleapis.com/trace"] = f"projects/{_project}/traces/{trace.get()}"
    if _aside.is_set() and severity == "INFO":
        return
    stream = sys.stderr if _aside.is_set() else sys.stdout
    stream.write(AS_JSON(line) + "\n")
    stream.flush()


def aside() -> Callable[[], None]:
    """Keep standard output for other words: what matters goes to standard error, INFO nowhere. Returns what ends it."""
    _aside.set()
    return _aside.clear


def masked(value: object) -> object:
    """The value, with a mask for each address in its text, however deep in lists and maps."""
    if isinstance(value, str):
        return ADDRESS.sub(MASK, value) if "@" in value else value
    if isinstance(value, dict):
        return {name: masked(item) for name, item in value.items()}
    return [masked(item) for item in value] if isinstance(value, list | tuple) else value
