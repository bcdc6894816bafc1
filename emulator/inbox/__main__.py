"""Run SendGrid, Resend and SMTP with their inbox: ``python -m emulator.inbox --port 0``."""

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
from emulator.inbox.events import control as events
from emulator.inbox.events.outbox import Outbox
from emulator.inbox.events.plan import read_plan
from emulator.inbox.events.webhook import Webhook
from emulator.inbox.faults import Plan
from emulator.inbox.resend import sending as resend
from emulator.inbox.shared import Shared
from emulator.inbox.smtp.relay import Relay
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


def create_app(shared: Shared, webhook: Webhook) -> Flask:
    """Everything that speaks HTTP, as one Flask application."""
    app = Flask(__name__)
    app.config["PROPAGATE_EXCEPTIONS"] = True  # a cut connection must reach the server, not become an answer
    app.json.sort_keys = False  # type: ignore[attr-defined] # of the default provider
    app.register_blueprint(sending.blueprint(shared))
    app.register_blueprint(resend.blueprint(shared))
    app.register_blueprint(account.blueprint(shared.account))
    app.register_blueprint(control.blueprint(shared))
    app.register_blueprint(events.blueprint(shared, webhook.start))
    app.register_blueprint(pages.blueprint(shared))
    return app


def main() -> None:
    """Serve on loopback until the parent ends."""
    given = _given()
    verified = frozenset(name.lower() for name in given.verified or DEFAULT_VERIFIED)
    clock = Clock()
    outbox = Outbox(clock)
    shared = Shared(Account(given.key, verified, frozenset(given.scope or FULL_ACCESS)), clock, outbox)
    webhook = Webhook(outbox, clock)
    if given.events_url:
        outbox.use(read_plan({"url": given.events_url}))
        webhook.start()
    server = Server("127.0.0.1", given.port, create_app(shared, webhook), Handler)
    relay = Relay(given.smtp_port, shared)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    url = f"http://127.0.0.1:{server.server_port}"
    announce(url=url, smtp_port=str(relay.port), events_key=webhook.public_key)
    with suppress(KeyboardInterrupt):
        until_parent_ends()
    shared.faults.use(Plan())  # what hangs ends now
    webhook.stop()
    relay.stop()
    server.shutdown()
    serving.join()
    server.server_close()


def _given() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="emulator.inbox", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="of SendGrid, Resend and the inbox; 0: any free one")
    parser.add_argument("--smtp-port", type=int, default=0, help="0: any free one")
    parser.add_argument("--key", default=DEFAULT_KEY, help="the SendGrid API key that is accepted")
    parser.add_argument("--verified", action="append", help="a verified address or domain; repeat for more")
    parser.add_argument("--scope", action="append", help="what the SendGrid key may do; repeat for more")
    parser.add_argument("--events-url", help="where SendGrid's events are posted; without it, nowhere yet")
    return parser.parse_args()


if __name__ == "__main__":
    main()
