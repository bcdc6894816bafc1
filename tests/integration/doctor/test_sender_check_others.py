"""The doctor's look at Resend and at an SMTP server: what is wrong there, and what to do; nothing is sent."""

import json
from typing import Any

import pytest

from emulator.inbox import DEFAULT_KEY, SMTP_USER, Inbox
from ledgermail.doctor import sender_check_resend, sender_check_smtp
from ledgermail.doctor.finding import Finding, Verdict
from tests.integration.doctor.conftest import Examine
from tests.integration.raw_server import answering, serving
from tests.integration.smtp_server import Action, Scripted
from tests.samples import settings

VERIFIED = {"name": "Example.com", "status": "verified"}


def at_resend(status: str, body: object, **changes: str) -> dict[str, Finding]:
    """What is found where Resend answers this."""
    said = body if isinstance(body, bytes) else json.dumps(body).encode()
    with serving(answering(f"HTTP/1.1 {status}\r\nContent-Length: {len(said)}\r\n\r\n".encode() + said)) as url:
        read = settings(**({"provider": "resend", "resend_url": url, "resend_key": "re_key"} | changes))
        return {finding.check: finding for finding in sender_check_resend.sender(read)}


@pytest.mark.parametrize(
    ("domains", "verdict", "said"),
    [
        ([VERIFIED], Verdict.OK, "example.com is verified"),
        ([{"name": "example.com", "status": "pending"}, VERIFIED], Verdict.OK, "is verified"),
        ([{"name": "example.com", "status": "not_started"}], Verdict.PROBLEM, "example.com is not started"),
        ([{"name": "other.example", "status": "verified"}], Verdict.PROBLEM, "example.com is not there"),
        ([], Verdict.PROBLEM, "is not there"),
        ([{"name": f"d{n}.example"} for n in range(100)], Verdict.UNSEEN, "more domains than are shown"),
        ([None, 1, {"status": "verified"}], Verdict.PROBLEM, "is not there"),
    ],
)
def test_the_domain_of_who_writes_must_be_verified_at_resend(domains: list[Any], verdict: Verdict, said: str) -> None:
    found = at_resend("200 OK", {"data": domains})
    assert found["key"].verdict is Verdict.OK
    assert found["sender"].verdict is verdict
    assert said in found["sender"].said


def test_a_key_that_may_only_send_is_as_it_should_be_and_shows_no_domains() -> None:
    found = at_resend("401 Unauthorized", {"name": "restricted_api_key", "message": "only send"})
    assert (found["key"].verdict, found["sender"].verdict) == (Verdict.OK, Verdict.UNSEEN)


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        ("401 Unauthorized", {"name": "missing_api_key"}, "does not accept it"),
        ("403 Forbidden", {"name": "invalid_api_key"}, "does not accept it"),
        ("400 Bad Request", {"name": "validation_error", "message": "API key is invalid"}, "does not accept it"),
        ("500 Oops", b"<html>", "answers 500"),
        ("200 OK", b"[" * 50_000, "answers 200"),
        ("200 OK", {"data": 1}, "answers 200"),
    ],
)
def test_a_key_that_resend_does_not_take_is_a_problem(status: str, body: object, said: str) -> None:
    (finding,) = at_resend(status, body).values()
    assert (finding.check, finding.verdict) == ("key", Verdict.PROBLEM)
    assert said in finding.said


def test_without_a_key_or_an_answer_of_resend_that_is_said() -> None:
    assert {finding.verdict for finding in at_resend("200 OK", {}, resend_key="").values()} == {Verdict.UNSEEN}
    (finding,) = at_resend("200 OK", {}, resend_url="http://127.0.0.1:1").values()
    assert (finding.check, finding.verdict) == ("resend", Verdict.PROBLEM)


def at_smtp(server: Scripted, **changes: str) -> Finding:
    """What is found at this server."""
    with serving(server) as url:
        own = {"provider": "smtp", "smtp_host": "localhost", "smtp_port": url.rpartition(":")[2], "smtp_tls": "none"}
        login = {"smtp_user": "mailer", "smtp_password": "sesame"}
        (finding,) = sender_check_smtp.sender(settings(**(own | login | changes)))
    assert "sesame" not in finding.line
    assert not server.mails
    return finding


def test_a_server_that_lets_us_write_is_well_and_gets_no_mail() -> None:
    server = Scripted()
    finding = at_smtp(server)
    assert finding.verdict is Verdict.OK
    assert server.commands() == ["EHLO", "AUTH", "MAIL", "QUIT"]


@pytest.mark.parametrize(
    ("step", "reply", "check", "to_do"),
    [
        ("CONNECT", b"554 no\r\n", "greeting", "a server for submission"),
        ("CONNECT", "cut", "greeting", "a server for submission"),
        ("EHLO", b"250 mail.example\r\n", "auth", "SMTP_USER"),
        ("AUTH", b"535 no\r\n", "auth", "SMTP_USER"),
        ("MAIL", b"550 not yours\r\n", "mail", "LEDGERMAIL_SENDER"),
    ],
)
def test_the_step_that_fails_is_named_with_what_to_do(step: str, reply: bytes | Action, check: str, to_do: str) -> None:
    finding = at_smtp(Scripted({step: reply}))
    assert (finding.check, finding.verdict) == (check, Verdict.PROBLEM)
    assert to_do in finding.to_do


def test_a_server_without_the_encryption_that_is_asked_for_is_a_problem() -> None:
    finding = at_smtp(Scripted({"STARTTLS": b"502 no\r\n"}), smtp_tls="starttls")
    assert (finding.check, finding.verdict) == ("starttls", Verdict.PROBLEM)
    assert "SMTP_TLS" in finding.to_do


def test_without_a_password_a_server_is_not_asked() -> None:
    assert at_smtp(Scripted(), smtp_password="").verdict is Verdict.UNSEEN


def test_the_doctor_asks_the_provider_in_use_and_misses_only_its_secret(
    examine: Examine, monkeypatch: pytest.MonkeyPatch, inbox: Inbox
) -> None:
    monkeypatch.delenv("LEDGERMAIL_SENDGRID_KEY")
    for name, value in {
        "PROVIDER": "smtp",
        "SMTP_HOST": "127.0.0.1",
        "SMTP_PORT": str(inbox.smtp_port),
        "SMTP_TLS": "none",
        "SMTP_USER": SMTP_USER,
        "SMTP_PASSWORD": DEFAULT_KEY,
    }.items():
        monkeypatch.setenv(f"LEDGERMAIL_{name}", value)
    assert examine() == (0, {})
    monkeypatch.delenv("LEDGERMAIL_SMTP_PASSWORD")
    code, found = examine()
    assert (code, set(found)) == (1, {"secret", "sender"})
    assert found["secret"][1] == "LEDGERMAIL_SMTP_PASSWORD is missing"
    assert inbox.mails() == []
