"""Measurements on a machine that others use: in turns, so that what slows one slows all, and compared within a turn."""

from collections.abc import Callable, Hashable, Sequence
from statistics import median
from typing import TypeVar

Name = TypeVar("Name", bound=Hashable)
Value = TypeVar("Value")


def interleaved(names: Sequence[Name], rounds: int, measure: Callable[[Name], Value]) -> dict[Name, list[Value]]:
    """Measure each name once a round, every second round in the opposite order; the values by name, round by round."""
    values: dict[Name, list[Value]] = {name: [] for name in names}
    for number in range(rounds):
        for name in names if number % 2 else reversed(names):
            values[name].append(measure(name))
    return values


def ratio(values: Sequence[float], of: Sequence[float]) -> float:
    """The median of what one is of another within a round."""
    return median(value / other for value, other in zip(values, of, strict=True))
