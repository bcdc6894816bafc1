"""When to try again: doubling, capped, with jitter."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, kw_only=True)
class Backoff:
    """Delays grow from `base` by doubling up to `cap`; after `deadline` from the first attempt there is no next one."""

    base: timedelta = timedelta(minutes=1)
    cap: timedelta = timedelta(hours=6)
    deadline: timedelta = timedelta(days=7)

    def full_delay(self, attempt: int) -> timedelta:
        """The delay after the `attempt`-th attempt (from 1) without jitter."""
        doublings = min(max(attempt - 1, 0), 62)  # beyond, every cap is long reached and timedelta would overflow
        return min(self.cap.total_seconds(), self.base.total_seconds() * 2.0**doublings) * SECOND

    def delay(self, attempt: int, jitter: float) -> timedelta:
        """The delay to keep: between half of the full one and all of it, by `jitter` in [0, 1)."""
        return self.full_delay(attempt) * (0.5 + jitter / 2)


SECOND = timedelta(seconds=1)
