"""The edge to an SMTP server over the wire: every step at which it may say no, or say nothing, and what that means."""

import json
import logging
import socket
from email import message_from_bytes, policy

import pytest

from ledgermail.clock import Clock
from ledgermail.delivering.attachment import Attachment
from ledgermail.delivering.content import Rendered
from ledgermail.delivering.message import Message
from ledgermail.delivering.outcomes import Accepted, Ambiguous, Misconfigured, Outcome, Rejected, Transient
from ledgermail.ledger.delivery import Failure
from ledgermail.providers.provider_smtp import Smtp
from tests.integration.raw_server import serving
from tests.integration.smtp_server import Action, Scripted
from tests.samples import a_message, settings
from tests.stack.receivers import Authority

MESSAGE = a_message()
PLAIN = {"provider": "smtp", "smtp_tls": "none", "provider_timeout": "10s"}
LOGIN = {"smtp_user": "mailer", "smtp_password": "open sesame"}
BEFORE_THE_MAIL = ("CONNECT", "EHLO", "AUTH", "MAIL", "RCPT", "ARCHIVE RCPT", "DATA")


def sent(server: Scripted, message: Message = MESSAGE, authority: Authority | None = None, **changes: str) -> Outcome:
    """What one attempt at this server comes to."""
    with serving(server) as url:
        host = {"smtp_host": "localhost", "smtp_port": url.rpartition(":")[2]}
        read = settings(**(PLAIN | LOGIN | host | changes))
        provider = Smtp(read, Clock(), authority.trusted() if authority else None)
        return provider.send(provider.prepare(message), message.delivery_id)


def meeting(step: str, reply: bytes | Action) -> Outcome:
    """What this reply at a step makes of an attempt; with an archive."""
    seconds = "500ms" if reply == "hang" else "10s"
    return sent(Scripted({step: reply}), archive="archive@example.com", provider_timeout=seconds)


def failure(outcome: Outcome) -> Failure:
    assert not isinstance(outcome, Accepted)
    return outcome.failure


def test_a_mail_is_handed_over_with_its_envelope_and_the_archive_is_not_named_in_it() -> None:
    server = Scripted()
    assert sent(server, archive="archive@example.com") == Accepted("2.0.0 Ok: queued as 4F2")
    assert server.commands() == ["EHLO", "AUTH", "MAIL", "RCPT", "RCPT", "DATA", "QUIT"]
    (mail,) = server.mails
    assert server.lines[0] == "ehlo example.com"
    assert server.lines[2].startswith("mail FROM:<alerts@example.com> size=")
    assert server.lines[3:5] == ["rcpt TO:<u1@example.com>", "rcpt TO:<archive@example.com>"]
    read = message_from_bytes(mail, policy=policy.SMTP)
    assert (read["To"], read["Subject"]) == ("Ada <u1@example.com>", "A job")
    assert read["X-Ledgermail-Delivery"] == "u1_j1"
    assert b"archive" not in mail


@pytest.mark.parametrize(
    "text", ["\n.\nMAIL FROM:<x@y.example>\n", ".", "..\n.", "a\r.\rb", "\r\n.\r\nQUIT\r\n", "x" * 3000]
)
def test_no_text_ends_a_mail_early_or_becomes_a_command(text: str) -> None:
    server = Scripted()
    content = Rendered("A job", "<p>A job</p>", text, Attachment("a.csv", b"1\r\n.\r\n2\r\n", ""))
    assert isinstance(sent(server, a_message(content=content)), Accepted)
    assert server.commands() == ["EHLO", "AUTH", "MAIL", "RCPT", "DATA", "QUIT"]
    parts = list(message_from_bytes(server.mails[0], policy=policy.SMTP).walk())
    got = next(part.get_content() for part in parts if part.get_content_type() == "text/plain")
    assert got.split() == text.split()
    assert next(part.get_content() for part in parts if part.get_filename() == "a.csv").split() == ["1", ".", "2"]


@pytest.mark.parametrize(
    ("step", "reply", "kind"),
    [
        ("CONNECT", b"554 no SMTP service here\r\n", Misconfigured),
        ("EHLO", b"502 not known\r\n", Misconfigured),
        ("AUTH", b"535 5.7.8 bad credentials\r\n", Misconfigured),
        ("AUTH", b"454 4.7.0 try later\r\n", Transient),
        ("MAIL", b"550 5.7.1 sender not verified\r\n", Misconfigured),
        ("MAIL", b"530 5.7.0 authentication required\r\n", Misconfigured),
        ("MAIL", b"552 5.3.4 too large\r\n", Rejected),
        ("MAIL", b"451 4.3.0 try later\r\n", Transient),
        ("RCPT", b"550 5.1.1 no such user\r\n", Rejected),
        ("RCPT", b"450 4.2.1 greylisted\r\n", Transient),
        ("RCPT", b"550 5.7.1 Relaying denied\r\n", Transient),
        ("RCPT", b"554 5.7.1 <u1@example.com>: Relay access denied\r\n", Transient),
        ("RCPT", b"530 authentication required\r\n", Misconfigured),
        ("ARCHIVE RCPT", b"550 5.1.1 no such user\r\n", Misconfigured),
        ("ARCHIVE RCPT", b"450 greylisted\r\n", Transient),
        ("DATA", b"554 5.5.1 no valid recipients\r\n", Rejected),
        ("DATA", b"451 4.3.0 try later\r\n", Transient),
        ("BODY", b"550 5.7.1 looks like spam\r\n", Rejected),
        ("BODY", b"552 5.3.4 too large\r\n", Rejected),
        ("BODY", b"451 4.3.0 try later\r\n", Transient),
        ("BODY", b"299 done\r\n", Accepted),
        ("BODY", b"354 go on\r\n", Ambiguous),
        ("BODY", b"hello\r\n", Ambiguous),
        ("BODY", b"250" + b"x" * 9000, Ambiguous),
        ("MAIL", b"hello\r\n", Misconfigured),
        ("CONNECT", b"HTTP/1.1 400 Bad Request\r\n\r\n", Misconfigured),
        ("CONNECT", b"220" + b"x" * 9000, Misconfigured),
    ],
)
def test_each_no_is_what_the_table_says_of_its_step(step: str, reply: bytes, kind: type) -> None:
    assert type(meeting(step, reply)) is kind


@pytest.mark.parametrize("step", [*BEFORE_THE_MAIL, "BODY"])
def test_a_server_that_is_closing_is_left_alone_by_everybody_for_a_while(step: str) -> None:
    outcome = meeting(step, b"421 4.3.2 closing\r\n")
    assert isinstance(outcome, Transient)
    assert outcome.failure.category == "throttled"


@pytest.mark.parametrize("action", ["cut", "hang", "reset"])
@pytest.mark.parametrize("step", BEFORE_THE_MAIL)
def test_until_the_mail_leaves_nothing_was_sent_whatever_breaks(step: str, action: Action) -> None:
    assert isinstance(meeting(step, action), Transient)


@pytest.mark.parametrize("action", ["cut", "hang", "reset"])
@pytest.mark.parametrize("step", ["HALF", "BODY"])
def test_once_the_mail_has_begun_to_leave_silence_may_hide_an_acceptance(step: str, action: Action) -> None:
    outcome = meeting(step, action)
    assert isinstance(outcome, Ambiguous)
    assert outcome.failure.code == ("TimeoutError" if action == "hang" else "SMTPServerDisconnected")


@pytest.mark.parametrize("action", ["cut", "hang", "reset"])
def test_a_goodbye_that_fails_takes_no_acceptance_away(action: Action) -> None:
    assert meeting("QUIT", action) == Accepted("2.0.0 Ok: queued as 4F2")


def test_a_server_that_drips_for_ever_ends_with_our_own_time_limit() -> None:
    def drip(connection: socket.socket) -> None:
        while True:
            connection.sendall(b"220-and one more\r\n")

    with serving(drip) as url:
        short = PLAIN | {"provider_timeout": "300ms"}
        read = settings(**short, smtp_host="127.0.0.1", smtp_port=url.rpartition(":")[2])
        provider = Smtp(read, Clock())
        assert provider.send(provider.prepare(MESSAGE), "u1_j1") == Transient(
            Failure(category="transient", code="TimeoutError", detail="greeting")
        )


def test_a_refused_connection_and_a_name_that_is_not_known_have_sent_nothing() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        for host, code in (("127.0.0.1", "ConnectionRefusedError"), ("smtp.invalid", "gaierror")):
            provider = Smtp(settings(**PLAIN, smtp_host=host, smtp_port=str(taken.getsockname()[1])), Clock())
            outcome = provider.send(provider.prepare(MESSAGE), "u1_j1")
            assert outcome == Transient(Failure(category="transient", code=code, detail="connect"))


def test_a_server_that_lets_nobody_in_is_no_fault_of_the_message() -> None:
    for offered in (b"250 mail.example\r\n", b"250-mail.example\r\n250 AUTH XOAUTH2\r\n"):
        assert failure(meeting("EHLO", offered)).code == "SMTPNotSupportedError"
        assert isinstance(meeting("EHLO", offered), Misconfigured)


def test_who_has_no_account_there_does_not_log_in() -> None:
    server = Scripted()
    assert isinstance(sent(server, smtp_user=""), Accepted)
    assert "AUTH" not in server.commands()


# TLS


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.mark.parametrize("implicit", [False, True])
def test_the_password_and_the_mail_go_over_tls(implicit: bool, authority: Authority) -> None:
    server = Scripted(context=authority.server("localhost"), implicit=implicit)
    tls = "implicit" if implicit else "starttls"
    assert isinstance(sent(server, authority=authority, smtp_tls=tls), Accepted)
    begin = ["EHLO"] if implicit else ["EHLO", "STARTTLS", "EHLO"]
    assert server.commands() == [*begin, "AUTH", "MAIL", "RCPT", "DATA", "QUIT"]


@pytest.mark.parametrize("implicit", [False, True])
@pytest.mark.parametrize("trusted", [False, True])
def test_a_server_that_is_not_who_it_says_gets_neither_password_nor_mail(
    implicit: bool, trusted: bool, authority: Authority
) -> None:
    server = Scripted(context=authority.server("elsewhere.example" if trusted else "localhost"), implicit=implicit)
    tls = "implicit" if implicit else "starttls"
    outcome = sent(server, authority=authority if trusted else None, smtp_tls=tls)
    assert failure(outcome).code == "SSLCertVerificationError"
    assert isinstance(outcome, Transient)
    assert not {"AUTH", "MAIL"} & set(server.commands())


@pytest.mark.parametrize("reply", [b"502 not known\r\n", b"454 not now\r\n"])
def test_without_its_tls_nothing_is_said_in_the_open(reply: bytes) -> None:
    server = Scripted({"STARTTLS": reply})
    assert isinstance(sent(server, smtp_tls="starttls"), Misconfigured if reply.startswith(b"5") else Transient)
    assert server.commands() == ["EHLO", "STARTTLS", "QUIT"]


def test_what_was_whispered_before_the_encryption_is_not_heard(authority: Authority) -> None:
    """Behind the last reply in the open, an eavesdropper has put one that offers no login."""
    server = Scripted({"STARTTLS": b"220 go on\r\n250 mail.example\r\n"}, context=authority.server("localhost"))
    outcome = sent(server, authority=authority, smtp_tls="starttls")
    assert isinstance(outcome, Accepted)
    assert "AUTH" in server.commands()


def test_neither_password_nor_address_nor_words_are_ever_logged_or_kept(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    outcomes = [
        meeting("RCPT", b"550 5.1.1 <u1@example.com> no such user\r\n"),
        meeting("AUTH", b"535 mailer@example.com is not known\r\n"),
        meeting("BODY", "cut"),
        meeting("BODY", b"250 queued for u1@example.com\r\n"),
    ]
    said = caplog.text + "".join(capfd.readouterr()) + repr(outcomes)
    for secret in ("sesame", "u1@example.com", "mailer@example.com", "Ada", "A job"):
        assert secret not in said


def test_the_request_says_to_whom_and_holds_no_key() -> None:
    provider = Smtp(settings(**PLAIN, **LOGIN, smtp_host="localhost", archive="archive@example.com"), Clock())
    request = provider.prepare(MESSAGE)
    assert json.loads(request)["to"] == ["u1@example.com", "archive@example.com"]
    assert b"sesame" not in request
