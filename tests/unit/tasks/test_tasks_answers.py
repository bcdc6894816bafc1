"""What an answer means to the queue."""

from datetime import UTC, datetime, timedelta

import pytest

from emulator.tasks.answers import DEADLINE_EXCEEDED, Answer, retry_after

NOW = datetime(2026, 8, 17, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("status", "succeeded", "throttles", "execution"),
    [
        (200, True, False, True),
        (204, True, False, True),
        (302, False, False, True),
        (404, False, False, True),
        (429, False, True, True),
        (500, False, False, False),
        (503, False, True, False),
    ],
)
def test_only_2xx_completes_and_only_429_and_503_throttle(
    status: int, succeeded: bool, throttles: bool, execution: bool
) -> None:
    answer = Answer(status, responded=True)
    assert (answer.succeeded, answer.throttles, answer.counts_as_execution) == (succeeded, throttles, execution)


def test_a_passed_deadline_is_no_response() -> None:
    answer = Answer(DEADLINE_EXCEEDED, responded=False)
    assert (answer.succeeded, answer.throttles, answer.counts_as_execution) == (False, False, False)


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        ("", timedelta()),
        ("120", timedelta(minutes=2)),
        ("Mon, 17 Aug 2026 08:00:30 GMT", timedelta(seconds=30)),
        ("Mon, 17 Aug 2026 07:00:00 GMT", timedelta()),
        ("soon", timedelta()),
        ("-5", timedelta()),
        ("9" * 30, timedelta()),
    ],
)
def test_retry_after_is_read_in_both_forms_and_nonsense_is_no_wait(header: str, wait: timedelta) -> None:
    assert retry_after(header, NOW) == wait
