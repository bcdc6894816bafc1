"""The gate: the pause and the breaker, read once in a while by every instance."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest
from google.cloud import firestore

from emulator.firestore import Firestore
from ledgermail.app import App
from ledgermail.clock import Clock
from ledgermail.delivering.gate import KEPT_SECONDS, PAUSED_WAIT, Gate, Gates
from ledgermail.errors import LedgerUnavailable

NOW = datetime(2026, 8, 16, 9, 30, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@dataclass
class Hands:
    """A clock that is moved by hand."""

    seconds: float = 0.0
    clock: Clock = field(init=False)

    def __post_init__(self) -> None:
        self.clock = Clock(now=lambda: NOW + timedelta(seconds=self.seconds), monotonic=lambda: self.seconds)


@pytest.fixture
def hands() -> Hands:
    """The hands of the clock that both instances go by."""
    return Hands()


@pytest.fixture
def gates(db: firestore.Client, hands: Hands) -> Gates:
    """The gate as one instance sees it."""
    return Gates(db, hands.clock)


@pytest.fixture
def others(db: firestore.Client, hands: Hands) -> Gates:
    """The gate as another instance sees it."""
    return Gates(db, hands.clock)


@pytest.mark.parametrize(
    ("gate", "wait"),
    [
        (Gate(), None),
        (Gate(paused=True), PAUSED_WAIT),
        (Gate(open_until=NOW + MINUTE), MINUTE),
        (Gate(open_until=NOW), None),
        (Gate(open_until=NOW - MINUTE), None),
        (Gate(paused=True, open_until=NOW - MINUTE), PAUSED_WAIT),
    ],
)
def test_how_long_mail_is_held_back(gate: Gate, wait: timedelta | None) -> None:
    assert gate.wait(NOW) == wait


def test_where_nobody_has_closed_it_mail_goes_out(gates: Gates) -> None:
    assert gates.read() == Gate()


def test_what_one_instance_closes_the_others_see_within_seconds(gates: Gates, others: Gates, hands: Hands) -> None:
    others.read()
    gates.open_breaker(MINUTE, "429")
    gates.pause(True)
    hands.seconds = KEPT_SECONDS - 0.1
    assert others.read() == Gate()
    hands.seconds = KEPT_SECONDS
    assert others.read() == Gate(paused=True, open_until=NOW + MINUTE, reason="429")


def test_whoever_opens_the_breaker_sees_it_at_once(gates: Gates) -> None:
    gates.read()
    gates.open_breaker(MINUTE, "401")
    assert gates.read().wait(NOW) == MINUTE


def test_ending_the_pause_leaves_the_breaker_open(gates: Gates, others: Gates) -> None:
    gates.open_breaker(MINUTE, "401")
    gates.pause(True)
    gates.pause(False)
    assert others.read() == Gate(paused=False, open_until=NOW + MINUTE, reason="401")


def test_a_breaker_that_opens_during_a_pause_leaves_it_on(gates: Gates) -> None:
    gates.pause(True)
    gates.read()
    gates.open_breaker(MINUTE, "401")
    assert gates.read() == Gate(paused=True, open_until=NOW + MINUTE, reason="401")


def test_a_breaker_that_is_open_long_enough_is_not_written_again(
    gates: Gates, db: firestore.Client, hands: Hands
) -> None:
    """Nor by those who are told the same a moment later."""
    gates.open_breaker(MINUTE, "429")
    written = db.collection("state").document("gate").get().update_time
    hands.seconds = KEPT_SECONDS
    gates.open_breaker(MINUTE, "429")
    gates.open_breaker(MINUTE / 2, "429")
    assert db.collection("state").document("gate").get().update_time == written
    gates.open_breaker(2 * MINUTE, "429")
    assert db.collection("state").document("gate").get().update_time != written


def test_a_hold_is_not_shortened_by_an_instance_that_has_not_heard_of_it(gates: Gates, others: Gates) -> None:
    others.read()
    gates.open_breaker(10 * MINUTE, "401")
    others.open_breaker(MINUTE, "429")
    assert others.read().wait(NOW) == 10 * MINUTE


def test_many_deliveries_read_it_once(gates: Gates, hands: Hands, project: str, controlled: Firestore) -> None:
    gates.read()
    controlled.reset_usage(project)
    for _ in range(100):
        hands.seconds += 1 / 16
        gates.read()
    assert controlled.usage(project).reads == 1


def test_a_gate_that_cannot_be_read_is_not_taken_for_open(gates: Gates, project: str, controlled: Firestore) -> None:
    controlled.fail("BatchGetDocuments", project=project, times=None, code="INTERNAL")
    with pytest.raises(LedgerUnavailable):
        gates.read()
    controlled.clear_faults()
    assert gates.read() == Gate()


def test_a_breaker_that_could_not_be_written_holds_this_instance_back(
    gates: Gates, project: str, controlled: Firestore
) -> None:
    gates.read()
    controlled.fail("Commit", project=project, times=None, code="INTERNAL")
    with pytest.raises(LedgerUnavailable):
        gates.open_breaker(MINUTE, "401")
    assert gates.read().wait(NOW) == MINUTE


def test_the_worker_goes_by_this_gate(app: App) -> None:
    app.gates.pause(True)
    assert app.worker.deliver("u1_j1").what == "held_back"
