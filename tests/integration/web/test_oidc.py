"""Who may call an internal function: only a token that Google (here: the local Cloud Tasks) signed for us, for our account."""

import base64
import json
import socket
import time
from collections.abc import Iterator
from queue import Queue

import pytest
from google.auth import crypt, jwt

from emulator.tasks import CloudTasks
from emulator.tasks.oidc import ISSUER, TokenSigner
from ledgermail.app import app as app_of_process
from tests.integration.raw_server import read_request, serving
from tests.integration.web.conftest import Call
from tests.samples import ENVIRONMENT

AUDIENCE = "https://functions.example"
ACCOUNT = ENVIRONMENT["LEDGERMAIL_TASK_ACCOUNT"]
INTERNAL = ["scan", "deliver", "sweep", "prune", "status"]


@pytest.fixture(scope="module")
def signer() -> TokenSigner:
    """Signs as the local Cloud Tasks does."""
    return TokenSigner()


class Certificates:
    """Says these bytes to whoever fetches the certificates, and counts how often that is."""

    def __init__(self, said: bytes) -> None:
        self.said = said
        self.fetched = 0

    def __call__(self, connection: socket.socket) -> None:
        connection.recv(65536)
        self.fetched += 1
        connection.sendall(self.said)


@pytest.fixture(autouse=True)
def certificates(call: Call, signer: TokenSigner, monkeypatch: pytest.MonkeyPatch) -> Iterator[Certificates]:
    """The functions check their callers, against the signer's certificates."""
    certs = json.dumps(signer.certs()).encode()
    served = Certificates(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(certs), certs))
    monkeypatch.setenv("LEDGERMAIL_AUDIENCE", AUDIENCE)
    with serving(served) as url:
        checking_with(url, monkeypatch)
        yield served


def checking_with(certs_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the functions start anew, with these certificates."""
    monkeypatch.setenv("LEDGERMAIL_CERTS_URL", certs_url)
    app_of_process.cache_clear()


def status_of(call: Call, authorization: str | None, function: str = "deliver") -> int:
    headers = {} if authorization is None else {"Authorization": authorization}
    method = "GET" if function == "status" else "POST"
    return call(
        function, method, headers=headers, json=None if method == "GET" else {"delivery_id": "u1_j1"}
    ).status_code


@pytest.mark.parametrize("function", INTERNAL)
def test_a_token_for_us_from_our_account_is_let_in_and_none_is_not(
    function: str, call: Call, signer: TokenSigner
) -> None:
    let_in = {200, 503} if function == "status" else {200}  # whether the promise is kept is another matter
    assert status_of(call, f"Bearer {signer.token(ACCOUNT, AUDIENCE)}", function) in let_in
    assert status_of(call, None, function) == 403


def encoded(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


@pytest.mark.parametrize(("verified", "status"), [(True, 200), (False, 403), ("true", 403), (None, 403)])
def test_an_address_that_nobody_has_verified_lets_nobody_in(
    verified: object, status: int, call: Call, signer: TokenSigner
) -> None:
    now = int(time.time())
    claims = {"iss": ISSUER, "aud": AUDIENCE, "iat": now, "exp": now + 60, "email": ACCOUNT, "email_verified": verified}
    google = crypt.RSASigner.from_string(signer.pem(), "local-cloud-tasks")  # type: ignore[no-untyped-call]
    token = jwt.encode(google, claims).decode()  # type: ignore[no-untyped-call]
    assert status_of(call, f"Bearer {token}") == status


def test_any_other_token_is_refused_before_anything_is_read(call: Call, signer: TokenSigner) -> None:
    good = signer.token(ACCOUNT, AUDIENCE)
    head, claims, signature = good.split(".")
    stripped = {"alg": "none", "kid": "local-cloud-tasks"}
    for authorization in [
        "",
        "Bearer",
        "Bearer ",
        f"Basic {good}",
        good,
        f"Bearer {signer.token(ACCOUNT, AUDIENCE + '/deliver')}",
        f"Bearer {signer.token(ACCOUNT, '')}",
        f"Bearer {signer.token('other@demo.iam.gserviceaccount.com', AUDIENCE)}",
        f"Bearer {TokenSigner().token(ACCOUNT, AUDIENCE)}",
        f"Bearer {head}.{claims}.SIGNATURE_REMOVED_BY_GOOGLE",
        f"Bearer {head}.{claims}.",
        f"Bearer {head}.{claims}",
        f"Bearer {encoded(stripped)}.{claims}.",
        f"Bearer {encoded(stripped)}.{claims}.{signature}",
        f"Bearer {encoded([])}.{claims}.{signature}",
        f"Bearer {encoded({'alg': 'RS256', 'kid': ['x']})}.{claims}.{signature}",
        f"Bearer {encoded({'alg': 'RS256', 'kid': 'unknown'})}.{claims}.{signature}",
        f"Bearer {encoded({'alg': 'HS256', 'kid': 'local-cloud-tasks'})}.{claims}.{signature}",
        f"Bearer {head}.{encoded([])}.{signature}",
        f"Bearer {head}.{encoded({'email': ACCOUNT, 'email_verified': True})}.{signature}",
        "Bearer garbage",
        "Bearer a.b.c",
        "Bearer \xff.\xff.\xff",
        "Bearer " + "a" * 8000,
        f"Bearer {base64.urlsafe_b64encode(b'[' * 5000).decode()}.{claims}.{signature}",
    ]:
        assert status_of(call, authorization) == 403, authorization


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"])
def test_keys_that_cannot_be_fetched_let_nobody_in(
    said: bytes, call: Call, signer: TokenSigner, certificates: Certificates
) -> None:
    good, certificates.said = certificates.said, said
    authorization = f"Bearer {signer.token(ACCOUNT, AUDIENCE)}"
    assert status_of(call, authorization) == 403
    certificates.said = good
    assert status_of(call, authorization) == 200


def test_the_keys_are_fetched_once(call: Call, signer: TokenSigner, certificates: Certificates) -> None:
    good = f"Bearer {signer.token(ACCOUNT, AUDIENCE)}"
    assert [status_of(call, good) for _ in range(3)] == [200] * 3
    assert certificates.fetched == 1


def test_what_cloud_tasks_itself_brings_is_let_in(
    call: Call, tasks_server: CloudTasks, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    brought: Queue[bytes] = Queue()

    def target(connection: socket.socket) -> None:
        brought.put(read_request(connection))
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    parent = f"projects/{project}/locations/europe-west1"
    with serving(target) as url, tasks_server.client() as client:
        client.create_queue(request={"parent": parent, "queue": {"name": f"{parent}/queues/open"}})
        token = {"service_account_email": ACCOUNT, "audience": AUDIENCE}
        task = {"http_request": {"url": url, "body": b"{}", "oidc_token": token}}
        client.create_task(request={"parent": f"{parent}/queues/open", "task": task})
        request = brought.get(timeout=60).decode()
    authorization = next(line for line in request.split("\r\n") if line.lower().startswith("authorization:"))
    checking_with(tasks_server.certs_url, monkeypatch)
    assert status_of(call, authorization.partition(": ")[2]) == 200
