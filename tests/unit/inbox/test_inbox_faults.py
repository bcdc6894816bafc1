"""Which try of which message fails is decided by the plan alone."""

import threading
from collections import Counter

import pytest

from emulator.inbox.faults import Fault, FaultPlanError, Faults, Plan, drawn, read_plan

IDS = [f"delivery-{number}" for number in range(4000)]


def test_the_same_plan_draws_the_same_faults_in_any_order() -> None:
    plan = Plan(seed=1, rates={Fault.CUT: 0.3, Fault.HANG: 0.2})
    forwards = {(key, nth): drawn(plan, key, nth) for key in IDS for nth in (1, 2)}
    backwards = {(key, nth): drawn(plan, key, nth) for nth in (2, 1) for key in reversed(IDS)}
    assert forwards == backwards


def test_another_seed_and_another_try_draw_anew() -> None:
    one, two = Plan(seed=1, rates={Fault.CUT: 0.5}), Plan(seed=2, rates={Fault.CUT: 0.5})
    assert [drawn(one, key, 1) for key in IDS] != [drawn(two, key, 1) for key in IDS]
    assert [drawn(one, key, 1) for key in IDS] != [drawn(one, key, 2) for key in IDS]


def test_faults_come_at_their_rates() -> None:
    rates = {Fault.THROTTLE: 0.1, Fault.CUT: 0.05, Fault.HANG: 0.0}
    seen = Counter(drawn(Plan(rates=rates), key, 1) for key in IDS)
    assert seen[Fault.THROTTLE] == pytest.approx(400, rel=0.2)
    assert seen[Fault.CUT] == pytest.approx(200, rel=0.2)
    assert seen[Fault.HANG] == 0
    assert sum(seen.values()) == len(IDS)


def test_only_the_first_tries_can_fail() -> None:
    plan = Plan(rates={Fault.CUT: 1.0}, only_first=2)
    assert [drawn(plan, "d", nth) for nth in (1, 2, 3, 4)] == [Fault.CUT, Fault.CUT, None, None]


def test_tries_are_counted_a_message_and_anew_under_a_new_plan() -> None:
    faults = Faults()
    plan = Plan(rates={Fault.CUT: 1.0}, only_first=1)
    faults.use(plan)
    assert [faults.meet("a"), faults.meet("a"), faults.meet("b")] == [Fault.CUT, None, Fault.CUT]
    faults.use(plan)
    assert faults.meet("a") is Fault.CUT


def test_ordered_faults_come_before_the_plan_and_in_their_order() -> None:
    faults = Faults()
    faults.order(Fault.CUT, 2)
    faults.order(Fault.RESET, 1)
    assert [faults.meet("a") for _ in range(4)] == [Fault.CUT, Fault.CUT, Fault.RESET, None]


def test_a_new_plan_releases_what_hangs() -> None:
    faults = Faults()
    faults.use(Plan(hang_seconds=3600))
    hanging = threading.Thread(target=faults.hang)
    hanging.start()
    while not faults.hanging:
        hanging.join(0.01)
    faults.use(Plan())
    hanging.join()  # an hour, were it not released
    assert faults.hanging == 0


@pytest.mark.parametrize(
    "wanted",
    [
        [],
        {"rate": {"cut": 0.1}},
        {"rates": {"explode": 0.1}},
        {"rates": {"cut": -0.1}},
        {"rates": {"cut": 0.6, "hang": 0.6}},
        {"rates": {"cut": "much"}},
        {"rates": ["cut"]},
        {"seed": "one"},
        {"only_first": 1.5},
        {"hang_seconds": None},
        {"retry_after": "2"},
    ],
)
def test_a_plan_that_cannot_be_read_is_refused(wanted: object) -> None:
    with pytest.raises(FaultPlanError):
        read_plan(wanted)


def test_a_plan_is_read_from_json() -> None:
    wanted = {"seed": 1, "rates": {"throttle": 0.02, "cut": 0.01}, "only_first": 1, "hang_seconds": 3, "retry_after": 2}
    assert read_plan(wanted) == Plan(
        seed=1, rates={Fault.THROTTLE: 0.02, Fault.CUT: 0.01}, only_first=1, hang_seconds=3, retry_after=2
    )
