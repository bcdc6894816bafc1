"""One JSON line an event, in the shape that Cloud Logging reads: a dotted name and fields, never an address or a body."""

import json
import sys
from contextvars import ContextVar

# The trace of the request at hand, as Cloud Logging names it; set once per request.
trace: ContextVar[str] = ContextVar("trace", default="")


def log(event: str, /, severity: str = "INFO", **fields: object) -> None:
    """Write one event. `severity` is one of Cloud Logging's: INFO, WARNING, ERROR."""
    line: dict[str, object] = {"severity": severity, "message": event, "event": event, **fields}
    if trace.get():
        line["logging.googleapis.com/trace"] = trace.get()
    sys.stdout.write(json.dumps(line, default=str, ensure_ascii=False) + "\n")
    sys.stdout.flush()
