"""The retry rules of a queue, as its documentation states them."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from emulator.tasks.retry_schedule import RETENTION, RetryPolicy

START = datetime(2026, 8, 17, 8, tzinfo=UTC)
DOCUMENTED = RetryPolicy(
    max_attempts=5,
    max_retry_duration=timedelta(),
    min_backoff=timedelta(seconds=10),
    max_backoff=timedelta(seconds=300),
    max_doublings=3,
)


def test_the_documented_example_waits_as_documented() -> None:
    waits = [DOCUMENTED.delay(failures).total_seconds() for failures in range(1, 9)]
    assert waits == [10, 20, 40, 80, 160, 240, 300, 300]


def test_no_doublings_grow_by_the_first_step() -> None:
    policy = replace(DOCUMENTED, max_doublings=0)
    assert [policy.delay(n).total_seconds() for n in (1, 2, 3)] == [10, 20, 30]


def test_the_ten_thousandth_wait_of_the_default_is_still_the_longest_backoff() -> None:
    policy = replace(DOCUMENTED, max_doublings=10_000, max_backoff=timedelta(hours=1))
    assert policy.delay(10_000) == timedelta(hours=1)


@pytest.mark.parametrize(
    ("max_attempts", "max_retry_duration", "attempts", "after", "exhausted"),
    [
        (3, timedelta(), 2, timedelta(days=1), False),
        (3, timedelta(), 3, timedelta(), True),
        (3, timedelta(hours=1), 3, timedelta(minutes=59), False),
        (3, timedelta(hours=1), 2, timedelta(hours=2), False),
        (3, timedelta(hours=1), 3, timedelta(hours=1), True),
        (-1, timedelta(hours=1), 999, timedelta(minutes=59), False),
        (-1, timedelta(hours=1), 1, timedelta(hours=1), True),
        (-1, timedelta(), 999, timedelta(days=30), False),
        (-1, timedelta(), 1, RETENTION, True),
        (100, timedelta(), 2, RETENTION, True),
    ],
)
def test_a_task_is_given_up_only_when_every_limit_is_used_up(
    max_attempts: int, max_retry_duration: timedelta, attempts: int, after: timedelta, exhausted: bool
) -> None:
    policy = replace(DOCUMENTED, max_attempts=max_attempts, max_retry_duration=max_retry_duration)
    assert policy.exhausted(attempts, START, START, START + after) is exhausted
