"""What is not well: each kind of problem by itself, exactly from its border on."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from ledgermail.delivering.gate import Gate
from ledgermail.ledger.delivery import Status
from ledgermail.planning.run import State
from ledgermail.planning.runs import Account, RunCounts
from ledgermail.status.ages import Oldest
from ledgermail.status.health import Kind, Seen, problems
from tests.samples import NOW, a_mailing

ALERTS = a_mailing()
MAILINGS = {ALERTS.name: ALERTS}
SECOND = timedelta(seconds=1)
LATE, IN_TIME = ALERTS.promise + SECOND, ALERTS.promise


def seen(**changes: Any) -> Seen:
    well = Seen(now=NOW, gate=Gate(), oldest={ALERTS.name: None}, unread={})
    return replace(well, **changes)


def run(state: str | None, age: timedelta, mailing: str = ALERTS.name) -> RunCounts:
    account = Account(
        run_key="r",
        mailing=mailing,
        state=state,
        opened_at=NOW - age,
        intended=5,
        pruned=0,
        duplicates=0,
        read_at=NOW,
    )
    return RunCounts(account=account, total=4, statuses={Status.PENDING: 4})


@pytest.mark.parametrize(
    ("changes", "kinds"),
    [
        ({}, []),
        ({"gate": Gate(paused=True)}, []),
        ({"gate": Gate(open_until=NOW + SECOND)}, [Kind.BREAKER]),
        ({"gate": Gate(open_until=NOW)}, []),
        ({"oldest": {ALERTS.name: Oldest(NOW - LATE, "r")}}, [Kind.LATE]),
        ({"oldest": {ALERTS.name: Oldest(NOW - IN_TIME, "r")}}, []),
        ({"oldest": {ALERTS.name: Oldest(NOW + LATE, "r")}}, []),
        ({"unread": {ALERTS.name: LATE}}, [Kind.UNREAD]),
        ({"unread": {ALERTS.name: IN_TIME}}, []),
        ({"counts": [run(State.PLANNING, LATE)]}, [Kind.PLANNING]),
        ({"counts": [run(State.PLANNING, IN_TIME)]}, []),
        ({"counts": [run(State.PLANNED, LATE)]}, []),
        ({"counts": [run(None, LATE)]}, []),  # what does not hold just now is given its grace
        ({"counts": [run(State.PLANNING, SECOND, "gone")]}, [Kind.PLANNING]),
        ({"broken": ["r"]}, [Kind.IDENTITY]),
    ],
)
def test_each_kind_begins_at_its_border(changes: dict[str, Any], kinds: list[Kind]) -> None:
    assert [problem.kind for problem in problems(seen(**changes), MAILINGS)] == kinds


def test_an_age_is_never_below_nothing() -> None:
    assert Oldest(NOW + LATE, "r").age(NOW) == timedelta()


def test_a_run_holds_when_all_that_it_intended_is_there_or_was_pruned_and_not_while_it_is_planned() -> None:
    short = run(State.PLANNED, SECOND)
    assert not short.holds
    assert replace(short, total=5).holds
    assert replace(short, account=replace(short.account, pruned=1)).holds
    assert run(State.PLANNING, SECOND).holds
