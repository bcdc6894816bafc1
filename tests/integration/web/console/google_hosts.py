"""Google's hosts, as firebase-admin reaches them: over TLS, through a proxy, with certificates of an authority of our own.

Keys to verify tokens by, an access token, a user's account, and session cookies; everything is really signed.
"""

import json
import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from google.auth import crypt, jwt
from typing_extensions import override

HOSTS = ("www.googleapis.com", "identitytoolkit.googleapis.com", "oauth2.googleapis.com")
KEY_ID = "firebase-key"
PEM = serialization.Encoding.PEM


def private_pem(key: Any) -> str:
    """A private key as files have it."""
    encoded: bytes = key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return encoded.decode()


def public_pem(key: Any) -> str:
    """A public key as Google's endpoints give it."""
    encoded: bytes = key.public_key().public_bytes(PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return encoded.decode()


@dataclass
class Google:
    """What the hosts know: the key that signs tokens, and the one account there is."""

    project: str
    key: rsa.RSAPrivateKey = field(default_factory=lambda: rsa.generate_private_key(65537, 2048))
    account: dict[str, Any] = field(default_factory=lambda: {"localId": "uid1"})
    cookies: list[str] = field(default_factory=list)

    def token(self, issuer: str = "securetoken.google.com", key: Any = None, **changes: Any) -> str:
        """An ID token of an operator who has just signed in, or what becomes of it by these changes."""
        now = int(time.time())
        claims: dict[str, Any] = {
            "iss": f"https://{issuer}/{self.project}",
            "aud": self.project,
            "sub": "uid1",
            "auth_time": now - 5,
            "iat": now - 5,
            "exp": now + 3600,
            "email": "ada@example.com",
            "email_verified": True,
            "operator": True,
        }
        signer = crypt.RSASigner(key or self.key, KEY_ID)  # type: ignore[no-untyped-call]
        encoded: bytes = jwt.encode(signer, claims | changes)  # type: ignore[no-untyped-call]
        return encoded.decode()

    def cookie(self, **changes: Any) -> str:
        """A session cookie of the same operator."""
        return self.token("session.firebase.google.com", **changes)

    def answer(self, path: str, body: bytes) -> tuple[int, object]:
        """What the hosts say, by the end of the path."""
        if path.endswith(("securetoken@system.gserviceaccount.com", "publicKeys")):
            return 200, {KEY_ID: public_pem(self.key)}
        if path.endswith("/token"):
            return 200, {"access_token": "t", "expires_in": 3600, "token_type": "Bearer"}
        if path.endswith("accounts:lookup"):
            return 200, {"users": [self.account]}
        if path.endswith(":createSessionCookie"):
            self.cookies.append(str(json.loads(body)["idToken"]))
            return 200, {"sessionCookie": self.cookie()}
        return 404, {}


def authority(folder: Path) -> ssl.SSLContext:
    """A certificate for all of the hosts, in a file for who is to trust it, and the context of a server that has it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "hosts of a test")])
    names = x509.SubjectAlternativeName([x509.DNSName(host) for host in HOSTS])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(x509.random_serial_number()).add_extension(names, critical=False)
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    made = made.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    trusted, kept = folder / "trusted.pem", folder / "key.pem"
    trusted.write_bytes(made.sign(key, hashes.SHA256()).public_bytes(PEM))
    kept.write_text(private_pem(key))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(trusted, kept)
    return context


def credentials(folder: Path, google: Google) -> Path:
    """The file of a service account."""
    path = folder / "credentials.json"
    account = {"type": "service_account", "project_id": google.project, "private_key_id": "k1", "client_id": "1"}
    account |= {"client_email": f"console@{google.project}.iam.gserviceaccount.com"}
    account |= {"private_key": private_pem(google.key), "token_uri": "https://oauth2.googleapis.com/token"}
    path.write_text(json.dumps(account))
    return path


class Proxied(BaseHTTPRequestHandler):
    """One connection to the proxy, which goes on as one to a host: TLS within what CONNECT has opened."""

    protocol_version = "HTTP/1.1"
    google: Google
    context: ssl.SSLContext

    def do_CONNECT(self) -> None:  # as the class finds it
        """Become the host."""
        self.send_response(200)
        self.end_headers()
        self.connection = self.context.wrap_socket(self.connection, server_side=True)
        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb")
        self.close_connection = False

    def do_GET(self) -> None:
        """Answer as the hosts do."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, said = self.google.answer(self.path, body)
        data = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_POST = do_GET  # noqa: N815

    @override
    def finish(self) -> None:
        self.rfile.close()
        self.connection.close()

    @override
    def log_message(self, *_args: object) -> None:
        """Say nothing."""


@contextmanager
def proxy(google: Google, context: ssl.SSLContext) -> Iterator[str]:
    """The address of the proxy behind which the hosts are."""
    handler = type("Handler", (Proxied,), {"google": google, "context": context})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
