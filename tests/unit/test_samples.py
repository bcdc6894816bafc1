"""The figures of finished deliveries: lag, attempts, and what each stage took."""

from datetime import timedelta

import pytest

from ledgermail.ledger.delivery import Delivery, Stage, Status
from ledgermail.status.samples import Spread, figures
from tests.samples import NOW, a_delivery


def finished(lag: float = 1, *, attempt: int = 1, **stages: float) -> Delivery:
    """A delivery claimed so many seconds after it was due, its stages so many seconds after that."""
    claimed = NOW + timedelta(seconds=lag)
    done = {name: Stage(at=claimed + timedelta(seconds=after), reference="r") for name, after in stages.items()}
    return a_delivery(Status.ACCEPTED, first_claimed_at=claimed, attempt=attempt, stages=done)


def test_of_nothing_there_are_no_figures() -> None:
    assert figures([]) is None


def test_lag_is_from_the_due_time_to_the_first_claim() -> None:
    found = figures([finished(lag) for lag in range(1, 102)])
    assert found is not None
    assert found.lag == Spread(median=51, p95=96)


@pytest.mark.parametrize(("lag", "seconds"), [(5, 5), (0, 0), (-1, 0)])
def test_of_one_delivery_the_figures_are_its_own_and_a_claim_a_little_early_is_in_time(
    lag: float, seconds: float
) -> None:
    found = figures([finished(lag)])
    assert found is not None
    assert found.lag == Spread(median=seconds, p95=seconds)


def test_a_stage_takes_from_the_end_of_the_one_before() -> None:
    found = figures([finished(render=0, email=2, webhook=7)])
    assert found is not None
    assert {name: spread.median for name, spread in found.stages.items()} == {"render": 0, "email": 2, "webhook": 5}


def test_a_stage_that_is_not_on_record_is_left_out() -> None:
    found = figures([finished(email=3), finished(email=3)])
    assert found is not None
    assert found.stages == {"email": Spread(median=3, p95=3)}


def test_attempts_are_those_of_all_and_who_was_never_claimed_has_no_lag() -> None:
    never = a_delivery(Status.SUPPRESSED, attempt=0)
    found = figures([finished(attempt=3), never])
    assert found is not None
    assert (found.sampled, found.attempts, found.lag) == (2, 1.5, Spread(median=1, p95=1))
    alone = figures([never])
    assert alone is not None
    assert (alone.lag, alone.stages) == (None, {})
