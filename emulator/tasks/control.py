"""The control endpoints over HTTP: certificates, clock, faults, counts, reset."""

import asyncio
import json
import logging
from collections.abc import Callable
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

from typing_extensions import override

from emulator.tasks.dispatcher import Dispatcher
from emulator.tasks.faults import Faults
from emulator.tasks.oidc import TokenSigner
from emulator.tasks.state import State

_Endpoint = Callable[[dict[str, Any]], object]
log = logging.getLogger(__name__)


def start_control(
    state: State, dispatcher: Dispatcher, signer: TokenSigner, port: int, advanced: Callable[[float], None]
) -> str:
    """Serve the endpoints from a thread for as long as the process lives; return their base URL. Port 0 is a free one.
    ``advanced`` is told by how many seconds the clock was moved.

    Each endpoint runs on the event loop that calls this.
    """

    class Server(ThreadingHTTPServer):
        @override
        def handle_error(self, request: object, client_address: object) -> None:
            """Say nothing: a caller that was killed hangs up."""

    handler = _handler(_endpoints(state, dispatcher, signer, advanced), asyncio.get_running_loop())
    server = Server(("127.0.0.1", port), handler)
    Thread(target=server.serve_forever, name="control", daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"


def _handler(
    endpoints: dict[tuple[str, str], _Endpoint], loop: asyncio.AbstractEventLoop
) -> type[BaseHTTPRequestHandler]:
    async def run(endpoint: _Endpoint, body: dict[str, Any]) -> object:
        return endpoint(body)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # head and body are two writes; the second would wait 40 ms for an ACK

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            endpoint = endpoints.get((self.command, self.path))
            if endpoint is None:
                return self._answer(404, {"error": f"no {self.command} {self.path} here"})
            try:
                result = asyncio.run_coroutine_threadsafe(run(endpoint, json.loads(body or b"{}")), loop).result()
            except (ValueError, TypeError, KeyError) as error:
                return self._answer(400, {"error": str(error)})
            return self._answer(200, result)

        do_GET = do_POST = do_PUT = do_DELETE = _serve  # noqa: N815

        def _answer(self, status: int, body: object) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        @override
        def log_message(self, format: str, *args: object) -> None:
            log.debug(format, *args)

    return Handler


def _endpoints(
    state: State, dispatcher: Dispatcher, signer: TokenSigner, advanced: Callable[[float], None]
) -> dict[tuple[str, str], _Endpoint]:
    def advance(body: dict[str, Any]) -> object:
        now = state.clock.advance(timedelta(seconds=body["advance_seconds"]))
        advanced(body["advance_seconds"])
        dispatcher.clock_moved()
        return {"now": now.isoformat()}

    def set_faults(body: dict[str, Any]) -> object:
        state.faults = Faults(**body)
        return {}

    def reset(_: dict[str, Any]) -> object:
        dispatcher.abandon()
        state.reset()
        return {}

    return {
        ("GET", "/certs"): lambda _: signer.certs(),
        ("GET", "/jwks"): lambda _: signer.jwks(),
        ("GET", "/stats"): lambda _: state.counts(),
        ("POST", "/clock"): advance,
        ("PUT", "/faults"): set_faults,
        ("DELETE", "/faults"): lambda _: set_faults({}),
        ("DELETE", "/tasks"): reset,
    }
