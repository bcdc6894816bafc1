"""The edge to SendGrid over the wire: every way in which it answers, and every way in which it does not."""

import json
import logging
import socket
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from emulator.inbox import Inbox
from ledgermail.clock import Clock
from ledgermail.delivering.content import Rendered
from ledgermail.delivering.eligibility import Recipient
from ledgermail.delivering.message import Message
from ledgermail.delivering.outcomes import Accepted, Ambiguous, Misconfigured, Outcome, Rejected, Transient
from ledgermail.errors import ContentError
from ledgermail.ledger.delivery import Failure
from ledgermail.providers.provider_sendgrid import SendGrid
from tests.integration.raw_server import answering, read_request, resetting, serving, silent
from tests.samples import LINK, settings

CONTENT = Rendered("A job", "<p>A job</p>", "A job")
MESSAGE = Message("u1_j1", "job-alert", Recipient("u1@example.com", "Ada"), CONTENT, LINK)
HTML = b"<html><h1>Request Entity Too Large</h1></html>"


def answer(status: str, *headers: str, body: bytes = b"") -> bytes:
    """An HTTP answer, byte for byte."""
    head = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(head).encode() + body


def sent_to(url: str, message: Message = MESSAGE, **changes: str) -> Outcome:
    """What one attempt comes to at this address."""
    provider = SendGrid(settings(sendgrid_url=url, **({"provider_timeout": "10s"} | changes)), Clock())
    try:
        return provider.send(provider.prepare(message), message.delivery_id)
    finally:
        provider.close()


def meeting(said: bytes) -> Outcome:
    """What this answer makes of an attempt."""
    with serving(answering(said)) as url:
        return sent_to(url)


def failure(outcome: Outcome) -> Failure:
    assert not isinstance(outcome, Accepted)
    return outcome.failure


@pytest.mark.parametrize(
    "said",
    [
        answer("202 Accepted", "X-Message-Id: m1"),
        answer("200 OK", "X-Message-Id: m1", body=b"{}"),
        answer("202 Accepted", "X-Message-Id: m1", "Content-Type: application/json", body=b"not JSON"),
        answer("202 Accepted", "X-Message-Id: m1", "Content-Encoding: gzip", body=b"half"),
        b"HTTP/1.1 204 No Content\r\nX-Message-Id: m1\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" + answer("202 Accepted", "X-Message-Id: m1"),
    ],
)
def test_any_2xx_is_acceptance_whatever_else_it_says(said: bytes) -> None:
    assert meeting(said) == Accepted("m1")


def test_an_acceptance_without_a_reference_is_one() -> None:
    assert meeting(answer("202 Accepted")) == Accepted("")


@pytest.mark.parametrize(
    ("said", "kind", "code"),
    [
        (answer("400 Bad Request", body=b'{"errors":[{"message":"no"}]}'), Rejected, "400"),
        (answer("413 Payload Too Large", "Content-Type: text/html", body=HTML), Rejected, "413"),
        (answer("415 Unsupported", body=b"{"), Rejected, "415"),
        (answer("422 Unprocessable"), Rejected, "422"),
        (answer("401 Unauthorized"), Misconfigured, "401"),
        (answer("403 Forbidden"), Misconfigured, "403"),
        (answer("404 Not Found", "Content-Type: text/html", body=HTML), Misconfigured, "404"),
        (answer("301 Moved", "Location: http://127.0.0.1:1/"), Misconfigured, "301"),
        (answer("307 Temporary", "Location: http://127.0.0.1:1/"), Misconfigured, "307"),
        (answer("429 Too Many"), Transient, "429"),
        (answer("503 Unavailable", body=b"upstream connect error"), Transient, "503"),
        (answer("408 Timeout"), Ambiguous, "408"),
        (answer("500 Error", body=b"\xff\xfe"), Ambiguous, "500"),
        (answer("502 Bad Gateway"), Ambiguous, "502"),
        (answer("504 Timeout"), Ambiguous, "504"),
        (answer("599 Unheard of"), Ambiguous, "599"),
    ],
)
def test_every_other_answer_is_what_the_table_says(said: bytes, kind: type, code: str) -> None:
    outcome = meeting(said)
    assert type(outcome) is kind
    assert failure(outcome).code == code


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"HTTP/1.1 202 Acc",
        b"SMTP 220 hello\r\n\r\n",
        b"\x16\x03\x01\x00\xff",
        b"HTTP/1.1 202 Accepted\r\nContent-Length: 10\r\n\r\nhalf",
    ],
)
def test_an_answer_that_is_not_whole_may_hide_an_acceptance(said: bytes) -> None:
    assert isinstance(meeting(said), Ambiguous)


def test_silence_may_hide_an_acceptance_and_ends_with_our_own_time_limit() -> None:
    with serving(silent) as url:
        assert sent_to(url, provider_timeout="300ms") == Ambiguous(Failure(category="ambiguous", code="ReadTimeout"))


def test_a_reset_after_the_request_may_hide_an_acceptance() -> None:
    with serving(resetting) as url:
        assert sent_to(url) == Ambiguous(Failure(category="ambiguous", code="ReadError"))


def test_a_refused_connection_has_sent_nothing() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        outcome = sent_to(f"http://127.0.0.1:{taken.getsockname()[1]}")
    assert outcome == Transient(Failure(category="transient", code="ConnectError"))


def test_a_name_that_is_not_known_has_sent_nothing() -> None:
    assert sent_to("http://sendgrid.invalid") == Transient(Failure(category="transient", code="ConnectError"))


def test_a_connection_without_its_tls_has_sent_nothing() -> None:
    with serving(lambda connection: connection.sendall(answer("400 Plain HTTP"))) as url:
        outcome = sent_to(url.replace("http:", "https:"))
    assert outcome == Transient(Failure(category="transient", code="ConnectError"))


def test_a_key_that_is_no_header_value_never_leaves(inbox: Inbox) -> None:
    taken = settings(sendgrid_url=inbox.url)
    taken.secrets._values["SENDGRID_KEY"] = "SG.local\nX: y"
    provider = SendGrid(taken, Clock())
    assert provider.send(provider.prepare(MESSAGE), MESSAGE.delivery_id) == Misconfigured(
        Failure(category="misconfigured", code="LocalProtocolError")
    )
    provider.close()
    assert inbox.stats()["requests"] == 0


def test_what_is_sent_is_json_with_the_key_in_its_header_and_nowhere_else() -> None:
    requests: list[bytes] = []

    def talk(connection: socket.socket) -> None:
        requests.append(read_request(connection))
        connection.sendall(answer("202 Accepted"))

    with serving(talk) as url:
        sent_to(url)
    head, _, body = requests[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /v3/mail/send HTTP/1.1\r\n")
    assert b"\r\nAuthorization: Bearer SG.local" in head
    assert json.loads(body)["personalizations"][0]["to"] == [{"email": "u1@example.com", "name": "Ada"}]
    assert b"SG.local" not in body


def test_an_address_of_ipv6_and_its_path_are_named_as_http_has_them() -> None:
    requests: list[bytes] = []

    def talk(connection: socket.socket) -> None:
        requests.append(read_request(connection))
        connection.sendall(answer("202 Accepted"))

    with serving(talk, "::1") as url:
        assert sent_to(f"{url}/eu/") == Accepted("")
    assert requests[0].startswith(b"POST /eu/v3/mail/send HTTP/1.1\r\n")
    assert f"\r\nHost: {url.removeprefix('http://')}\r\n".encode() in requests[0]


# Against a server that checks as the real one does


@pytest.fixture
def quiet(inbox: Inbox) -> Iterator[Inbox]:
    """The SendGrid, that hangs for no longer than a test takes."""
    inbox.faults(hang_seconds=1, retry_after=7)
    yield inbox
    inbox.faults()


@pytest.mark.parametrize(
    ("fault", "kind", "kept"),
    [
        ("throttle", Transient, 0),
        ("unavailable", Transient, 0),
        ("server_error", Ambiguous, 0),
        ("error_after", Ambiguous, 1),
        ("bad_gateway", Ambiguous, 0),
        ("unauthorized", Misconfigured, 0),
        ("refuse", Rejected, 0),
        ("hang", Ambiguous, 0),
        ("hang_after", Ambiguous, 1),
        ("cut", Ambiguous, 1),
        ("reset", Ambiguous, 0),
    ],
)
def test_no_mail_that_was_kept_is_taken_for_one_that_was_not(fault: str, kind: type, kept: int, quiet: Inbox) -> None:
    quiet.fail_next(fault)
    assert type(sent_to(quiet.url, provider_timeout="500ms" if "hang" in fault else "10s")) is kind
    assert len(quiet.mails()) == kept


def test_a_throttled_answer_says_how_long(quiet: Inbox) -> None:
    quiet.fail_next("throttle")
    outcome = sent_to(quiet.url)
    assert isinstance(outcome, Transient)
    assert (outcome.hold, outcome.failure.category) == (timedelta(seconds=7), "throttled")


def test_a_wrong_key_and_a_sender_who_is_not_verified_are_no_fault_of_the_message(inbox: Inbox) -> None:
    assert failure(sent_to(inbox.url, sendgrid_key="SG.other")).code == "401"
    assert failure(sent_to(inbox.url, sender="alerts@elsewhere.example")).code == "403"


@pytest.mark.parametrize(
    "name", ["Lovelace, Ada", 'Ada "x" <a@b.example>; y', "Ada\r\nBcc: all@example.com", "Зоя 👩‍💻"]
)
@pytest.mark.parametrize("words", ["R&D <b>", "Ведущий " * 40, "{{ user }} -name- %s", "\u202eevil", "a" * 5000])
def test_hostile_words_are_taken(name: str, words: str, inbox: Inbox) -> None:
    content = Rendered(f"subject {words}".strip(), f"<p>{words}</p>", words)
    message = Message("u1_j1", "job-alert", Recipient("u1@xn--mnchen-3ya.example", name), content, LINK)
    assert isinstance(sent_to(inbox.url, message, archive="U1@xn--mnchen-3ya.example"), Accepted)


def test_a_mail_that_is_too_large_is_over(inbox: Inbox) -> None:
    huge = Message("u1_j1", "job-alert", Recipient("u1@example.com", ""), Rendered("A", "a" * 32_000_000, "a"), LINK)
    outcome = sent_to(inbox.url, huge, provider_timeout="20s")
    assert outcome == Rejected(Failure(category="rejected", code="413"))


def test_one_connection_carries_many_mails() -> None:
    connections: list[int] = []

    def talk(connection: socket.socket) -> None:
        connections.append(1)
        for _ in range(3):
            read_request(connection)
            connection.sendall(answer("202 Accepted"))

    with serving(talk) as url:
        provider = SendGrid(settings(sendgrid_url=url), Clock())
        assert [provider.send(provider.prepare(MESSAGE), MESSAGE.delivery_id) for _ in range(3)] == [Accepted("")] * 3
        provider.close()
    assert len(connections) == 1


def test_neither_key_nor_address_nor_words_are_ever_logged(
    inbox: Inbox, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    for fault in ("refuse", "throttle", "cut", "unauthorized"):
        inbox.fail_next(fault)
        sent_to(inbox.url)
    sent_to(inbox.url)
    said = caplog.text + "".join(capfd.readouterr())
    assert "httpcore" in said
    for secret in ("SG.local", "u1@example.com", "Ada", "A job"):
        assert secret not in said


def test_what_looks_like_a_key_is_refused_before_anything_is_claimed_for_it() -> None:
    provider = SendGrid(settings(), Clock())
    text = Rendered("A job", "<p>A job</p>", "SG.abc.def is what it says")
    with pytest.raises(ContentError, match="job-alert"):
        provider.prepare(replace(MESSAGE, content=text))
    provider.close()
