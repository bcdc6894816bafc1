"""The server's one clock: real time, which tests may move forward."""

from datetime import UTC, datetime, timedelta
from threading import Lock

TICK = timedelta(microseconds=1)


class Clock:
    """Hands out the times of commits and reads. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._offset = timedelta()
        self._last = datetime.min.replace(tzinfo=UTC)

    def now(self) -> datetime:
        """Return an aware UTC time, in whole microseconds, later than any it returned before."""
        with self._lock:
            self._last = max(datetime.now(UTC) + self._offset, self._last + TICK)
            return self._last

    def advance(self, by: timedelta) -> None:
        """Move the clock forward. Raises ValueError for a negative step: commit times only rise."""
        if by < timedelta():
            raise ValueError(f"the clock cannot go back by {-by}")
        with self._lock:
            self._offset += by
