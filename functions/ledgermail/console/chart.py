"""The chart of the last days, pure: numbers go in, the heights of bars come out."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

DAYS = 14
TALLEST = 100.0  # the height of the chart, in its own units
SEEN = 1.5  # the least height of what is not zero: one unfinished delivery beside a thousand others must show


@dataclass(frozen=True, kw_only=True)
class Day:
    """What became of the deliveries that a day owed."""

    date: date
    accepted: int
    other: int  # ended otherwise
    unfinished: int

    @property
    def total(self) -> int:
        """How many the ledger still has."""
        return self.accepted + self.other + self.unfinished


@dataclass(frozen=True)
class Piece:
    """A part of a bar: what it counts, from where downwards, how high."""

    kind: str
    top: float
    height: float


@dataclass(frozen=True)
class Bar:
    """A day's bar: its pieces, the lowest first."""

    day: Day
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class Chart:
    """Bars under one scale, whose upper end is `most`."""

    bars: tuple[Bar, ...]
    most: int

    @property
    def summary(self) -> str:
        """The chart in one sentence."""
        days = [bar.day for bar in self.bars]
        accepted, other = sum(day.accepted for day in days), sum(day.other for day in days)
        unfinished = sum(day.unfinished for day in days)
        return f"In {len(days)} days {accepted} were accepted, {other} ended otherwise, {unfinished} are unfinished."


def last_days(today: date) -> list[date]:
    """The days of the chart, today last."""
    return [today - timedelta(days=back) for back in reversed(range(DAYS))]


def chart(days: Sequence[Day]) -> Chart:
    """Stack each day's numbers on one scale."""
    most = _round(max((day.total for day in days), default=0))
    return Chart(tuple(Bar(day, tuple(_pieces(day, most))) for day in days), most)


def _pieces(day: Day, most: int) -> list[Piece]:
    counts = {"accepted": day.accepted, "other": day.other, "unfinished": day.unfinished}
    heights = {kind: max(count / most * TALLEST, SEEN) for kind, count in counts.items() if count}
    if sum(heights.values()) > TALLEST:  # what was made high enough to be seen is taken from the highest
        heights[max(heights, key=heights.__getitem__)] -= sum(heights.values()) - TALLEST
    pieces, top = [], TALLEST
    for kind, height in heights.items():
        top -= height
        pieces.append(Piece(kind, round(top, 2), round(height, 2)))
    return pieces


def _round(number: int) -> int:
    """The next number at the end of a scale that people like to read: one digit and zeros; never 0."""
    power = 1
    while True:
        for first in (1, 2, 3, 4, 5, 6, 8):
            if first * power >= number:
                return first * power
        power *= 10
