"""A webhook to servers that drip, flood, or never end: one time limit holds for all of it."""

import socket
from collections.abc import Callable
from datetime import timedelta
from threading import Event

import pytest

from ledgermail.delivering.outcomes import Transient
from ledgermail.ledger.delivery import Failure
from ledgermail.webhooks.egress import LOOPBACK
from tests.samples import telling
from tests.stack.receivers import Answer, Authority, Receiver, Write
from tests.stack.telling import ACCEPTED, SECRET, TOLD, Names, tell

SOON = timedelta(milliseconds=300)  # short, as it is what these tests are about
TIMEOUTS = {"ReadTimeout", "ConnectTimeout"}  # on a busy machine, connecting may be what takes too long


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def dripping(start: bytes, drop: bytes) -> Answer:
    """An answer that begins so and then comes in drops, for ever."""

    def answer(write: Write, over: Event) -> None:
        write(start)
        while not over.wait(0.02):
            write(drop)

    return answer


def endless(start: bytes, piece: bytes) -> Answer:
    """An answer that never ends, as fast as it can."""

    def answer(write: Write, over: Event) -> None:
        write(start)
        while not over.is_set():
            write(piece * 1000)

    return answer


@pytest.mark.parametrize(
    ("start", "drop"),
    [
        (b"", b""),
        (b"", b"H"),
        (b"HTTP/1.1 200 OK\r\nX-Long: ", b"a"),
        (b"HTTP/1.1 200 OK\r\n", b"X-More: a\r\n"),
        (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    ],
    ids=["silence", "status", "header", "headers", "early hints"],
)
def test_a_server_that_drips_holds_nobody_past_the_time_limit(start: bytes, drop: bytes) -> None:
    """Each drop comes long before any timeout of a single read; only the limit on all of it ends this."""
    with Receiver(dripping(start, drop)) as shop:
        outcome = tell(shop, SOON)
    assert isinstance(outcome, Transient)
    assert outcome.failure.code in TIMEOUTS


def test_a_server_that_drips_in_tls_holds_nobody_either(authority: Authority) -> None:
    with Receiver(dripping(b"HTTP/1.1 200 OK\r\nX-Long: ", b"a"), authority.server("shop.example")) as shop:
        webhooks = telling(SOON, resolve=Names(), allowed=LOOPBACK, context=authority.trusted())
        outcome = webhooks.send(f"https://shop.example:{shop.port}/", SECRET, TOLD)
    assert isinstance(outcome, Transient)
    assert outcome.failure.code in TIMEOUTS


def test_a_server_that_never_shakes_hands_holds_nobody(authority: Authority) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        webhooks = telling(SOON, resolve=Names(), allowed=LOOPBACK, context=authority.trusted())
        outcome = webhooks.send(f"https://shop.example:{silent.getsockname()[1]}/", SECRET, TOLD)
    assert outcome == Transient(Failure(category="transient", code="ConnectTimeout"))


@pytest.mark.parametrize(
    ("start", "piece"),
    [
        (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\n", b"X-More: a\r\n"),
        (b"HTTP/1.1 200 OK\r\nX-Long: ", b"aaaaaaaaaa"),
        (b"", b"\x00\xff"),
        (b"SSH-2.0-OpenSSH_9.9\r\n", b"x"),
    ],
    ids=["early hints", "headers", "header", "noise", "no HTTP"],
)
def test_an_answer_whose_head_never_ends_is_given_up(start: bytes, piece: bytes) -> None:
    with Receiver(endless(start, piece)) as shop:
        outcome = tell(shop)
    assert outcome == Transient(Failure(category="transient", code="RemoteProtocolError"))


@pytest.mark.parametrize("head", [b"Content-Length: 99999999999\r\n", b"Content-Encoding: gzip\r\n", b""])
@pytest.mark.parametrize("coming", [dripping, endless])
def test_a_body_without_end_takes_no_acceptance_away(head: bytes, coming: Callable[[bytes, bytes], Answer]) -> None:
    with Receiver(coming(b"HTTP/1.1 200 OK\r\n" + head + b"\r\n", b"x" * 100)) as shop:
        assert tell(shop) == ACCEPTED
