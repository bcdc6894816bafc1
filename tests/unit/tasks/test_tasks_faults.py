"""The fault switches choose by number, or by seed and name, and nothing else."""

import pytest

from emulator.tasks.faults import Faults

NAMES = [f"t{n}" for n in range(1000)]


def test_every_third_task_is_every_third_created() -> None:
    faults = Faults(duplicate_every=3)
    assert [n for n in range(1, 10) if faults.duplicates(n, "x")] == [3, 6, 9]


def test_no_fault_is_on_by_itself() -> None:
    off = Faults()
    assert not any(
        off.duplicates(n, "x") or off.loses_response(n, "x") or off.repeats_after_done(n, "x") for n in (1, 9)
    )


def test_a_rate_strikes_the_same_names_again_under_the_same_seed() -> None:
    chosen = [name for name in NAMES if Faults(seed=7, lose_response_rate=0.2).loses_response(1, name)]
    again = [name for name in NAMES if Faults(seed=7, lose_response_rate=0.2).loses_response(2, name)]
    other = [name for name in NAMES if Faults(seed=8, lose_response_rate=0.2).loses_response(1, name)]
    assert chosen == again
    assert chosen != other
    assert 150 < len(chosen) < 250


@pytest.mark.parametrize("wrong", [{"duplicate_every": -1}, {"duplicate_every": 1.5}, {"duplicate_rate": "x"}])
def test_a_wrong_value_is_refused_by_name(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="duplicate_"):
        Faults(**wrong)
