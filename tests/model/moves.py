"""Moves: what may happen next, how often, and with which drawings.

One rule draws among those that are possible now. Rules of their own would be left out of many runs altogether, which is how
Hypothesis varies them; here nothing of interest happens without workers, and they would be missing in most.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import product
from typing import Any

from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from ledgermail.ledger import overrides
from tests.model.hand import Finding
from tests.model.provider import REPLIES, Reply

MANY = st.integers(0, 11)  # which of those there are
READY_FIRST = NEWEST_FIRST = st.sampled_from([0, 0, 0, 1, 2])
WAITS = st.sampled_from([1, 30, 99, 125, 400, 3600, 6 * 3600, 30 * 3600])  # seconds
AGES = st.sampled_from([days * 86400 for days in (3, 8, 31)])  # in which much ends
AROUND = st.sampled_from([1, 1, 0, -3])
OFF = st.sampled_from([timedelta(minutes=minutes) for minutes in (-5, 0, 1)])  # an event by the provider's clock
HEARD = st.lists(
    st.tuples(NEWEST_FIRST, st.sampled_from(["processed", "dropped", "delivered", "open"]), OFF), min_size=1, max_size=4
)


@dataclass(frozen=True)
class Move:
    """A method, its weight among the others, and what it is given."""

    name: str
    weight: int
    given: dict[str, st.SearchStrategy[Any]] = field(default_factory=dict)
    when: Callable[[Any], bool] = lambda _: True


def _any(holds: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Whether that holds of one of the deliveries."""
    return lambda world: any(map(holds, world.ledger.values()))


STEPS = st.sampled_from([0, 1, 2, 2, 2, 3, 4, 5, 5])  # of a worker: claim, send, settle; send and settle for a webhook
GIVEN = {"replies": st.sampled_from(list(product(REPLIES, REPLIES)))}
VERBS = st.sampled_from([overrides.cancel, overrides.vouch, *[overrides.reopen] * 2])
FOUND = st.sampled_from([*Finding, *[Finding.MAIL] * 8, *[Finding.UNTOLD] * 3])
OFTEN_NONE = st.sampled_from([*Finding, *[Finding.MAIL] * 4])
MEANWHILE = st.sampled_from(
    [None, None, *["processed"] * 3, overrides.cancel, overrides.vouch, *[overrides.reopen] * 2]
)
PACES = st.sampled_from(list(product([0, 1, 1], [0, 1, 1, 2, 2, 2, 3, 5], [0, 0, 1, 1, 2, 3], [0, 1, 1, 2, 3])))
TWO = {"steps": STEPS, "then": STEPS, **GIVEN, "finding": OFTEN_NONE}
OTHERS = st.sampled_from(list(product([*REPLIES, *[Reply.NO_MORE] * 4], REPLIES)))  # to whoever came after
OUTLIVED = {"meanwhile": MEANWHILE, "pace": PACES, **GIVEN, "others": OTHERS, "finding": OFTEN_NONE}
LIVES = _any(lambda d: d.unfinished)
MOVES: tuple[Move, ...] = (
    Move("start", 24, {"which": READY_FIRST, "steps": STEPS, **GIVEN, "finding": FOUND}, lambda w: w.waiting()),
    Move("start_two", 16, {"which": READY_FIRST, "again": st.booleans(), **TWO}, lambda w: w.waiting()),
    Move("go_on", 16, {"which": MANY, "steps": st.sampled_from([1, 1, 2]), **GIVEN}, lambda w: w.hands),
    Move("outlive", 40, {"which": READY_FIRST, **OUTLIVED}, lambda w: w.holders()),
    Move("die", 2, {"which": MANY}, lambda w: w.hands),
    Move("wait", 4, {"seconds": WAITS}, LIVES),
    Move("wait", 1, {"seconds": AGES}),
    Move("wait_for", 12, {"which": MANY, "seconds": AROUND}, LIVES),
    Move("wait_out", 4, {"which": READY_FIRST, "seconds": AROUND}, LIVES),
    Move("sweep", 8, {"which": MANY, "skew": st.sampled_from([-1, 0, 0, 1])}, LIVES),
    Move("arrive", 4, {"which": MANY}, lambda w: w.provider.on_their_way),
    Move("hear", 6, {"heard": HEARD}, lambda w: w.provider.mails),
    Move("hear_of_another", 1, {"which": MANY}, lambda w: w.ledger),
    Move(
        "operate",
        8,
        {"which": MANY, "verb": st.just(overrides.reopen), "ended": st.just(True)},
        _any(lambda d: d.status in overrides.REOPENABLE),
    ),
    Move("operate", 3, {"which": MANY, "verb": VERBS, "ended": st.just(False)}),
    Move("plan_next", 24, {}, lambda w: w.unplanned() and sum(d.unfinished for d in w.ledger.values()) < 2),
    Move("open_book", 1, {}, lambda w: len(w.books) < 2),
    Move("plan", 1, {"planner": MANY, "which": MANY}, lambda w: w.books),
    Move("prune", 2, {}, _any(lambda d: d.prune_at is not None)),
)


class Mover(RuleBasedStateMachine):
    """Makes one possible move after the other."""

    moves: tuple[Move, ...] = MOVES
    stopped = False  # in the middle of a move: a promise was broken

    @rule(data=st.data())
    def act(self, data: st.DataObject) -> None:
        """The next move."""
        possible = [move for move in self.moves if move.when(self)]
        which = data.draw(st.integers(0, sum(move.weight for move in possible) - 1))
        move = [move for move in possible for _ in range(move.weight)][which]
        given = {name: data.draw(strategy) for name, strategy in move.given.items()}
        note(f"{move.name}({', '.join(f'{name}={value}' for name, value in given.items())})")
        self.stopped = True
        getattr(self, move.name)(**given)
        self.stopped = False
