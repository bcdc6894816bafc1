"""A large audience, planned side by side by planners that die at random: everybody is owed one all the same."""

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from emulator.firestore import Firestore
from emulator.tasks import CloudTasks
from ledgermail.app import App
from ledgermail.ledger.delivery import Status
from ledgermail.planning.coordinator import STALE, Coordinator
from tests.integration.conftest import Ground
from tests.integration.interruptions import Died, die
from tests.integration.planning import DAILY, Planning
from tests.integration.test_run_parts import NOW, POINTS, RUN

PEOPLE = 10_000


@pytest.fixture
def plan(app: App, ground: Ground, tasks_server: CloudTasks) -> Planning:
    """A deployment whose only mailing is the daily digest, at 8:00 in UTC."""
    return Planning(app, ground, tasks_server, {"daily-digest": DAILY})


def test_ten_thousand_in_one_cohort_are_each_owed_one_however_often_their_planners_die(
    plan: Planning, controlled: Firestore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While no delivery can be given a task, too: the sweep makes those, which others test."""
    deaf = App(plan.app.settings, plan.mailings).tasks
    with monkeypatch.context() as nowhere:
        nowhere.setenv("CLOUD_TASKS_EMULATOR_HOST", "127.0.0.1:1")
        assert not deaf.go_on("plan", {})
    wants = {"mailings": {"daily-digest": {"active": True}}}
    plan.users({f"user_{number:06}": wants for number in range(1, PEOPLE + 1)})
    chance, now, deaths, most_at_once = random.Random(4), NOW, 0, 0
    plan.tick(now)
    while bodies := plan.take_tasks():
        most_at_once = max(most_at_once, len(bodies))
        with ThreadPoolExecutor(4) as pool:
            deaths += sum(pool.map(partial(dies, replace(plan.coordinator(now), tasks=deaf)), seeded(bodies, chance)))
        now += STALE + timedelta(seconds=1)
        plan.tick(now)
    run = plan.runs()[RUN]
    assert (run["state"], run["intended"], plan.parts(RUN)) == ("planned", PEOPLE, {})
    (counted,) = plan.app.statuses.runs.since(NOW, 1)
    assert (counted.statuses[Status.PENDING], counted.holds) == (PEOPLE, True)
    assert most_at_once >= 2
    assert deaths >= 4


def seeded(bodies: list[dict[str, Any]], chance: random.Random) -> list[tuple[int, dict[str, Any]]]:
    """The tasks, some of them twice, each with a seed of its own."""
    given_out = bodies + chance.sample(bodies, len(bodies) // 2)
    return [(chance.randrange(10**6), body) for body in given_out]


def dies(whole: Coordinator, task: tuple[int, dict[str, Any]]) -> bool:
    """Plan a part until its end or a random one; whether it died."""
    seed, body = task
    chance = random.Random(seed)
    interrupt, part, method = chance.choice(POINTS)
    dying: dict[str, Any] = {part: interrupt(getattr(whole, part), method, die, call=chance.randint(1, 8))}
    try:
        replace(whole, **dying).plan_part(body["run_key"], body["part"])
    except Died:
        return True
    return False
