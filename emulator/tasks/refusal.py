"""The one error of this server: a request that is answered with a gRPC status, in production's words."""

from grpc import StatusCode


class RefusedError(Exception):
    """A request is not carried out; ``code`` and ``message`` are what the client gets."""

    code = StatusCode.UNKNOWN

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class InvalidArgumentError(RefusedError):
    """The request itself is wrong."""

    code = StatusCode.INVALID_ARGUMENT


class NotFoundError(RefusedError):
    """The queue or task is not there, or no longer."""

    code = StatusCode.NOT_FOUND


class AlreadyExistsError(RefusedError):
    """The name is taken, or was until recently."""

    code = StatusCode.ALREADY_EXISTS


class FailedPreconditionError(RefusedError):
    """The name of a deleted queue is not free again."""

    code = StatusCode.FAILED_PRECONDITION


class UnimplementedError(RefusedError):
    """Production does this; this server does not."""

    code = StatusCode.UNIMPLEMENTED
