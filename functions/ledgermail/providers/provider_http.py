"""What the providers that are posted to over HTTP have in common: the connections, the time limit, the words of an answer.

It is httpcore, the layer below httpx: it follows no redirect, asks no environment for a proxy, and takes half the time.
"""

import json
import threading
import zlib
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import httpcore
from typing_extensions import override

from ledgermail.clock import Clock
from ledgermail.delivering.outcomes import Kind, Outcome, outcome_of
from ledgermail.ledger.delivery import Failure
from ledgermail.settings import Settings
from ledgermail.timed import Deadline, Timed
from ledgermail.trust import of_environment

CONNECT_SECONDS = 5.0  # for each address of the host
KEPT_SECONDS = 5.0  # how long a connection may be idle and is used again
CONNECTIONS = 100  # above any concurrency of one instance: a request never waits for one
LONGEST_HOLD = timedelta(hours=1)  # a provider that asks for more is asked again after this
UNPACKED_BYTES = 256 * 1024  # of an answer that was packed are looked at

# Measured on httpcore 1.0: the connecting and waiting errors come before the server has anything of ours, the others after.
BY_ERROR: Mapping[type[Exception], Kind] = {
    httpcore.ConnectError: Kind.TRANSIENT,  # refused, DNS, TLS
    httpcore.ConnectTimeout: Kind.TRANSIENT,
    httpcore.PoolTimeout: Kind.TRANSIENT,
    httpcore.ProxyError: Kind.TRANSIENT,
    httpcore.UnsupportedProtocol: Kind.MISCONFIGURED,
    httpcore.LocalProtocolError: Kind.MISCONFIGURED,  # a key that is no header value; a message is JSON and cannot break HTTP
    httpcore.ReadTimeout: Kind.AMBIGUOUS,
    httpcore.WriteTimeout: Kind.AMBIGUOUS,
    httpcore.ReadError: Kind.AMBIGUOUS,
    httpcore.WriteError: Kind.AMBIGUOUS,
    httpcore.RemoteProtocolError: Kind.AMBIGUOUS,
}
# What all of them are, and those that httpcore may yet derive from these: its errors have no common root.
NO_ANSWER = (
    httpcore.TimeoutException,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.UnsupportedProtocol,
)


class Api:
    """A provider's API: where it is, our key, and connections that are kept from one request to the next."""

    def __init__(self, url: str, key: str, settings: Settings, clock: Clock) -> None:
        seconds = settings.provider_timeout.total_seconds()
        self._deadline = _OfThread(clock, seconds)
        self._limits = {"timeout": {"connect": min(CONNECT_SECONDS, seconds), "pool": seconds}}
        parts = urlsplit(url)  # as the settings have checked it
        self._server: dict[str, Any] = {"scheme": parts.scheme, "host": parts.hostname or "", "port": parts.port}
        self._path = parts.path.rstrip("/")
        self._headers = [
            (b"Host", parts.netloc.encode()),
            (b"Authorization", f"Bearer {key}".encode()),
            (b"Content-Type", b"application/json"),
            (b"Accept-Encoding", b"identity"),
            (b"User-Agent", b"ledgermail"),
        ]
        self._pool = httpcore.ConnectionPool(
            ssl_context=of_environment() if parts.scheme == "https" else None,  # it is not read for nothing
            max_connections=CONNECTIONS,
            keepalive_expiry=KEPT_SECONDS,
            network_backend=_Kept(self._deadline),
        )

    def post(self, path: str, body: bytes, *headers: tuple[bytes, bytes]) -> httpcore.Response:
        """The answer, read whole. The time limit is for all of it, however slowly it drips. Raises those of NO_ANSWER."""
        self._deadline.begin()
        url = httpcore.URL(**self._server, target=self._path + path)
        sent = [*self._headers, *headers]
        return self._pool.request("POST", url, headers=sent, content=body, extensions=self._limits)

    def close(self) -> None:
        """Close the connections."""
        self._pool.close()


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
        return Timed(stream, self._deadline)


def kind_of_error(error: Exception) -> Kind:
    """What an error of NO_ANSWER says of the attempt; one that the table does not know may hide an acceptance."""
    return BY_ERROR.get(type(error), Kind.AMBIGUOUS)


def no_answer(error: Exception) -> Outcome:
    """What an attempt came to that got no answer. The error's own words could name an address."""
    kind = kind_of_error(error)
    return outcome_of(kind, Failure(category=kind.value, code=type(error).__name__))


def header(answer: httpcore.Response, name: str) -> str:
    """A header of an answer, by its name in small letters; nothing where it has none."""
    return next((value.decode("latin-1") for key, value in answer.headers if key.lower() == name.encode()), "")


def json_object(content: bytes) -> dict[str, Any]:
    """An answer's content as the JSON object that it should be; nothing where it is another thing."""
    try:
        read = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def content_of(answer: httpcore.Response) -> bytes:
    """The content, unpacked where somebody on the way packed it, though we ask for it as it is."""
    if header(answer, "content-encoding").lower() not in {"gzip", "x-gzip", "deflate"}:
        return answer.content
    try:
        return zlib.decompressobj(wbits=47).decompress(answer.content, UNPACKED_BYTES)
    except zlib.error:
        return b""


def text(answer: httpcore.Response) -> str:
    """An answer that is not the JSON it should be, as words; a page of HTML says nothing worth keeping."""
    return content_of(answer).decode(errors="replace") if "html" not in header(answer, "content-type") else ""


def retry_after(answer: httpcore.Response, now: datetime) -> timedelta | None:
    """How long Retry-After (seconds or a date) asks everybody to wait."""
    asked = header(answer, "retry-after")
    return hold(_seconds(asked, now)) if asked else None


def hold(seconds: float | None) -> timedelta | None:
    """These seconds, as long as anybody waits. Bounded as numbers: what is sent may be more than a timedelta holds."""
    return None if seconds is None else timedelta(seconds=min(max(seconds, 1.0), LONGEST_HOLD.total_seconds()))


def until(epoch: str, now: datetime) -> timedelta | None:
    """How long it is until this moment in epoch seconds."""
    return hold(float(epoch) - now.timestamp()) if epoch.isdecimal() else None


def _seconds(header: str, now: datetime) -> float | None:
    if header.isdecimal():
        return float(header)
    try:
        return (parsedate_to_datetime(header) - now).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return None
