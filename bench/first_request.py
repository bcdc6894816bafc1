"""One cold start: `python -m bench.first_request FUNCTION SOURCE METHOD BODY AGAIN` starts a function and asks it twice.

HIDDEN in the environment names the packages that a deployed function has not. It prints, as one JSON line: when it answered
(on the machine's monotonic clock, which the parent read before it started this), the processor seconds until then, the most
memory it had, the answer's status; and what the second answer, to the body AGAIN, took. A process of its own each time, with
nothing imported before functions-framework, as in a fresh instance; only the web server in front of it is left out.
"""

import os
import sys
from typing import Any


def main() -> None:
    """Serve one request in this process."""
    function, source, method, body, again = sys.argv[1:]
    hidden: dict[str, Any] = dict.fromkeys(os.environ["HIDDEN"].split())
    sys.modules.update(hidden)  # None: as if it were not installed
    import functions_framework

    create_app: Any = functions_framework.create_app
    client = create_app(target=function, source=source).test_client()

    def ask(body: str) -> Any:
        return client.open("/", method=method, data=body or None, content_type="application/json").status_code

    status = ask(body)

    import json
    import re
    import resource
    import time
    from pathlib import Path

    answered = time.monotonic()
    used = resource.getrusage(resource.RUSAGE_SELF)
    peak = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text("ascii"))
    begun = time.monotonic()
    ask(again)
    said = {
        "answered": answered,
        "again": time.monotonic() - begun,
        "cpu": used.ru_utime + used.ru_stime,
        "megabytes": int(peak[1]) / 1024 if peak else 0,  # getrusage's is at least the parent's
        "status": status,
    }
    sys.stderr.write(json.dumps(said) + "\n")


if __name__ == "__main__":
    main()
