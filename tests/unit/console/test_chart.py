"""The chart: the heights add up, what is not zero shows, and the scale ends at a number that people like to read."""

from datetime import date

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ledgermail.console.chart import DAYS, SEEN, TALLEST, Day, chart, last_days

TODAY = date(2026, 8, 16)
COUNTS = st.integers(0, 10**7)


def a_day(accepted: int = 0, other: int = 0, unfinished: int = 0) -> Day:
    return Day(date=TODAY, accepted=accepted, other=other, unfinished=unfinished)


@pytest.mark.parametrize(
    ("most", "scale"), [(0, 1), (1, 1), (2, 2), (7, 8), (9, 10), (11, 20), (161, 200), (201, 300), (999, 1000)]
)
def test_the_scale_ends_at_a_round_number_above_all_days(most: int, scale: int) -> None:
    assert chart([a_day(), a_day(accepted=most)]).most == scale


@example(998, 1, 1, 0)
@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_the_pieces_lie_on_each_other_within_the_chart_and_none_is_too_low_to_be_seen(
    accepted: int, other: int, unfinished: int, another: int
) -> None:
    (bar, _) = chart([a_day(accepted, other, unfinished), a_day(another)]).bars
    bottom = TALLEST
    for piece in bar.pieces:
        assert piece.height >= SEEN - 0.01
        assert piece.top + piece.height == pytest.approx(bottom, abs=0.02)
        bottom = piece.top
    assert bottom >= -0.01
    assert len(bar.pieces) == sum(1 for number in (accepted, other, unfinished) if number)


def test_a_bar_is_as_high_as_its_share_of_the_scale() -> None:
    (bar,) = chart([a_day(accepted=50, other=25, unfinished=25)]).bars
    assert [(piece.kind, piece.height) for piece in bar.pieces] == [
        ("accepted", 50),
        ("other", 25),
        ("unfinished", 25),
    ]


def test_the_summary_counts_all_days() -> None:
    said = chart([a_day(1, 2, 3), a_day(10, 20, 30)]).summary
    assert said == "In 2 days 11 were accepted, 22 ended otherwise, 33 are unfinished."


def test_the_last_days_end_today() -> None:
    days = last_days(TODAY)
    assert (len(days), days[0], days[-1]) == (DAYS, date(2026, 8, 3), TODAY)
