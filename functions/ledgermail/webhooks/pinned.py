"""Connections to addresses that were chosen before, for one request and the head of its answer."""

from collections.abc import Iterable, Sequence

import httpcore
from typing_extensions import override

from ledgermail.timed import Deadline, Timed

ANSWER_BYTES = 64 * 1024  # an answer whose head has not ended by then is none


class Pinned(httpcore.NetworkBackend):
    """Connects to these addresses, in their order, whatever the host is called."""

    def __init__(self, addresses: Sequence[str], deadline: Deadline) -> None:
        self._addresses = addresses
        self._deadline = deadline

    @override
    def connect_tcp(
        self,
        host: str,  # resolved and checked before
        port: int,
        timeout: float | None = None,  # the deadline is shorter
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        """A connection to the first address that answers; each gets its share of the time that is left."""
        failed: Exception = httpcore.ConnectError("the name has no address")
        for place, address in enumerate(self._addresses):
            share = self._deadline.left() / (len(self._addresses) - place)
            try:
                stream = httpcore.SyncBackend().connect_tcp(address, port, share, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failed = error
            else:
                return Timed(stream, self._deadline, ANSWER_BYTES)
        raise failed
