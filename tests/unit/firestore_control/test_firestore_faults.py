"""Which RPC attempts a fault strikes."""

from typing import Any

import pytest

from emulator.firestore.faults import Fault, Faults, InvalidFaultError

NONE: frozenset[str] = frozenset()


def struck(faults: Faults, attempts: int, rpc: str = "Commit") -> list[bool]:
    return [faults.match(rpc, "p", NONE) is not None for _ in range(attempts)]


def test_after_those_skipped_the_next_ones_fail_and_no_more() -> None:
    faults = Faults()
    faults.add(Fault(rpc="Commit", skip=1, times=2))
    assert struck(faults, 5) == [False, True, True, False, False]


def test_without_a_number_every_one_fails_until_cleared() -> None:
    faults = Faults()
    faults.add(Fault(rpc="*", times=None))
    assert struck(faults, 20) == [True] * 20
    faults.clear()
    assert struck(faults, 1) == [False]


def test_other_methods_projects_and_collections_are_left_alone() -> None:
    faults = Faults()
    fault = Fault(rpc="Commit", project="p", collection="deliveries")
    faults.add(fault)
    assert faults.match("RunQuery", "p", frozenset({"deliveries"})) is None
    assert faults.match("Commit", "q", frozenset({"deliveries"})) is None
    assert faults.match("Commit", "p", frozenset({"users"})) is None
    assert faults.match("Commit", "p", frozenset({"users", "deliveries"})) is fault


def test_faults_strike_in_the_order_they_were_set_up() -> None:
    faults = Faults()
    first, second = Fault(rpc="Commit", code="ABORTED"), Fault(rpc="*", code="INTERNAL")
    faults.add(first)
    faults.add(second)
    assert [faults.match("Commit", "p", NONE) for _ in range(3)] == [first, second, None]


def test_a_rate_strikes_the_same_attempts_for_the_same_seed() -> None:
    def drawn(seed: int) -> list[bool]:
        faults = Faults()
        faults.add(Fault(rpc="Commit", times=None, rate=0.3, seed=seed))
        return struck(faults, 200)

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    assert 30 <= sum(drawn(1)) <= 90


def test_a_rate_can_be_limited_too() -> None:
    faults = Faults()
    faults.add(Fault(rpc="Commit", times=3, rate=0.5))
    assert sum(struck(faults, 100)) == 3


def test_a_fault_is_read_from_plain_values() -> None:
    data = {"rpc": "Commit", "times": None, "when": "after", "code": "HANG", "delay": 2, "collection": "c"}
    assert Fault.from_json(data) == Fault(rpc="Commit", times=None, when="after", code="HANG", delay=2, collection="c")


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({}, "rpc"),
        ({"rpc": ""}, "rpc"),
        ({"rpc": 1}, "rpc"),
        ({"rpc": "*", "times": 0}, "times"),
        ({"rpc": "*", "times": "2"}, "times"),
        ({"rpc": "*", "skip": -1}, "skip"),
        ({"rpc": "*", "when": "during"}, "when"),
        ({"rpc": "*", "code": "TIMEOUT"}, "code"),
        ({"rpc": "*", "delay": -0.1}, "delay"),
        ({"rpc": "*", "rate": 1.1}, "rate"),
        ({"rpc": "*", "seed": None}, "seed"),
        ({"rpc": "*", "count": 2}, "count"),
    ],
)
def test_a_wrong_value_is_refused_by_its_name(data: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidFaultError, match=f"^{field}: "):
        Fault.from_json(data)
