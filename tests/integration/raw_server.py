"""A server of bare sockets, for answers that no HTTP server would give."""

import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread

Talk = Callable[[socket.socket], None]
WAIT_SECONDS = 10


@contextmanager
def serving(talk: Talk, host: str = "127.0.0.1") -> Iterator[str]:
    """The base URL of a server that does this with each connection, one at a time, and then closes it."""
    family, shown = (socket.AF_INET6, f"[{host}]") if ":" in host else (socket.AF_INET, host)
    with socket.create_server((host, 0), family=family) as listener:
        thread = Thread(target=_serve, args=(listener, talk))
        thread.start()
        try:
            yield f"http://{shown}:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join(WAIT_SECONDS)


def _serve(listener: socket.socket, talk: Talk) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            connection.settimeout(WAIT_SECONDS)
            try:
                talk(connection)
            except OSError:
                continue


def answering(answer: bytes) -> Talk:
    """Read the whole request, then say these bytes."""

    def talk(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(answer)

    return talk


def resetting(connection: socket.socket) -> None:
    """Read the whole request, then reset the connection."""
    read_request(connection)
    resetting_on_close(connection)


def resetting_on_close(connection: socket.socket) -> None:
    """Let its closing reset the connection: lingering for zero seconds is TCP's way to say so."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def silent(connection: socket.socket) -> None:
    """Read the request and wait until the other side has had enough."""
    read_request(connection)
    connection.recv(1)


def read_request(connection: socket.socket) -> bytes:
    """A request with its whole body, if it has one."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = (int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    length = next(lengths, 0)
    while len(body) < length:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body
