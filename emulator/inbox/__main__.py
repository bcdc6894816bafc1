"""Run the SendGrid server with its inbox: ``python -m emulator.inbox --port 0``."""

import argparse
import socket
import threading
from contextlib import suppress

from flask import Flask
from typing_extensions import override
from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler

from emulator.clock import Clock
from emulator.inbox import DEFAULT_KEY, DEFAULT_VERIFIED, FULL_ACCESS, account, control, pages, sending
from emulator.inbox.account import Account
from emulator.inbox.faults import Faults, Plan
from emulator.inbox.mails import Mailbox
from emulator.process import announce, until_parent_ends


class Handler(WSGIRequestHandler):
    """A request handler that can leave a request unanswered, and writes no line for each: a demo sends thousands."""

    @override
    def connection_dropped(self, error: BaseException, environ: dict[str, object] | None = None) -> None:
        self.close_connection = True  # without an answer nothing else would, and the caller would wait

    @override
    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        pass


class Server(ThreadedWSGIServer):
    """A threaded server that lets a connection end in a reset where the application asked for it."""

    @override
    def shutdown_request(self, request: socket.socket | tuple[bytes, socket.socket]) -> None:
        # The polite end (FIN) must not go out before a reset: close at once when lingering is set.
        if isinstance(request, socket.socket) and request.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER):
            request.close()
        else:
            super().shutdown_request(request)


def create_app(of: Account, faults: Faults) -> Flask:
    """The whole server as one Flask application with an empty mailbox."""
    app = Flask(__name__)
    app.config["PROPAGATE_EXCEPTIONS"] = True  # a cut connection must reach the server, not become an answer
    app.json.sort_keys = False  # type: ignore[attr-defined] # of the default provider
    mailbox, clock = Mailbox(), Clock()
    app.register_blueprint(sending.blueprint(of, mailbox, faults, clock))
    app.register_blueprint(account.blueprint(of))
    app.register_blueprint(control.blueprint(mailbox, faults, clock))
    app.register_blueprint(pages.blueprint(mailbox))
    return app


def main() -> None:
    """Serve on loopback until the parent ends."""
    parser = argparse.ArgumentParser(prog="emulator.inbox", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--key", default=DEFAULT_KEY, help="the API key that is accepted")
    parser.add_argument("--verified", action="append", help="a verified address or domain; repeat for more")
    parser.add_argument("--scope", action="append", help="what the key may do; repeat for more")
    given = parser.parse_args()
    faults = Faults()
    verified = frozenset(name.lower() for name in given.verified or DEFAULT_VERIFIED)
    served = create_app(Account(given.key, verified, frozenset(given.scope or FULL_ACCESS)), faults)
    server = Server("127.0.0.1", given.port, served, Handler)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    announce(url=f"http://127.0.0.1:{server.server_port}")
    with suppress(KeyboardInterrupt):
        until_parent_ends()
    faults.use(Plan())  # what hangs ends now
    server.shutdown()
    serving.join()
    server.server_close()


if __name__ == "__main__":
    main()
