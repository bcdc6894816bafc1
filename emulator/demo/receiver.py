"""A customer's end of the webhook: checks the signature, and counts what it was told and how often."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from standardwebhooks import Webhook, WebhookVerificationError
from typing_extensions import override

from emulator.demo.digests import SECRET


class Receiver(ThreadingHTTPServer):
    """Listens on this machine. Every tenth call is answered 500, as customers' servers do."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.events: Counter[str] = Counter()
        self.refused = 0
        self.calls = 0

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_address[1]}/hook"

    @override
    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing: a caller that is killed hangs up."""


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:  # the name is http.server's
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.calls += 1
        try:
            Webhook(SECRET).verify(body, dict(self.headers.items()))
        except WebhookVerificationError:
            self.server.refused += 1
            self.send_error(401)
            return
        if self.server.calls % 10 == 0:
            self.send_error(500)
            return
        self.server.events[self.headers["webhook-id"]] += 1
        self.send_response(204)
        self.end_headers()

    @override
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def receive() -> Iterator[Receiver]:
    """Listen as long as the context lasts."""
    receiver = Receiver()
    thread = Thread(target=receiver.serve_forever, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        receiver.shutdown()
        receiver.server_close()
        thread.join()
