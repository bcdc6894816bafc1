"""The server's second door, over HTTP and for tests and operators: meter, faults, clock, reset, dead indexes.

GET    /meter?project=P        usage of one project; of all without
DELETE /meter?project=P        forget it
POST   /faults {...}           set a fault up, with the fields of ``faults.Fault``
DELETE /faults                 take every fault away
POST   /clock {"advance_seconds": n}
DELETE /documents?project=P    delete every document of one project
GET    /indexes/unused         index entries that served no query yet
"""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

from typing_extensions import override

from emulator.firestore.faults import Fault, Faults, InvalidFaultError
from emulator.firestore.indexes import Indexes
from emulator.firestore.meter import Meter

FARTHEST = timedelta(days=3660)  # far below the year 9999, where time ends


class BadRequestError(Exception):
    """The request makes no sense; the message names the field."""


class Control:
    """What can be asked of the server from outside, without HTTP."""

    def __init__(
        self,
        reset: Callable[[str], None],
        advance: Callable[[timedelta], datetime],
        meter: Meter,
        faults: Faults,
        indexes: Indexes | None,
    ) -> None:
        self._reset = reset
        self._advance = advance
        self._meter = meter
        self._faults = faults
        self._indexes = indexes

    def answer(self, request: str, parameters: dict[str, str], body: dict[str, Any]) -> Any:
        """Do what ``request`` ("GET /meter") says. Raises BadRequestError or InvalidFaultError, naming the field."""
        match request:
            case "GET /meter":
                return self._meter.snapshot(parameters.get("project")).to_json()
            case "DELETE /meter":
                self._meter.reset(parameters.get("project"))
            case "POST /faults":
                self._faults.add(Fault.from_json(body))
            case "DELETE /faults":
                self._faults.clear()
            case "POST /clock":
                return {"now": self._advance(timedelta(seconds=_seconds(body))).isoformat()}
            case "DELETE /documents":
                self._reset(_project(parameters))
            case "GET /indexes/unused":
                return self._indexes.unused() if self._indexes else []
            case _:
                raise BadRequestError(f"path: nothing answers {request}")
        return {}


def _project(parameters: dict[str, str]) -> str:
    if "project" not in parameters:
        raise BadRequestError("project: is missing")
    return parameters["project"]


def _seconds(body: dict[str, Any]) -> float:
    seconds = body.get("advance_seconds")
    if not isinstance(seconds, int | float) or not 0 <= seconds <= FARTHEST.total_seconds():
        raise BadRequestError(f"advance_seconds: {seconds!r} is not between 0 and {FARTHEST.total_seconds():.0f}")
    return seconds


class Handler(BaseHTTPRequestHandler):
    """Reads a request, has it answered, writes JSON."""

    def __init__(self, control: Control, *connection: Any) -> None:
        self._control = control
        super().__init__(*connection)  # answers the request before it returns

    def _handle(self) -> None:
        url = urlsplit(self.path)
        try:
            parameters = {key: values[-1] for key, values in parse_qs(url.query).items()}
            answer = self._control.answer(f"{self.command} {url.path}", parameters, self._body())
        except (BadRequestError, InvalidFaultError) as error:
            self._write(HTTPStatus.BAD_REQUEST, {"error": str(error)})
        else:
            self._write(HTTPStatus.OK, answer)

    do_GET = do_POST = do_DELETE = _handle  # noqa: N815 - the names http.server looks for

    def _body(self) -> dict[str, Any]:
        try:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        except ValueError as error:
            raise BadRequestError(f"body: is not JSON: {error}") from error
        if not isinstance(body, dict):
            raise BadRequestError("body: is not a JSON object")
        return body

    def _write(self, status: HTTPStatus, answer: Any) -> None:
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    @override
    def log_message(self, *_: Any) -> None:
        """Say nothing: what tests do to the server is no news."""


def serve(
    reset: Callable[[str], None],
    advance: Callable[[timedelta], datetime],
    meter: Meter,
    faults: Faults,
    indexes: Indexes | None,
) -> int:
    """Answer on a free loopback port, from a thread that ends with the process; return the port.

    ``reset`` deletes every document of a project, ``advance`` moves the clock; both are called from a thread of this server.
    """
    control = Control(reset, advance, meter, faults, indexes)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, control))
    Thread(target=server.serve_forever, name="control", daemon=True).start()
    return server.server_port
