"""A send over HTTP that fails as a fault says: late, refused in the service's own form, or without any answer."""

import socket
import struct
from collections.abc import Callable

from flask import Response, request

from emulator.inbox.faults import Fault, Faults

Refusal = Callable[[Fault], Response]  # how a service words a refusal it gives because of a fault


class NoAnswerError(ConnectionAbortedError):
    """The connection is to be closed without an answer; the server treats it as a caller who went away."""


def answer(fault: Fault | None, accepted: Response, faults: Faults, refusal: Refusal) -> Response | None:
    """The answer under ``fault``, late where it hangs, or None for none at all."""
    match fault:
        case None:
            return accepted
        case Fault.HANG:
            faults.hang()
            return Response(status=504)
        case Fault.HANG_AFTER:
            faults.hang()
            return accepted
        case Fault.CUT:
            return None
        case Fault.RESET:
            connection: socket.socket = request.environ["werkzeug.socket"]
            reset_on_close(connection)
            return None
        case Fault.BAD_GATEWAY:
            return Response(status=502)
        case _:
            return refusal(fault)


def reset_on_close(connection: socket.socket) -> None:
    """Make closing this connection send RST: lingering for zero seconds is TCP's way to say so."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
