"""However a provider drips its answer, one attempt ends with our own time limit, and the next has its own."""

import itertools
import socket
from threading import Event

import pytest

from ledgermail.clock import Clock
from ledgermail.delivering.content import Rendered
from ledgermail.delivering.outcomes import Accepted, Ambiguous
from ledgermail.ledger.delivery import Failure
from ledgermail.providers.provider_sendgrid import SendGrid
from tests.integration.raw_server import read_request, serving
from tests.samples import a_message, settings

MESSAGE = a_message()
HEAD = b"HTTP/1.1 202 Accepted\r\n"
ACCEPTED = HEAD + b"X-Message-Id: m1\r\nContent-Length: 0\r\n\r\n"


class Dripping:
    """Takes a request, says these bytes, and then one more again and again until nobody listens."""

    def __init__(self, said: bytes, drop: bytes) -> None:
        self.said = said
        self.drop = drop
        self.ended = Event()

    def __call__(self, connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(self.said)
        pause = Event()
        try:
            while True:
                connection.sendall(self.drop)
                pause.wait(0.02)
        finally:
            self.ended.set()


@pytest.mark.parametrize(
    ("said", "drop"),
    [(HEAD, b"X-Drop: 1\r\n"), (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n")],
    ids=["head", "body"],
)
def test_an_answer_that_drips_for_ever_ends_with_our_own_time_limit(said: bytes, drop: bytes) -> None:
    dripping = Dripping(said, drop)
    with serving(dripping) as url:
        provider = SendGrid(settings(sendgrid_url=url, provider_timeout="300ms"), Clock())
        outcome = provider.send(provider.prepare(MESSAGE), MESSAGE.delivery_id)
        provider.close()
        assert outcome == Ambiguous(Failure(category="ambiguous", code="ReadTimeout"))
        assert dripping.ended.wait(60)


def test_a_request_that_is_taken_in_sips_ends_with_our_own_time_limit() -> None:
    """Without, it would be taken whole before anything ends."""
    huge = a_message(content=Rendered("A job", "a" * 20_000_000, "A job"))
    taken, given_up = 0, Event()

    def sipping(connection: socket.socket) -> None:
        nonlocal taken
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        while not given_up.wait(0.01) and (sip := connection.recv(16384)):
            taken += len(sip)

    with serving(sipping) as url:
        provider = SendGrid(settings(sendgrid_url=url, provider_timeout="300ms"), Clock())
        outcome = provider.send(provider.prepare(huge), huge.delivery_id)
        given_up.set()
        provider.close()
    assert isinstance(outcome, Ambiguous)
    assert taken < 20_000_000


def test_the_time_is_that_of_one_attempt_on_a_connection_that_is_kept() -> None:
    """By a clock on which each attempt takes half of the time."""
    passed = itertools.count(0.0, 2.0)

    def talk(connection: socket.socket) -> None:
        for _ in range(4):
            read_request(connection)
            connection.sendall(ACCEPTED)

    with serving(talk) as url:
        clock = Clock(monotonic=lambda: next(passed))
        provider = SendGrid(settings(sendgrid_url=url), clock)
        assert [provider.send(provider.prepare(MESSAGE), "u1_j1") for _ in range(4)] == [Accepted("m1")] * 4
        provider.close()
