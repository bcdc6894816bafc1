"""Backoff: grows, is capped, and never overflows."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from ledgermail.ledger.backoff import Backoff

MINUTES = [Backoff().full_delay(attempt) / timedelta(minutes=1) for attempt in range(1, 12)]


def test_delays_double_up_to_the_cap() -> None:
    assert MINUTES == [1, 2, 4, 8, 16, 32, 64, 128, 256, 360, 360]


@given(st.integers(1, 10**9), st.floats(0, 1, exclude_max=True))
def test_jitter_keeps_between_half_and_all_of_the_delay(attempt: int, jitter: float) -> None:
    full = Backoff().full_delay(attempt)
    assert full / 2 <= Backoff().delay(attempt, jitter) <= full <= Backoff().cap
