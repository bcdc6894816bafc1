"""The server's clock: real time plus an offset that only grows, so that tomorrow can be reached without waiting."""

from datetime import UTC, datetime, timedelta


class Clock:
    """Real time, moved forward on request."""

    def __init__(self) -> None:
        self._offset = timedelta(0)

    def now(self) -> datetime:
        """The current instant, aware, in UTC."""
        return datetime.now(UTC) + self._offset

    def advance(self, seconds: float) -> None:
        """Move the clock forward."""
        self._offset += timedelta(seconds=seconds)
