"""How fast a queue may dispatch: a token bucket that slows down when the target asks for it."""

import math
from datetime import datetime, timedelta

SMALLEST_BURST = 10
LARGEST_BURST = 100  # what a new queue of 500/s shows
_SLOWEST_PACE = 1 / 8
_SLOW_DOWN = 1 / 2
_RECOVER = 1.1


def burst_size(rate: float) -> int:
    """The output-only max_burst_size of a rate. Production chooses it dynamically; this is our approximation."""
    return max(SMALLEST_BURST, min(LARGEST_BURST, math.ceil(rate / 5)))


class TokenBucket:
    """Holds up to ``burst`` tokens, refilled at ``rate`` a second times the pace; one dispatch takes one.

    The pace is our approximation of system throttling: production slows the whole queue after 429 and 503 and does not
    say by how much. Here each such answer halves the pace, down to an eighth, and each success restores a tenth.
    """

    def __init__(self, rate: float, now: datetime) -> None:
        self.rate = rate
        self.burst = burst_size(rate)
        self.pace = 1.0
        self._tokens = float(self.burst)
        self._counted_at = now

    def ready_at(self, now: datetime) -> datetime:
        """When the next dispatch may start: now, or when the missing part of a token has been refilled."""
        self._refill(now)
        if self._tokens >= 1:
            return now
        seconds = (1 - self._tokens) / (self.rate * self.pace)
        return now + timedelta(seconds=seconds) + timedelta(microseconds=1)  # never rounded to a moment too early

    def take(self, now: datetime) -> None:
        """Use one token; the caller has seen that one is ready."""
        self._refill(now)
        self._tokens -= 1

    def slow_down(self) -> None:
        """The target answered 429 or 503."""
        self.pace = max(_SLOWEST_PACE, self.pace * _SLOW_DOWN)
        self._tokens = min(self._tokens, self._capacity())

    def recover(self) -> None:
        """The target took a task."""
        self.pace = min(1.0, self.pace * _RECOVER)

    def _capacity(self) -> float:
        return max(1.0, self.burst * self.pace)

    def _refill(self, now: datetime) -> None:
        seconds = (now - self._counted_at).total_seconds()
        self._tokens = min(self._capacity(), self._tokens + seconds * self.rate * self.pace)
        self._counted_at = now
