"""Connections for httpcore that one deadline ends, however they are used up.

The timeouts of httpcore are for each read: a server that drips a byte at a time never meets them.
"""

import ssl
import sys

import httpcore
from typing_extensions import override

from ledgermail.clock import Clock

PIECE_BYTES = 64 * 1024


class Deadline:
    """The end of the time that everything together may take."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        self._monotonic = clock.monotonic
        self._seconds = seconds
        self.begin()

    def begin(self) -> None:
        """Count the time from now."""
        self._at = self._monotonic() + self._seconds

    def left(self, over: type[httpcore.TimeoutException] = httpcore.ReadTimeout) -> float:
        """Seconds that are left, above zero. Raises `over` when there are none."""
        left = self._at - self._monotonic()
        if left <= 0:
            raise over("the time is over")
        return left


class Timed(httpcore.NetworkStream):
    """A connection that ends at the deadline, and after so many bytes of answer, however they come."""

    def __init__(self, stream: httpcore.NetworkStream, deadline: Deadline, most: int = sys.maxsize) -> None:
        self._stream = stream
        self._deadline = deadline
        self._bytes_left = most

    @override
    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Some of what has come."""
        if not self._bytes_left:
            raise httpcore.RemoteProtocolError("the head of the answer is too long")
        some = self._stream.read(min(max_bytes, self._bytes_left), self._deadline.left())
        self._bytes_left -= len(some)
        return some

    @override
    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send all of it. In pieces: the time below here is for each bit that the other side is ready to take."""
        for start in range(0, len(buffer), PIECE_BYTES):
            self._stream.write(buffer[start : start + PIECE_BYTES], self._deadline.left())

    @override
    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        """The same connection, encrypted; the handshake has until the deadline as a whole."""
        seconds = self._deadline.left(httpcore.ConnectTimeout)
        stream = self._stream.start_tls(ssl_context, server_hostname, seconds)
        return Timed(stream, self._deadline, self._bytes_left)

    @override
    def close(self) -> None:
        """Close it."""
        self._stream.close()

    @override
    def get_extra_info(self, info: str) -> object:
        """What httpcore asks of a connection: whether TLS has agreed on HTTP/2, and whether it is still open."""
        return self._stream.get_extra_info(info)
