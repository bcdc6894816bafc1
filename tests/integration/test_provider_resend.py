"""The edge to Resend over the wire: every answer, none at all, and a key by which a repeated request is recognised."""

import gzip
import logging
import socket
from collections.abc import Iterator
from datetime import timedelta

import pytest

from emulator import inbox as local_inbox
from emulator.inbox import RESEND_KEY, Inbox
from ledgermail.clock import Clock
from ledgermail.delivering.message import Message
from ledgermail.delivering.outcomes import Accepted, Ambiguous, Misconfigured, Outcome, Rejected, Transient
from ledgermail.ledger.delivery import Failure
from ledgermail.providers.provider_http import LONGEST_HOLD
from ledgermail.providers.provider_resend import Resend
from tests.integration.raw_server import answering, read_request, resetting, serving, silent
from tests.samples import a_message, settings

MESSAGE = a_message()
HOUR = 3600


@pytest.fixture(scope="module")
def inbox_server() -> Iterator[Inbox]:
    """An inbox of these tests' own: they move its clock."""
    server = local_inbox.start()
    yield server
    server.stop()


def sent_to(url: str, message: Message = MESSAGE, **changes: str) -> Outcome:
    """What one attempt comes to at this address."""
    own = {"provider": "resend", "resend_key": RESEND_KEY, "provider_timeout": "10s"}
    provider = Resend(settings(resend_url=url, **(own | changes)), Clock())
    try:
        return provider.send(provider.prepare(message), message.delivery_id)
    finally:
        provider.close()


def meeting(status: str, body: bytes = b"", *headers: str) -> Outcome:
    """What this answer makes of an attempt."""
    head = "\r\n".join([f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""])
    with serving(answering(head.encode() + body)) as url:
        return sent_to(url)


def test_a_refusal_that_says_it_was_sent_before_says_so_packed_too() -> None:
    packed = gzip.compress(b'{"name":"invalid_idempotent_request","message":"x"}')
    assert meeting("409 Conflict", packed, "Content-Encoding: gzip") == Accepted("")


def failure(outcome: Outcome) -> Failure:
    assert not isinstance(outcome, Accepted)
    return outcome.failure


@pytest.mark.parametrize(
    ("body", "reference"),
    [(b'{"id":"49a3"}', "49a3"), (b"", ""), (b"[]", ""), (b'{"id":7}', ""), (b"\xff", ""), (b'{"id":"\\ud800"}', "?")],
)
def test_any_2xx_is_acceptance_whatever_else_it_says(body: bytes, reference: str) -> None:
    assert meeting("200 OK", body) == Accepted(reference)


def test_a_mail_that_an_earlier_attempt_has_brought_there_in_other_words_is_there() -> None:
    """Only what has been sent is kept under a key; what differs is what changed meanwhile: a template, a sender."""
    assert meeting("409 Conflict", b'{"name":"invalid_idempotent_request","message":"other payload"}') == Accepted("")


def test_an_earlier_attempt_that_is_under_way_may_yet_be_accepted() -> None:
    assert isinstance(meeting("409 Conflict", b'{"name":"concurrent_idempotent_requests"}'), Ambiguous)


@pytest.mark.parametrize("body", [b'{"name":"something_else"}', b"", b'{"name":["invalid_idempotent_request"]}'])
def test_a_conflict_that_nobody_has_heard_of_is_no_acceptance(body: bytes) -> None:
    assert isinstance(meeting("409 Conflict", body), Misconfigured)


def test_what_an_error_says_is_kept_without_addresses() -> None:
    body = b'{"statusCode":422,"name":"validation_error","message":"Invalid `to` field: u1@example.com"}'
    assert meeting("422 Unprocessable", body) == Rejected(
        Failure(category="rejected", code="422 validation_error", detail="Invalid `to` field: <address>")
    )


@pytest.mark.parametrize(
    ("name", "headers", "held"),
    [
        ("rate_limit_exceeded", ["Retry-After: 7"], timedelta(seconds=7)),
        ("rate_limit_exceeded", [], None),
        ("daily_quota_exceeded", ["Retry-After: 1"], LONGEST_HOLD),
        ("monthly_quota_exceeded", [], LONGEST_HOLD),
    ],
)
def test_how_long_everybody_is_asked_to_wait(name: str, headers: list[str], held: timedelta | None) -> None:
    outcome = meeting("429 Too Many", f'{{"name":"{name}"}}'.encode(), *headers)
    assert isinstance(outcome, Transient)
    assert (outcome.hold, outcome.failure.category) == (held, "throttled")


def test_silence_and_a_cut_may_hide_an_acceptance() -> None:
    for talk, code in ((silent, "ReadTimeout"), (resetting, "ReadError"), (read_request, "RemoteProtocolError")):
        with serving(talk) as url:  # type: ignore[arg-type]
            outcome = sent_to(url, provider_timeout="300ms" if talk is silent else "10s")
            assert outcome == Ambiguous(Failure(category="ambiguous", code=code))


def test_where_nobody_answers_nothing_was_sent() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        for url in (f"http://127.0.0.1:{taken.getsockname()[1]}", "http://resend.invalid"):
            assert sent_to(url) == Transient(Failure(category="transient", code="ConnectError"))


# Against a server that checks, and remembers, as the real one does


def test_a_mail_is_taken_with_its_delivery(inbox: Inbox) -> None:
    outcome = sent_to(inbox.resend_url, sender_name="Job Alerts", archive="archive@example.com")
    assert isinstance(outcome, Accepted)
    assert outcome.reference
    assert inbox.copies() == {"u1_j1": 1}


@pytest.mark.parametrize("fault", ["cut", "hang_after", "error_after"])
def test_a_lost_answer_is_asked_for_again_and_the_mail_is_there_once(fault: str, inbox: Inbox) -> None:
    inbox.faults(hang_seconds=1)
    inbox.fail_next(fault)
    assert isinstance(sent_to(inbox.resend_url, provider_timeout="500ms" if "hang" in fault else "10s"), Ambiguous)
    outcomes = {sent_to(inbox.resend_url) for _ in range(3)}
    assert [type(outcome) for outcome in outcomes] == [Accepted]
    assert inbox.copies() == {"u1_j1": 1}


def test_two_deliveries_with_one_text_are_two_mails(inbox: Inbox) -> None:
    for delivery_id in ("u1_j1", "u1_j2"):
        assert isinstance(sent_to(inbox.resend_url, a_message(delivery_id=delivery_id)), Accepted)
    assert inbox.copies() == {"u1_j1": 1, "u1_j2": 1}


def test_a_mail_that_changed_meanwhile_is_not_sent_beside_the_first(inbox: Inbox) -> None:
    inbox.fail_next("cut")
    sent_to(inbox.resend_url)
    assert sent_to(inbox.resend_url, sender_name="Another Name") == Accepted("")
    assert inbox.copies() == {"u1_j1": 1}


def test_an_id_too_long_for_a_key_is_recognised_all_the_same(inbox: Inbox) -> None:
    long = a_message(delivery_id="u" * 190 + "_" + "j" * 190)
    assert sent_to(inbox.resend_url, long) == sent_to(inbox.resend_url, long)
    assert list(inbox.copies().values()) == [1]


def test_after_a_day_the_key_is_forgotten(inbox: Inbox) -> None:
    """Why the policy stops to count on it an hour before."""
    sent_to(inbox.resend_url)
    inbox.advance(23 * HOUR)
    assert isinstance(sent_to(inbox.resend_url), Accepted)
    assert inbox.copies() == {"u1_j1": 1}
    inbox.advance(2 * HOUR)
    assert isinstance(sent_to(inbox.resend_url), Accepted)
    assert inbox.copies() == {"u1_j1": 2}


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("throttle", Transient),
        ("unavailable", Transient),
        ("server_error", Ambiguous),
        ("bad_gateway", Ambiguous),
        ("unauthorized", Misconfigured),
        ("refuse", Rejected),
        ("reset", Ambiguous),
    ],
)
def test_what_goes_wrong_there_is_what_the_table_says_and_leaves_the_key_free(
    fault: str, kind: type, inbox: Inbox
) -> None:
    inbox.fail_next(fault)
    assert type(sent_to(inbox.resend_url)) is kind
    assert inbox.copies() == {}
    assert isinstance(sent_to(inbox.resend_url), Accepted)


def test_a_wrong_key_and_a_sender_who_is_not_verified_are_no_fault_of_the_message(inbox: Inbox) -> None:
    assert isinstance(sent_to(inbox.resend_url, resend_key="re_other"), Misconfigured)
    assert isinstance(sent_to(inbox.resend_url, sender="alerts@elsewhere.example"), Misconfigured)


def test_neither_key_nor_address_nor_words_are_ever_logged(
    inbox: Inbox, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    for fault in ("refuse", "throttle", "cut", "unauthorized"):
        inbox.fail_next(fault)
        sent_to(inbox.resend_url)
    said = caplog.text + "".join(capfd.readouterr())
    assert "httpcore" in said
    for secret in (RESEND_KEY, "u1@example.com", "Ada", "A job"):
        assert secret not in said
