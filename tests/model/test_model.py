"""The verbs against the promises, in whatever order everybody acts."""

import os

from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.model.world import World

RUNS = int(os.environ.get("FUZZ", "150"))  # `make fuzz` sets more


def test_whatever_happens_in_whatever_order_the_promises_hold() -> None:
    run_state_machine_as_test(World, settings=settings(max_examples=RUNS, stateful_step_count=50, deadline=None))
