"""When a failed task is tried again, and when no more: the retry rules of a queue, without a clock."""

from dataclasses import dataclass
from datetime import datetime, timedelta

UNLIMITED_ATTEMPTS = -1
RETENTION = timedelta(days=31)  # quotas page: no task lives longer, whatever its retry settings
_LARGEST_DOUBLING = 64  # far beyond any max_backoff; keeps 2**n a finite float


@dataclass(frozen=True)
class RetryPolicy:
    """A RetryConfig with every field set (docstrings of google-cloud-tasks, types/queue.py)."""

    max_attempts: int  # with the first one; -1 is unlimited
    max_retry_duration: timedelta  # from the first attempt; zero is unlimited
    min_backoff: timedelta
    max_backoff: timedelta
    max_doublings: int

    def delay(self, failures: int) -> timedelta:
        """How long to wait after the n-th failed attempt, n from 1.

        Doubles ``max_doublings`` times, then grows by the last doubled step, and never beyond ``max_backoff``.
        """
        retries = failures - 1
        doublings = min(retries, self.max_doublings, _LARGEST_DOUBLING)
        step = self.min_backoff.total_seconds() * 2.0**doublings
        steps = 1 + max(0, retries - self.max_doublings)
        return timedelta(seconds=min(step * steps, self.max_backoff.total_seconds()))

    def exhausted(self, attempts: int, created_at: datetime, first_attempt_at: datetime, now: datetime) -> bool:
        """Whether a task that has just failed is given up and deleted.

        Both limits must be used up; one that is unlimited is no limit. Without any, retention is the end.
        """
        if now - created_at >= RETENTION:
            return True
        used_up = []
        if self.max_attempts != UNLIMITED_ATTEMPTS:
            used_up.append(attempts >= self.max_attempts)
        if self.max_retry_duration:
            used_up.append(now - first_attempt_at >= self.max_retry_duration)
        return bool(used_up) and all(used_up)
