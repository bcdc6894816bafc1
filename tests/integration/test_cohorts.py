"""Whose run it is: users by the schedule they have, whatever they wrote for one, and the period that is theirs."""

from dataclasses import replace
from datetime import timedelta

import pytest

from emulator.firestore import Firestore
from emulator.tasks import CloudTasks
from ledgermail.app import App
from ledgermail.ledger import ids
from ledgermail.planning.schedules import MAX_CHARS
from ledgermail.store import MOST_IN
from tests.integration.conftest import Ground
from tests.integration.interruptions import before
from tests.integration.planning import DAILY, DAY, HOUR, SHIPPED, WEEKLY, Planning, at


@pytest.fixture
def plan(app: App, ground: Ground, tasks_server: CloudTasks) -> Planning:
    """A deployment whose only mailing is the daily digest, at 8:00 in UTC."""
    return Planning(app, ground, tasks_server, {"daily-digest": DAILY})


def digest(user_id: str, day: str = "2100-08-16") -> str:
    return ids.run_delivery_id(user_id, f"daily-digest:{day}")


def test_a_look_at_schedules_costs_a_read_each_however_many_users_have_them(
    plan: Planning, project: str, controlled: Firestore
) -> None:
    for schedule in range(3):
        plan.subscribe(*(f"u{schedule}{number}" for number in range(20)), schedule=f"0 {schedule} * * *")
    plan.tick(at(0))
    controlled.reset_usage(project)
    plan.tick(at(0, 8.1))
    remembered, schedules, end, unplanned = 1, 3, 1, 1
    usage = controlled.usage(project)
    assert (usage.reads, usage.writes) == (remembered + schedules + end + unplanned, 0)


@pytest.mark.parametrize("schedule", [None, "", 7, True, [], ["0 9 * * *"], {"cron": "0 9 * * *"}])
def test_who_has_no_schedule_has_the_mailings(schedule: object, plan: Planning) -> None:
    plan.subscribe("u1", schedule=schedule)
    plan.subscribe("u2", schedule="0 9 * * *")
    plan.tick(at(0))
    plan.tick(at(0, 9))
    assert {delivery.user_id: delivery.due_at for delivery in plan.owed()} == {"u1": at(0, 8), "u2": at(0, 9)}
    assert {run["intended"] for run in plan.runs().values()} == {1}


def test_who_moves_between_schedules_while_they_are_counted_hides_nobody_without_one(plan: Planning) -> None:
    plan.subscribe("u1")
    for number in range(MOST_IN):
        plan.subscribe(f"v{number}", schedule=f"{number} 6 * * *")
    plan.subscribe("u2", schedule="9 7 * * *")
    the_last = 3  # after everybody, and those of the first thirty schedules
    whole = plan.coordinator(at(0))

    def move() -> None:
        plan.subscribe("v0", schedule="9 7 * * *", since=at(0))

    replace(whole, audience=before(whole.audience, "_counted", move, call=the_last)).tick()
    assert digest("u1") in plan.ground.deliveries()


NO_SCHEDULES = [
    "default",
    "~default",
    "every morning",
    "0 8 * * * Mars/Olympus",
    "0 0 31 2 *",
    "* * * *",
    "a|b",
    "|",
    ".",
    "..",
    "__x__",
    "`0 8`.\\",
    "\U0001f600",
    "\U0010ffff",
    "\0",
    "x" * 300,
    "y" * 2_000,
    "ä" * 2_000,
    "x" * 200 + "\U0010ffff" * 300,
    "\ud7ff" * 201,
    "\U0010ffff" * 300,
]


def test_a_schedule_that_is_none_is_named_and_its_user_has_the_mailings(
    plan: Planning, capsys: pytest.CaptureFixture[str]
) -> None:
    documents = [f"u{number}" for number in range(len(NO_SCHEDULES))]
    for user_id, schedule in zip(documents, NO_SCHEDULES, strict=True):
        plan.subscribe(user_id, schedule=schedule)
    plan.subscribe("u", "z")
    plan.subscribe("known", schedule="zero")
    heads = {schedule[:MAX_CHARS] for schedule in NO_SCHEDULES}  # those too long for one are told apart no further
    plan.tick(at(0))
    plan.tick(at(0, 8.1))
    plan.tick(at(1))
    assert capsys.readouterr().out.count('"event": "schedule.invalid"') == 3 * (len(heads) + 1)
    wanted = sorted(
        digest(user_id, day) for user_id in [*documents, "u", "z", "known"] for day in ("2100-08-16", "2100-08-17")
    )
    assert sorted(delivery.id for delivery in plan.owed()) == wanted
    plan.ground.assert_identity()


def test_only_who_wants_the_mailing_is_owed_it(plan: Planning) -> None:
    plan.subscribe("u1", "u2", schedule="0 8 * * *")
    plan.subscribe("u3", active=False)
    plan.subscribe("u4", active="yes", schedule="0 8 * * *")
    plan.subscribe("u5", mailing="weekly-digest")
    plan.ground.user("u6", {"email": "u6@example.com"})
    plan.tick(at(0))
    assert [delivery.user_id for delivery in plan.owed()] == ["u1", "u2"]


def test_each_mailing_has_runs_of_its_own(plan: Planning) -> None:
    both = replace(plan, mailings={"daily-digest": DAILY, "weekly-digest": WEEKLY, "job-alert": SHIPPED["job-alert"]})
    active = {"active": True}
    plan.users({"u1": {"mailings": {"daily-digest": active, "weekly-digest": active, "job-alert": active}}})
    both.tick(at(0))
    both.tick(at(1))
    assert [delivery.subject for delivery in plan.owed()] == [
        "daily-digest:2100-08-16",
        "weekly-digest:2100-08-16",
        "daily-digest:2100-08-17",
    ]


def test_the_weekday_is_the_subscribers(plan: Planning) -> None:
    """Friday 19:00 in UTC is Saturday 5:00 in Brisbane."""
    plan.subscribe("u1", schedule="0 5 * * 6 Australia/Brisbane")
    plan.tick(at(4, 18.9))
    assert plan.owed() == []
    plan.tick(at(4, 19))
    (delivery,) = plan.owed()
    assert (delivery.subject, delivery.due_at) == ("daily-digest:2100-08-21", at(4, 19))
    assert delivery.period_start == at(-3, 19)


def test_a_match_on_the_border_of_two_periods_is_in_one_digest(plan: Planning) -> None:
    plan.subscribe("u1")
    border = at(0, 8)
    tick = timedelta(microseconds=1)
    plan.match("u1", [border - tick, border, border + DAY - tick, border + DAY])
    for day in range(3):
        plan.tick(at(day))
    assert [plan.jobs(delivery) for delivery in plan.owed()] == [["j0"], ["j2", "j1"], ["j3"]]


def test_a_user_whose_id_is_too_long_to_be_asked_for_stands_in_nobodys_way(plan: Planning) -> None:
    plan.subscribe("u" * 1_400, "u" * 1_401, "u", since=at(0, 8) - HOUR)
    plan.tick(at(0))
    assert {delivery.user_id for delivery in plan.owed()} == {"u" * 1_400, "u"}
    plan.ground.assert_identity()
