"""The same on Firestore, whose answers get lost: every change is made exactly once, and is the one that the verb says."""

import os
from collections.abc import Mapping
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test
from typing_extensions import override

from emulator.firestore import Firestore
from ledgermail.app import App
from ledgermail.errors import ClaimLost, FenceLost, WrongStatus
from ledgermail.ledger.delivery import Delivery, to_document
from ledgermail.ledger.ledger import DELIVERIES
from ledgermail.planning.book import Books
from ledgermail.planning.page import Page
from ledgermail.planning.scan import turned
from tests.integration.conftest import Ground
from tests.model.hand import Act, Verb
from tests.model.moves import MOVES, Move
from tests.model.world import World

RUNS = int(os.environ.get("FUZZ", "12"))  # `make fuzz` sets more
CODES = st.sampled_from(["INTERNAL", "ABORTED", "UNAVAILABLE"])
LOSE = Move("lose", 6, {"code": CODES, "when": st.sampled_from(["before", "after"])})


class Stored(World):
    """The world whose deliveries are in Firestore, too; what is there must be what the verbs made of it in memory."""

    moves: tuple[Move, ...] = (*MOVES, LOSE)
    app: App
    ground: Ground
    server: Firestore

    def __init__(self) -> None:
        super().__init__()
        self.server.clear_faults()
        for document in self.ground.db.collection(DELIVERIES).stream():
            document.reference.delete()
        self.planners = Books(self.app.client)

    def lose(self, code: str, when: str) -> None:
        """The next commit is not made, or is made and nobody is told."""
        self.server.clear_faults()
        self.server.fail("Commit", project=self.app.settings.project, code=code, when=when)

    @override
    def read(self, name: str) -> Any:
        return self.app.ledger.read(name)

    @override
    def read_book(self) -> Any:
        return super().read_book(), self.planners.read("scan:model")

    @override
    def add_page(self, book: Any, page: Page) -> Page | None:
        moved, stored = book
        new = super().add_page(moved, page)
        try:
            _, added = self.planners.add_page(turned(stored), page, f"model:{self.now.date()}")
        except FenceLost:
            added = None
        assert added == new
        self.compare()
        return new

    @override
    def apply(self, name: str, verb: Verb, **seen: Any) -> Delivery | None:
        after = super().apply(name, verb, **seen)
        try:
            made = self.app.ledger.change(name, verb, known=seen.get("known")).delivery
        except (ClaimLost, WrongStatus):
            made = None
        assert made == after
        self.compare()
        return after

    @override
    def change_all(self, asked: Mapping[str, Verb]) -> Mapping[str, Delivery | None]:
        after = {}
        for name in asked:
            if name in self.ledger:
                before = self.ledger[name]
                self.ledger[name] = after[name] = asked[name](before)
                self.hold(before, after[name], Act.PROOF, None, self.now)
        assert self.app.ledger.change_all(asked) == after
        self.compare()
        return after

    @override
    def remove(self, name: str) -> None:
        super().remove(name)
        self.server.clear_faults()
        self.ground.db.collection(DELIVERIES).document(name).delete()

    def compare(self) -> None:
        """Delivery by delivery, what is stored."""
        assert self.ground.deliveries() == {name: to_document(delivery) for name, delivery in self.ledger.items()}


def test_on_firestore_every_change_is_made_once_though_answers_are_lost(
    app: App, ground: Ground, controlled: Firestore
) -> None:
    machine = type("Machine", (Stored,), {"app": app, "ground": ground, "server": controlled})
    run_state_machine_as_test(machine, settings=settings(max_examples=RUNS, stateful_step_count=30, deadline=None))
