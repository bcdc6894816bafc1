"""The same on Firestore, whose answers get lost: every change is made exactly once, and is the one that the verb says."""

import os

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import rule, run_state_machine_as_test
from typing_extensions import override

from emulator.firestore import Firestore
from ledgermail.app import App
from ledgermail.errors import ClaimLost, WrongStatus
from ledgermail.ledger.delivery import Delivery, to_document
from tests.integration.conftest import Ground
from tests.model.world import Verb, World

RUNS = int(os.environ.get("FUZZ", "15"))  # `make fuzz` sets more


class Stored(World):
    """The world whose deliveries are in Firestore, too; what is there must be what the verbs made of it in memory."""

    app: App
    ground: Ground
    server: Firestore

    @rule(code=st.sampled_from(["INTERNAL", "ABORTED", "UNAVAILABLE"]), when=st.sampled_from(["before", "after"]))
    def lose(self, code: str, when: str) -> None:
        """The next commit is not made, or is made and nobody is told."""
        self.server.clear_faults()
        self.server.fail("Commit", project=self.app.settings.project, code=code, when=when)

    @override
    def change(self, name: str, verb: Verb) -> Delivery | None:
        before = self.ledger[name]
        after = super().change(name, verb)
        if name not in self.stored:
            self.server.clear_faults()
            self.ground.delivery(before)
            self.stored.add(name)
        try:
            made = self.app.ledger.change(name, verb).delivery
        except (ClaimLost, WrongStatus):
            made = None
        assert made == after
        assert self.ground.deliveries()[name] == to_document(self.ledger[name])
        return after

    def __init__(self) -> None:
        super().__init__()
        self.stored: set[str] = set()  # what has been put there


def test_on_firestore_every_change_is_made_once_though_answers_are_lost(
    app: App, ground: Ground, controlled: Firestore
) -> None:
    machine = type("Machine", (Stored,), {"app": app, "ground": ground, "server": controlled})
    run_state_machine_as_test(machine, settings=settings(max_examples=RUNS, stateful_step_count=30, deadline=None))
