"""What is read from an answer of the provider: how long to wait, and its words. Whatever it says, nothing is raised."""

import gzip
import json
import zlib
from collections.abc import Callable, Mapping
from datetime import timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledgermail.clock import Clock
from ledgermail.delivering.content import Rendered
from ledgermail.delivering.eligibility import Recipient
from ledgermail.delivering.message import Message
from ledgermail.delivering.outcomes import Accepted, Ambiguous, Outcome, Rejected, Transient
from ledgermail.ledger.delivery import DETAIL_CHARS, Failure
from ledgermail.providers.provider_http import LONGEST_HOLD
from ledgermail.providers.provider_sendgrid import SendGrid
from tests.integration.raw_server import answering, serving
from tests.samples import LINK, NOW, settings

CONTENT = Rendered("A job", "<p>A job</p>", "A job")
MESSAGE = Message("u1_j1", "job-alert", Recipient("u1@example.com", "Ada"), CONTENT, LINK)
SECOND = timedelta(seconds=1)


def outcome(status: int, *headers: tuple[bytes, bytes], body: bytes = b"") -> Outcome:
    """What one attempt comes to when SendGrid says this."""
    lines = [
        b"HTTP/1.1 %d Said" % status,
        b"Content-Length: %d" % len(body),
        *(b": ".join(header) for header in headers),
    ]
    with serving(answering(b"\r\n".join([*lines, b"", body]))) as url:
        provider = SendGrid(settings(sendgrid_url=url), Clock(now=lambda: NOW))
        try:
            return provider.send(provider.prepare(MESSAGE), MESSAGE.delivery_id)
        finally:
            provider.close()


def hold(headers: Mapping[str, str], status: int = 429) -> timedelta | None:
    said = outcome(status, *((name.encode(), value.encode()) for name, value in headers.items()))
    assert isinstance(said, Transient)
    return said.hold


def words(status: int, body: bytes, kind: bytes = b"text/plain") -> str:
    said = outcome(status, (b"Content-Type", kind), body=body)
    assert not isinstance(said, Accepted)
    return said.failure.detail


@pytest.mark.parametrize(
    ("said", "held"),
    [
        ({"Retry-After": "7"}, 7 * SECOND),
        ({"Retry-After": "0"}, SECOND),
        ({"Retry-After": "7", "X-RateLimit-Reset": "9999999999"}, 7 * SECOND),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-7"}, None),
        ({"X-RateLimit-Reset": "1"}, SECOND),
        ({"X-RateLimit-Reset": "later"}, None),
        ({"X-RateLimit-Reset": ""}, None),
        ({}, None),
    ],
)
def test_how_long_everybody_is_asked_to_wait(said: dict[str, str], held: timedelta | None) -> None:
    assert hold(said) == held


@pytest.mark.parametrize(
    "said",
    [
        {"Retry-After": "86400"},
        {"Retry-After": "9" * 30},
        {"Retry-After": "9" * 400},
        {"X-RateLimit-Reset": "9999999999"},
        {"X-RateLimit-Reset": "1755331200000"},  # in milliseconds by mistake
        {"X-RateLimit-Reset": "9" * 400},
        {"Retry-After": "Fri, 31 Dec 2100 23:59:59 GMT"},
    ],
)
def test_nobody_is_made_to_wait_longer_than_an_hour(said: dict[str, str]) -> None:
    assert hold(said) == LONGEST_HOLD


def test_a_reset_is_a_moment_and_a_retry_after_may_be_one() -> None:
    in_ten_minutes = NOW + timedelta(minutes=10)
    assert hold({"X-RateLimit-Reset": str(int(in_ten_minutes.timestamp()))}) == timedelta(minutes=10)
    assert hold({"Retry-After": format_datetime(in_ten_minutes, usegmt=True)}) == timedelta(minutes=10)


def test_a_503_may_say_how_long_too() -> None:
    assert hold({"Retry-After": "120"}, 503) == 120 * SECOND


ANY_TEXT = st.text(st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f"))
NUMBERS = st.integers(min_value=0).map(str)


@given(retry_after=st.none() | NUMBERS | ANY_TEXT, reset=st.none() | NUMBERS | ANY_TEXT)
def test_no_header_takes_an_acceptance_away(retry_after: str | None, reset: str | None) -> None:
    said = {"X-Message-Id": "m1", "Retry-After": retry_after, "X-RateLimit-Reset": reset}
    headers = [(name.encode(), value.encode("latin-1")) for name, value in said.items() if value is not None]
    assert outcome(202, *headers) == Accepted("m1")


@given(body=st.binary(max_size=200), status=st.sampled_from([202, 400, 429, 500]))
def test_no_body_takes_an_outcome_away(body: bytes, status: int) -> None:
    kinds = {202: Accepted, 400: Rejected, 429: Transient, 500: Ambiguous}
    assert type(outcome(status, body=body)) is kinds[status]


@pytest.mark.parametrize(
    "body",
    [b"[" * 100_000, b"{}", b"[]", b"null", b'{"errors":null}', b'{"errors":[1]}', b'{"errors":{"a":1}}', b"\xff"],
)
def test_a_body_of_another_shape_is_still_a_refusal(body: bytes) -> None:
    assert isinstance(outcome(400, body=body), Rejected)


def test_the_words_are_those_of_the_errors() -> None:
    errors = [{"message": "Bad subject.", "field": "subject"}, {"message": "Bad content.", "field": None}]
    assert words(400, json.dumps({"errors": errors}).encode(), b"application/json") == "Bad subject.; Bad content."


def test_a_page_of_html_says_nothing_worth_keeping() -> None:
    assert words(413, b"<html><h1>413 Request Entity Too Large</h1></html>", b"text/html; charset=utf-8") == ""


def test_the_words_never_hold_an_address() -> None:
    said = 'We found a duplicate [zoe+x@example.com], and "o\'neil@example.com" <a@b.example>.'
    for answer in (json.dumps({"errors": [{"message": said}]}), said):
        assert "@" not in words(400, answer.encode())


def test_the_words_are_cut_however_many_there_are() -> None:
    assert len(words(500, b"word " * 1_000_000)) == DETAIL_CHARS
    assert words(500, b"a" * 1_000_000) == "a" * DETAIL_CHARS


def test_words_that_are_no_text_are_written_down_as_what_they_can_be() -> None:
    """JSON may hold half of a character, which Firestore refuses: the mail's outcome would be lost with it."""
    assert words(400, b'{"errors":[{"message":"a \\ud800 b"}]}') == "a ? b"


@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress])
def test_an_answer_that_somebody_packed_is_read(pack: Callable[[bytes], bytes]) -> None:
    said = outcome(400, (b"Content-Encoding", b"gzip"), body=pack(b'{"errors":[{"message":"Bad."}]}'))
    assert said == Rejected(Failure(category="rejected", code="400", detail="Bad."))
    assert outcome(202, (b"Content-Encoding", b"gzip"), (b"X-Message-Id", b"m1"), body=b"half") == Accepted("m1")


def test_a_packed_answer_that_is_huge_is_not_unpacked_whole() -> None:
    said = outcome(500, (b"Content-Encoding", b"gzip"), body=gzip.compress(b"a" * 50_000_000))
    assert isinstance(said, Ambiguous)
    assert said.failure.detail == "a" * DETAIL_CHARS
