"""Operators who sign in by Firebase: really signed tokens, verified by firebase-admin over the wire; no other lets one in."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from http.cookies import SimpleCookie
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from werkzeug.test import TestResponse

from ledgermail.ledger.delivery import Status
from tests.integration.delivering import JOB, owed
from tests.integration.web.console.google_hosts import Google, authority, credentials, proxy
from tests.integration.web.console.operators import Operator

SIGN_IN = "https://staff.example.com/sign-in"
FROM_SIGN_IN = {"Origin": "https://staff.example.com", "Sec-Fetch-Site": "cross-site"}
HOUR = 3600


@pytest.fixture(autouse=True)
def google(local: None, project: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Google]:
    """Google's hosts, to which this process is led."""
    served = Google(project)
    with proxy(served, authority(tmp_path)) as url:
        monkeypatch.setenv("LEDGERMAIL_CONSOLE_AUTH", "firebase")
        monkeypatch.setenv("LEDGERMAIL_CONSOLE_SIGN_IN", SIGN_IN)
        monkeypatch.setenv("HTTPS_PROXY", url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1,localhost")
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "trusted.pem"))
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(credentials(tmp_path, served)))
        yield served


def by_token(operator: Operator, token: str) -> TestResponse:
    return operator.get("record", headers={"Authorization": f"Bearer {token}"})


def by_cookie(operator: Operator, cookie: str) -> TestResponse:
    return operator.get("record", headers={"Cookie": f"__session={cookie}"})


def test_an_operators_token_or_session_lets_them_in_by_name(operator: Operator, google: Google) -> None:
    for answer in (by_token(operator, google.token()), by_cookie(operator, google.cookie())):
        assert (answer.status_code, "Signed in as ada@example.com" in answer.text) == (200, True)
    assert "Signed in as uid1" in by_token(operator, google.token(email_verified=False)).text


def test_who_has_not_signed_in_is_led_to_where_that_is_done(operator: Operator) -> None:
    answer = operator.get("record")
    assert (answer.status_code, SIGN_IN in answer.text) == (401, True)


def test_who_is_signed_in_and_no_operator_is_not_let_in(operator: Operator, google: Google) -> None:
    for operator_claim in (False, "true", 1, None):
        assert by_token(operator, google.token(operator=operator_claim)).status_code == 403
        assert by_cookie(operator, google.cookie(operator=operator_claim)).status_code == 403


def test_any_other_token_is_refused(operator: Operator, google: Google) -> None:
    now = int(time.time())
    stranger = rsa.generate_private_key(65537, 2048)
    head, claims, signature = google.token().split(".")
    wrong = [
        "",
        "x.y.z",
        google.cookie(),  # a cookie is no ID token
        google.token(key=stranger),
        google.token(aud="other-project"),
        google.token(iss="https://securetoken.google.com/other-project"),
        google.token(exp=now - HOUR, iat=now - 2 * HOUR),
        google.token(iat=now + HOUR),
        google.token(sub=""),
        f"{head}.{claims}.",
        f"{head}.{claims}",
        f"{head}.{claims}.{signature[:-4]}AAAA",
    ]
    assert [by_token(operator, token).status_code for token in wrong] == [401] * len(wrong)
    assert by_cookie(operator, google.token()).status_code == 401  # and an ID token is no cookie


def test_who_is_disabled_or_revoked_is_out_at_once(operator: Operator, google: Google) -> None:
    token, cookie = google.token(), google.cookie()
    assert by_cookie(operator, cookie).status_code == 200
    google.account |= {"validSince": str(int(time.time()) + 60)}
    assert [by_token(operator, token).status_code, by_cookie(operator, cookie).status_code] == [401, 401]
    google.account |= {"validSince": "0", "disabled": True}
    assert [by_token(operator, token).status_code, by_cookie(operator, cookie).status_code] == [401, 401]


def test_the_sign_in_page_opens_a_session_that_no_script_and_no_other_site_can_use(
    operator: Operator, google: Google
) -> None:
    token = google.token()
    answer = operator.post("session", headers=FROM_SIGN_IN, idToken=token)
    assert (answer.status_code, "signed in as ada@example.com" in answer.text) == (200, True)
    assert google.cookies == [token]
    (cookie,) = SimpleCookie(answer.headers["Set-Cookie"]).values()
    assert (cookie.key, cookie["samesite"], cookie["path"]) == ("__session", "Strict", "/")
    assert cookie["secure"]
    assert cookie["httponly"]
    assert by_cookie(operator, cookie.value).status_code == 200


def test_no_session_is_opened_from_elsewhere_or_long_after_the_sign_in_or_for_no_operator(
    operator: Operator, google: Google
) -> None:
    elsewhere = [{}, {"Origin": "https://evil.example"}, {"Origin": "https://staff.example.com.evil.example"}]
    tried = [operator.post("session", headers=headers, idToken=google.token()) for headers in elsewhere]
    tried += [
        operator.post("session", headers=FROM_SIGN_IN, idToken=token)
        for token in ("", "x", google.token(auth_time=int(time.time()) - 600), google.token(operator=False))
    ]
    assert [answer.status_code for answer in tried] == [403, 403, 403, 401, 401, 401, 403]
    assert (google.cookies, [answer.headers.get("Set-Cookie") for answer in tried]) == ([], [None] * 7)


def test_what_an_operator_does_bears_their_name_and_a_form_of_our_own_host_alone_does_it(
    operator: Operator, google: Google
) -> None:
    operator.ground.delivery(owed(status=Status.UNKNOWN, doubted_at=datetime.now(UTC)))
    cookie = {"Cookie": f"__session={google.cookie()}"}
    page = operator.get("deliveries", JOB, "settle", headers=cookie)
    token = page.text.rpartition('name="token" value="')[2].partition('"')[0]
    path = ("deliveries", JOB, "settle")
    refused = operator.post(*path, headers={**cookie, "Origin": "http://localhost:8080"}, token=token)
    seen_elsewhere = {**cookie, "Origin": "https://support.example.com", "Sec-Fetch-Site": "same-origin"}  # by Hosting
    done = operator.post(*path, headers=seen_elsewhere, token=token, note="she has it")
    assert [refused.status_code, done.status_code] == [403, 303]
    assert [(e.who, e.action, e.note) for e in operator.audits()] == [("ada@example.com", "settle", "she has it")]
