"""A local server's time: real time plus an offset that only grows, so that tomorrow can be reached without waiting."""

from datetime import UTC, datetime, timedelta


class Clock:
    """Real time, moved ahead on request, so that a test reaches tomorrow without waiting."""

    def __init__(self) -> None:
        self._ahead = timedelta()

    def now(self) -> datetime:
        """The present moment of this server, aware UTC."""
        return datetime.now(UTC) + self._ahead

    def advance(self, by: timedelta) -> datetime:
        """Move ahead and return the new present. Raises ValueError for a negative step."""
        if by < timedelta():
            raise ValueError(f"the clock only moves ahead, not by {by}")
        self._ahead += by
        return self.now()
