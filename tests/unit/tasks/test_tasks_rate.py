"""The token bucket: what may start when."""

from datetime import UTC, datetime, timedelta

import pytest

from emulator.tasks.rate import TokenBucket, burst_size

START = datetime(2026, 8, 17, 8, tzinfo=UTC)


def drained(rate: float) -> TokenBucket:
    bucket = TokenBucket(rate, START)
    while bucket.ready_at(START) == START:
        bucket.take(START)
    return bucket


@pytest.mark.parametrize(("rate", "burst"), [(500, 100), (100, 20), (5, 10), (0.1, 10)])
def test_the_burst_follows_the_rate_within_its_bounds(rate: float, burst: int) -> None:
    assert burst_size(rate) == burst


def test_a_full_bucket_starts_one_burst_at_once_and_then_waits() -> None:
    bucket = TokenBucket(5, START)
    started = 0
    while bucket.ready_at(START) == START:
        bucket.take(START)
        started += 1
    assert started == 10
    assert bucket.ready_at(START) == START + timedelta(milliseconds=200, microseconds=1)


def test_a_rate_below_one_a_second_waits_its_whole_interval() -> None:
    assert drained(0.1).ready_at(START) == START + timedelta(seconds=10, microseconds=1)


def test_a_start_is_possible_at_the_moment_that_was_named() -> None:
    for rate in (0.3, 7, 333):
        bucket = drained(rate)
        ready_at = bucket.ready_at(START)
        assert bucket.ready_at(ready_at) == ready_at


def test_idle_time_saves_up_no_more_than_a_burst() -> None:
    bucket, later = drained(5), START + timedelta(days=1)
    started = 0
    while bucket.ready_at(later) == later:
        bucket.take(later)
        started += 1
    assert started == 10


def test_throttling_slows_the_refill_and_successes_restore_it() -> None:
    bucket = drained(10)
    for _ in range(20):
        bucket.slow_down()
    slow = bucket.ready_at(START) - START
    for _ in range(100):
        bucket.recover()
    fast = bucket.ready_at(START) - START
    assert slow == pytest.approx(fast * 8, abs=timedelta(milliseconds=1))
