"""A lean HTTP/1.1 client for many small requests: pooled connections, h11 for the protocol, and nothing else.

httpx costs 4 ms of CPU a request here, which bound the dispatch to 230 a second; a queue may do 500.
"""

import asyncio
import string
from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import SplitResult, quote, urlsplit

import h11

_READ_BYTES = 65536
_DEFAULT_PORTS = {"http": 80, "https": 443}


class Origin(NamedTuple):
    """What a connection can be used for again."""

    scheme: str
    host: str
    port: int


class HttpClient:
    """Sends requests over connections kept open; follows no redirects, keeps no cookies, has no timeout of its own."""

    def __init__(self) -> None:
        self._idle: defaultdict[Origin, list[_Connection]] = defaultdict(list)

    async def request(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> h11.Response:
        """Send a request and read the whole answer; its body is dropped. Cancel it to cut the connection.

        Raises OSError when there is no connection, h11.ProtocolError when the answer is not HTTP or ends early, and
        ValueError for a URL or header that cannot be sent.
        """
        address = urlsplit(url)
        origin = Origin(address.scheme, address.hostname or "", address.port or _DEFAULT_PORTS[address.scheme])
        message = _request(method, address, headers, body)
        connection = self._reusable(origin) or await _connect(origin)
        try:
            response = await connection.exchange(message, body)
        except BaseException:
            connection.close()
            raise
        if connection.made_ready():
            self._idle[origin].append(connection)
        return response

    def _reusable(self, origin: Origin) -> "_Connection | None":
        while idle := self._idle[origin]:
            connection = idle.pop()
            if connection.open:
                return connection
            connection.close()
        return None


class _Connection:
    """One connection, used by one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._protocol = h11.Connection(h11.CLIENT)

    @property
    def open(self) -> bool:
        """Whether the other side has not hung up, as far as is known."""
        return not (self._reader.at_eof() or self._writer.is_closing())

    async def exchange(self, request: h11.Request, body: bytes) -> h11.Response:
        """Send one request and read to the end of its response."""
        for part in (request, h11.Data(data=body), h11.EndOfMessage()):
            self._writer.write(self._protocol.send(part) or b"")
        await self._writer.drain()
        response = None
        while not isinstance(event := self._protocol.next_event(), h11.EndOfMessage):
            if event is h11.NEED_DATA:
                self._protocol.receive_data(await self._reader.read(_READ_BYTES))
            elif isinstance(event, h11.Response):
                response = event
        assert response is not None  # h11: no end without a response
        return response

    def made_ready(self) -> bool:
        """Whether it can carry the next request; closed if not."""
        if self._protocol.our_state is h11.DONE and self._protocol.their_state is h11.DONE:
            self._protocol.start_next_cycle()
            return True
        self.close()
        return False

    def close(self) -> None:
        """Hang up."""
        self._writer.close()


async def _connect(origin: Origin) -> _Connection:
    return _Connection(*await asyncio.open_connection(origin.host, origin.port, ssl=origin.scheme == "https" or None))


def _request(method: str, address: SplitResult, headers: Mapping[str, str], body: bytes) -> h11.Request:
    target = (address.path or "/") + (f"?{address.query}" if address.query else "")
    fields = {
        "Host": address.netloc.rpartition("@")[2],
        "Accept": "*/*",
        **headers,
        "Content-Length": str(len(body)),
    }
    return h11.Request(
        method=method,
        target=quote(target, safe=string.punctuation),
        headers=[(name.encode("ascii"), value.encode("utf-8")) for name, value in fields.items()],
    )
