"""What came back from one attempt, and what it means to the queue."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from grpc import StatusCode

UNREACHABLE = 0  # shown as the status when the target gave no response at all
DEADLINE_EXCEEDED = 504  # what production reports as the previous response after a dispatch deadline
_THROTTLING = frozenset({429, 503})
_CODES = {  # of google/rpc/code.proto, which names the HTTP status of each
    400: StatusCode.INVALID_ARGUMENT,
    401: StatusCode.UNAUTHENTICATED,
    403: StatusCode.PERMISSION_DENIED,
    404: StatusCode.NOT_FOUND,
    409: StatusCode.ABORTED,
    429: StatusCode.RESOURCE_EXHAUSTED,
    499: StatusCode.CANCELLED,
    500: StatusCode.INTERNAL,
    501: StatusCode.UNIMPLEMENTED,
    503: StatusCode.UNAVAILABLE,
    504: StatusCode.DEADLINE_EXCEEDED,
    UNREACHABLE: StatusCode.UNAVAILABLE,
}


@dataclass(frozen=True)
class Answer:
    """The end of one attempt."""

    status: int  # of HTTP, or one of the two constants above
    responded: bool  # False when the target was not reached or did not answer in time
    retry_after: timedelta = timedelta()

    @property
    def succeeded(self) -> bool:
        """2xx, and nothing else, completes a task."""
        return self.responded and 200 <= self.status < 300

    @property
    def throttles(self) -> bool:
        """Whether this slows the whole queue."""
        return self.responded and self.status in _THROTTLING

    @property
    def counts_as_execution(self) -> bool:
        """Whether X-CloudTasks-TaskExecutionCount counts it: responses, but not 5xx."""
        return self.responded and self.status < 500

    @property
    def code(self) -> StatusCode:
        """The gRPC code that GetTask shows for it."""
        return StatusCode.OK if self.succeeded else _CODES.get(self.status, StatusCode.UNKNOWN)


def retry_after(header: str, now: datetime) -> timedelta:
    """Read a Retry-After header, in seconds or as an HTTP date; zero when empty or unreadable."""
    if not header:
        return timedelta()
    try:
        wait = timedelta(seconds=int(header)) if header.strip().isdigit() else _until(header, now)
    except (ValueError, OverflowError):
        return timedelta()
    return max(wait, timedelta())


def _until(date: str, now: datetime) -> timedelta:
    at = parsedate_to_datetime(date)
    return at.replace(tzinfo=at.tzinfo or UTC) - now
