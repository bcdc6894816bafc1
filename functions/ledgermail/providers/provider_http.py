"""What the providers that are posted to over HTTP have in common: the connections, the time limit, the words of an answer."""

import re
import sys
import threading
import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import httpcore
import httpx
from typing_extensions import override

from ledgermail.clock import Clock
from ledgermail.delivering.outcomes import Outcome, kind_of_error, outcome_of
from ledgermail.ledger.delivery import Failure
from ledgermail.settings import Settings
from ledgermail.webhooks.pinned import Deadline, Timed

CONNECT_SECONDS = 5.0
CONNECTIONS = 100  # above any concurrency of one instance: a request never waits for one
LONGEST_HOLD = timedelta(hours=1)  # a provider that asks for more is asked again after this
WORDS_CHARS = 2000  # of an answer are looked at: an error page may be as large as it likes
ADDRESS = re.compile(r"[^\s<>\"']+@[^\s<>\"']+")


class Timely(httpx.HTTPTransport):
    """Connections that are kept from one request to the next, each of which ends in time, however slowly its answer drips.

    The timeouts of httpx are for each read. It hides the layer below it, which reads; its version is pinned.
    """

    def __init__(self, clock: Clock, seconds: float) -> None:
        """`seconds` is for one request as a whole, from the connecting to the last byte of the answer."""
        super().__init__(limits=httpx.Limits(max_connections=CONNECTIONS))
        self._deadline = _OfThread(clock, seconds)
        self._pool._network_backend = _Kept(self._deadline)

    @override
    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Begin the time of a request. Its answer is read by the same thread."""
        self._deadline.begin()
        return super().handle_request(request)


class _OfThread(Deadline, threading.local):
    """The deadline of the request that this thread makes."""


class _Kept(httpcore.NetworkBackend):
    """Connects as httpcore does, in time."""

    def __init__(self, deadline: Deadline) -> None:
        self._deadline = deadline

    @override
    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # that of connecting, for each address of the host
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """A connection to the host."""
        left = self._deadline.left(httpcore.ConnectTimeout)
        seconds = left if timeout is None else min(timeout, left)
        stream = httpcore.SyncBackend().connect_tcp(host, port, seconds, local_address, socket_options)
        self._deadline.left(httpcore.ConnectTimeout)  # a host may have many addresses: nothing was sent, and is not now
        return Timed(stream, self._deadline, most=sys.maxsize)


def client(url: str, key: str, settings: Settings, clock: Clock, transport: httpx.BaseTransport | None) -> httpx.Client:
    """A client that shows this key to the server at this URL, and follows no redirect."""
    seconds = settings.provider_timeout.total_seconds()
    return httpx.Client(
        base_url=url,
        timeout=httpx.Timeout(seconds, connect=min(CONNECT_SECONDS, seconds)),
        headers={"Authorization": f"Bearer {key}", "Content-Type": "application/json"},
        transport=transport or Timely(clock, seconds),
    )


def no_answer(error: httpx.RequestError) -> Outcome:
    """What an attempt came to that got no answer. The error's own words could name an address."""
    kind = kind_of_error(error)
    return outcome_of(kind, Failure(category=kind.value, code=type(error).__name__))


def said(words: str) -> str:
    """The provider's words, without any address and not too many."""
    return ADDRESS.sub("<address>", words[:WORDS_CHARS])


def json_object(response: httpx.Response) -> dict[str, Any]:
    """An answer as the JSON object that it should be; nothing where it is another thing."""
    try:
        answer = response.json()
    except (ValueError, RecursionError):
        return {}
    return answer if isinstance(answer, dict) else {}


def text(response: httpx.Response) -> str:
    """An answer that is not the JSON it should be, as words; a page of HTML says nothing worth keeping."""
    return response.text if "html" not in response.headers.get("Content-Type", "") else ""


def retry_after(response: httpx.Response) -> timedelta | None:
    """How long Retry-After (seconds or a date) asks everybody to wait."""
    header = response.headers.get("Retry-After")
    return None if header is None else hold(_seconds(header))


def hold(seconds: float | None) -> timedelta | None:
    """These seconds, as long as anybody waits. Bounded as numbers: what is sent may be more than a timedelta holds."""
    return None if seconds is None else timedelta(seconds=min(max(seconds, 1.0), LONGEST_HOLD.total_seconds()))


def until(epoch: str) -> timedelta | None:
    """How long it is until this moment in epoch seconds."""
    return hold(float(epoch) - time.time()) if epoch.isdecimal() else None


def _seconds(header: str) -> float | None:
    if header.isdecimal():
        return float(header)
    try:
        return (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return None
