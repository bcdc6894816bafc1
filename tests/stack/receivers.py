"""Servers of customers on this machine, well-behaved or not, with certificates of an authority of our own."""

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from typing_extensions import override

Write = Callable[[bytes], object]
Answer = Callable[[Write, Event], object]  # what to do with `write` until the test is over
DAY = timedelta(days=1)


@dataclass(frozen=True)
class Heard:
    """One request as it came."""

    path: str
    headers: Mapping[str, str]
    body: bytes


def says(status: str, head: str = "", body: str = "") -> Answer:
    """A whole answer at once."""
    text = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{head}\r\n{body}"
    return lambda write, _: write(text.encode())


class Receiver:
    """A server on a loopback address that records what it hears, and the names it was asked for in TLS."""

    def __init__(
        self, answer: Answer, context: ssl.SSLContext | None = None, host: str = "127.0.0.1", port: int = 0
    ) -> None:
        self.heard: list[Heard] = []
        self.names: list[str | None] = []
        self._over = Event()
        self._server = Quiet((host, port), _handler(answer, self.heard, self._over))
        if context is not None:
            context.sni_callback = lambda _socket, name, _context: self.names.append(name)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_port
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self) -> "Receiver":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class Quiet(ThreadingHTTPServer):
    """A server that takes it as it comes when a client has gone."""

    @override
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: that the client hangs up is what these tests are about."""


def _handler(answer: Answer, heard: list[Heard], over: Event) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            heard.append(Heard(self.path, dict(self.headers), body))
            answer(self.wfile.write, over)

        @override
        def log_message(self, format: str, *args: object) -> None:
            """Nothing to anybody."""

    return Handler


class Authority:
    """A certificate authority that nobody knows but who is told."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "An authority for tests")])
        self._certificate = self._signed(self._name, self._key.public_key(), x509.BasicConstraints(True, 0), DAY)
        self.file = folder / "authority.pem"
        self.file.write_text(_pem(self._certificate))

    def trusted(self) -> ssl.SSLContext:
        """What a client needs to trust this authority and no other."""
        return ssl.create_default_context(cadata=_pem(self._certificate))

    def server(self, name: str, valid: timedelta = DAY) -> ssl.SSLContext:
        """What a server of this name needs, with a certificate that was issued two days ago and is `valid` from now."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        alternative = x509.SubjectAlternativeName([x509.DNSName(name)])
        certificate = self._signed(subject, key.public_key(), alternative, valid)
        secret = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        file = self._folder / f"{certificate.serial_number}.pem"
        file.write_text(_pem(certificate) + secret.decode())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    def _signed(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey, extension: x509.ExtensionType, valid: timedelta
    ) -> x509.Certificate:
        now = datetime.now(UTC)
        builder = x509.CertificateBuilder(self._name, subject, key, x509.random_serial_number())
        builder = builder.not_valid_before(now - 2 * DAY).not_valid_after(now + valid)
        return builder.add_extension(extension, critical=True).sign(self._key, hashes.SHA256())


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
