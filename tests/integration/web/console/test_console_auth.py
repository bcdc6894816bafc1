"""Who is let in at the console, by IAM, by the Identity-Aware Proxy, and on one's own machine."""

import base64
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from google.auth import crypt, jwt
from google.auth.crypt.es256 import ES256Signer

from tests.integration.raw_server import answering, serving
from tests.integration.web.console.google_hosts import public_pem
from tests.integration.web.console.operators import Operator

AUDIENCE = "/projects/123456789012/locations/europe-west1/services/ledgermail-console"
IAP = "https://cloud.google.com/iap"
HEADER = "X-Goog-IAP-JWT-Assertion"
HOUR = 3600


def who(operator: Operator, **headers: str) -> str | int:
    """The name that a page is shown to, or the status of the answer that there is instead."""
    answer = operator.get("record", headers={name.replace("_", "-"): value for name, value in headers.items()})
    if answer.status_code != 200:
        return answer.status_code
    return answer.text.partition("Signed in as ")[2].partition(". ")[0]


# By IAM: what Cloud Run has checked


@pytest.fixture
def by_iam(local: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEDGERMAIL_CONSOLE_AUTH", "iam")


def checked(**claims: Any) -> str:
    """A token as Cloud Run hands it on."""
    payload = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()
    return f"Bearer e30.{payload}.SIGNATURE_REMOVED_BY_GOOGLE"


ADA = checked(email="ada@example.com", email_verified=True)


@pytest.mark.usefixtures("by_iam")
def test_iam_names_whom_cloud_run_has_checked(operator: Operator) -> None:
    assert who(operator, Authorization=ADA) == "ada@example.com"
    assert who(operator, X_Serverless_Authorization=ADA, Authorization=checked(email="x@y.z")) == "ada@example.com"
    for token in (checked(email="ada@example.com"), checked(), "Bearer x", "Bearer x.e.y", "bearer x.W10.y"):
        assert who(operator, Authorization=token) == "unknown"


@pytest.mark.usefixtures("by_iam")
def test_iam_lets_nobody_in_whom_nobody_has_checked(operator: Operator) -> None:
    assert who(operator) == 403
    assert who(operator, Authorization="Basic YWRhOmE=") == 403
    assert who(operator, Authorization="Bearer ") == 403


@pytest.mark.usefixtures("by_iam")
def test_an_unsigned_name_from_elsewhere_counts_for_nothing(operator: Operator) -> None:
    assert who(operator, X_Goog_Authenticated_User_Email="accounts.google.com:ada@example.com") == 403


# By IAP: what it has signed


@pytest.fixture
def key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


@pytest.fixture
def by_iap(local: None, key: ec.EllipticCurvePrivateKey, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Keys are fetched as IAP's are."""
    keys = json.dumps({"iap-key": public_pem(key)}).encode()
    with serving(answering(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(keys), keys))) as url:
        monkeypatch.setenv("LEDGERMAIL_CONSOLE_AUTH", "iap")
        monkeypatch.setenv("LEDGERMAIL_IAP_AUDIENCE", AUDIENCE)
        monkeypatch.setenv("LEDGERMAIL_IAP_CERTS_URL", url)
        yield


def assertion(key: Any, key_id: str = "iap-key", **changes: Any) -> str:
    """What IAP says of who calls, or what becomes of it by these changes."""
    now = int(time.time())
    claims = {"iss": IAP, "aud": AUDIENCE, "email": "ada@example.com", "sub": "1", "iat": now, "exp": now + 600}
    kind: Any = crypt.RSASigner if isinstance(key, rsa.RSAPrivateKey) else ES256Signer
    signed: bytes = jwt.encode(kind(key, key_id), claims | changes)  # type: ignore[no-untyped-call]
    return signed.decode()


@pytest.mark.usefixtures("by_iap")
def test_iap_names_whom_it_has_signed_for(operator: Operator, key: ec.EllipticCurvePrivateKey) -> None:
    assert who(operator, **{HEADER: assertion(key)}) == "ada@example.com"


@pytest.mark.usefixtures("by_iap")
def test_who_goes_around_iap_or_brings_another_assertion_is_refused(
    operator: Operator, key: ec.EllipticCurvePrivateKey
) -> None:
    now = int(time.time())
    head, claims, _ = assertion(key).split(".")
    unsigned = base64.urlsafe_b64encode(b'{"alg":"none","kid":"iap-key"}').rstrip(b"=").decode()
    wrong = [
        "",
        "a.b.c",
        assertion(ec.generate_private_key(ec.SECP256R1())),
        assertion(rsa.generate_private_key(65537, 2048)),
        assertion(key, "another-key"),
        assertion(key, aud="/projects/1/locations/europe-west1/services/another"),
        assertion(key, aud=""),
        assertion(key, iss="https://accounts.google.com"),
        assertion(key, iat=now - 2 * HOUR, exp=now - HOUR),
        assertion(key, iat=now + HOUR, exp=now + 2 * HOUR),
        assertion(key, email=None),
        assertion(key, email=""),
        f"{head}.{claims}.",
        f"{unsigned}.{claims}.",
    ]
    assert [who(operator, **{HEADER: one}) for one in wrong] == [403] * len(wrong)
    unsigned_name = {"X-Goog-Authenticated-User-Email": "accounts.google.com:ada@example.com", "Authorization": ADA}
    assert who(operator, **unsigned_name) == 403


# On one's own machine


def test_the_local_console_answers_to_the_names_of_this_machine_alone(operator: Operator) -> None:
    """A page elsewhere can have its own name point here, and would then be of the same origin."""
    for host in ("localhost:8080", "127.0.0.1:8080", "[::1]:8080", "localhost"):
        assert who(operator, Host=host) == "local"
    for host in ("evil.example", "evil.example:8080", "127.0.0.1.evil.example", "localhost.evil.example:8080"):
        assert who(operator, Host=host) == 403
