"""The crash points are calls that the product has, and chance is drawn anew for each process and the same for a seed."""

from functools import reduce
from importlib import import_module
from pathlib import Path

import pytest

from emulator.chaos.points import POINTS, Killer, Point


@pytest.mark.parametrize("place", sorted({p.call for p in POINTS} | {p.within for p in POINTS if p.within}))
def test_the_product_has_each_of_these_calls(place: str) -> None:
    module, _, names = place.partition(":")
    assert callable(reduce(getattr, names.split("."), import_module(f"ledgermail.{module}")))


def test_a_point_within_another_call_shares_its_own_call_with_none_within_the_same() -> None:
    assert len({(point.call, point.within) for point in POINTS}) == len(POINTS)


def fates(folder: Path, seed: int, number: int) -> list[str | None]:
    (folder / "armed").touch()
    killer = Killer(folder, seed, factor=1.0)
    killer.forked(number)
    point = Point("claim", "ledger.ledger:Ledger._write", 0.2)
    return [killer.position(point) for _ in range(200)]


def test_the_same_seed_process_and_point_meet_the_same_fate(tmp_path: Path) -> None:
    first = fates(tmp_path, 1, 1)
    assert first == fates(tmp_path, 1, 1)
    assert first != fates(tmp_path, 1, 2) != fates(tmp_path, 2, 1)
    assert set(first) == {None, "before", "during", "after"}


def test_nobody_dies_when_the_trouble_is_over(tmp_path: Path) -> None:
    killer = Killer(tmp_path, 1, factor=1.0)
    assert {killer.position(Point("claim", "", 0.9)) for _ in range(50)} == {None}
