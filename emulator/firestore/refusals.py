"""What the server answers instead of doing what was asked: a gRPC status and a text.

Codes are production's; texts are those of the official emulator or of production where known.
"""

from grpc import StatusCode


class Refused(Exception):
    """The request is answered with this status, and nothing has been done."""

    def __init__(self, code: StatusCode, text: str) -> None:
        super().__init__(text)
        self.code = code
        self.text = text


def invalid(text: str) -> Refused:
    """Return the refusal of a request that can never succeed."""
    return Refused(StatusCode.INVALID_ARGUMENT, text)


def failed_precondition(text: str) -> Refused:
    """Return the refusal of a request that the present state does not allow."""
    return Refused(StatusCode.FAILED_PRECONDITION, text)


def aborted(text: str) -> Refused:
    """Return the refusal that asks the caller to run its transaction again."""
    return Refused(StatusCode.ABORTED, text)
