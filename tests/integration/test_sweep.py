"""The sweep: what got stuck goes on, wherever a sweep dies, and whatever stands in its way."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest
from google.api_core.exceptions import InvalidArgument

from emulator.firestore import Firestore
from ledgermail.app import App
from ledgermail.delivering.gate import Gates
from ledgermail.ledger import ids
from ledgermail.ledger.delivery import Delivery, Guarantee, Status
from ledgermail.ledger.policy import Policy
from ledgermail.upkeep.sweep import Sweeper
from ledgermail.upkeep.upkeep import PAGE
from tests.integration.conftest import AppMaker, Ground
from tests.integration.interruptions import Died, after, before, die
from tests.integration.scans import OVERDUE, at
from tests.samples import LEASE, NOW, a_delivery, a_mailing

S = Status


def sweeper_of(app: App, later: timedelta = OVERDUE, boxes: int = 10**6) -> Sweeper:
    return replace(app.sweeper, clock=at(later, boxes))


@pytest.fixture
def sweeper(app: App) -> Sweeper:
    """A sweeper for which the deliveries of the samples are overdue."""
    return sweeper_of(app)


def numbered(number: int, status: Status = S.PENDING, **changes: Any) -> Delivery:
    """The `number`-th delivery, all in shard 0 in the order of their numbers."""
    times = {"wake_at": NOW + timedelta(milliseconds=number)} if status in (S.PENDING, S.IN_FLIGHT) else {}
    return a_delivery(status, id=ids.delivery_id("u1", f"j{number}"), subject=f"j{number}", **(times | changes))


def names(generation: int, *numbers: int) -> list[str]:
    return sorted(ids.task_name(ids.delivery_id("u1", f"j{number}"), generation) for number in numbers)


def test_a_delivery_whose_task_was_lost_gets_a_new_one(sweeper: Sweeper, ground: Ground) -> None:
    ground.delivery(numbered(1))
    assert sweeper.sweep().counts == Counter({"pending": 1, "woken": 1})
    assert ground.tasks() == names(1, 1)
    (delivery,) = ground.deliveries().values()
    assert (delivery["generation"], delivery["attempt"]) == (1, 0)
    assert sweeper.sweep().counts == Counter()


@pytest.mark.parametrize(("guarantee", "status"), [("at_most_once", "unknown"), ("at_least_once", "pending")])
def test_a_dead_workers_lease_ends_as_the_guarantee_says(guarantee: str, status: str, app: App, ground: Ground) -> None:
    ground.delivery(a_delivery(S.IN_FLIGHT, guarantee=Guarantee(guarantee)))
    assert sweeper_of(app, LEASE - timedelta(seconds=1)).sweep().counts == Counter()
    sweeper_of(app, LEASE).sweep()
    (delivery,) = ground.deliveries().values()
    assert (delivery["status"], delivery["last_error"]["category"]) == (status, "lease_ended")
    assert len(ground.tasks()) == (status == "pending")


def test_what_is_past_its_last_day_expires(app: App, ground: Ground) -> None:
    ground.delivery(a_delivery())
    sweeper_of(app, timedelta(days=7, seconds=1)).sweep()
    assert [delivery["status"] for delivery in ground.deliveries().values()] == ["expired"]
    assert ground.tasks() == []


def test_what_is_not_overdue_or_finished_is_left_alone(sweeper: Sweeper, ground: Ground) -> None:
    finished = [numbered(n, status) for n, status in enumerate(set(S) - {S.PENDING, S.IN_FLIGHT})]
    ground.put([*finished, numbered(20, wake_at=NOW + timedelta(hours=1))])
    there = ground.deliveries()
    assert sweeper.sweep().counts == Counter()
    assert (ground.deliveries(), ground.tasks()) == (there, [])


def test_every_shard_is_swept(app: App, ground: Ground) -> None:
    ground.put([numbered(n, shard=n) for n in range(app.settings.shards)])
    assert sweeper_of(app).sweep().counts["pending"] == app.settings.shards


# What it may not touch


def test_a_page_full_of_what_it_may_not_touch_hides_none_behind_it(sweeper: Sweeper, ground: Ground) -> None:
    batch = ground.db.batch()
    for number in range(PAGE):
        delivery_id = ids.delivery_id("u1", f"j{number}")
        document = {"schema_version": 2, "shard": 0, "wake_at": NOW + timedelta(milliseconds=number)}
        batch.set(ground.db.collection("deliveries").document(delivery_id), document)
    batch.commit()
    ground.delivery(numbered(PAGE))
    assert sweeper.sweep().counts == Counter({"passed_over": PAGE, "pending": 1, "woken": 1})
    assert ground.tasks() == names(1, PAGE)


def test_nor_does_it_where_a_sweep_has_time_for_no_more_than_that_page(app: App, ground: Ground) -> None:
    """A sweep that goes on does so behind what it has looked at: else it would look at the same, for ever."""
    batch = ground.db.batch()
    for number in range(PAGE):
        document = {"schema_version": 2, "shard": 0, "wake_at": NOW + timedelta(milliseconds=number)}
        batch.set(ground.db.collection("deliveries").document(ids.delivery_id("u1", f"j{number}")), document)
    batch.commit()
    ground.delivery(numbered(PAGE))
    first = sweeper_of(app, boxes=150).sweep()
    assert first.go_on_at == 0
    second = sweeper_of(app, boxes=150).sweep(0, first.after)
    assert first.counts["passed_over"] + second.counts["passed_over"] == PAGE
    assert ground.tasks() == names(1, PAGE)


def test_a_delivery_of_a_newer_version_is_passed_over_untouched(sweeper: Sweeper, ground: Ground) -> None:
    ground.delivery(numbered(1), schema_version=2)
    there = ground.deliveries()
    sweeper.sweep()
    assert ground.deliveries() == there


def test_what_is_no_delivery_is_set_aside_and_hides_none(sweeper: Sweeper, ground: Ground) -> None:
    ground.delivery(numbered(1), user_id=None)
    ground.delivery(numbered(2), created_at="yesterday")
    ground.delivery(numbered(3))
    counts = sweeper.sweep().counts
    assert (counts["invalid"], counts["pending"]) == (2, 1)
    broken = [d for d in ground.deliveries().values() if d["status"] == "rejected"]
    assert {d["last_error"]["category"] for d in broken} == {"invalid"}
    assert sweeper.sweep().counts == Counter()
    ground.assert_identity()


def test_what_could_not_be_set_aside_is_not_said_to_be(
    sweeper: Sweeper, ground: Ground, project: str, controlled: Firestore
) -> None:
    ground.delivery(numbered(1), user_id=None)
    controlled.fail("Commit", project=project, times=None, code="INTERNAL")
    assert sweeper.sweep().counts == Counter({"not_swept": 1, "woken": 0})


def test_what_is_swept_waits_as_its_mailing_says(sweeper: Sweeper, ground: Ground) -> None:
    mailing = replace(a_mailing(), policy=Policy(slack=timedelta(days=1)))
    ground.put([numbered(1), numbered(2, mailing="gone")])
    replace(sweeper, mailings={"job-alert": mailing}).sweep()
    waits = [delivery["wake_at"] - (NOW + OVERDUE) for delivery in ground.deliveries().values()]
    assert waits == [timedelta(days=1), max(Policy().slack, OVERDUE)]


def test_a_delivery_that_cannot_be_written_hides_none_behind_it(app: App, ground: Ground) -> None:
    """It is as large as a document may be, and the end of its lease makes it larger."""
    largest(ground, numbered(1, S.IN_FLIGHT, guarantee=Guarantee.AT_LEAST_ONCE))
    ground.put([numbered(2), numbered(3, shard=1)])
    assert sweeper_of(app).sweep().counts == Counter(not_swept=1, pending=2, woken=2)
    assert ground.tasks() == names(1, 2, 3)


def largest(ground: Ground, delivery: Delivery) -> None:
    """The delivery in a document that Firestore takes, and would not if it were 20 bytes longer."""
    fits, too_large = 1_000_000, 2**20
    while too_large - fits > 20:
        middle = (fits + too_large) // 2
        try:
            ground.delivery(delivery, padding="x" * middle)
        except InvalidArgument:
            too_large = middle
        else:
            fits = middle


@pytest.mark.parametrize("closes", [{"paused": True}, {"breaker": {"open_until": NOW + timedelta(days=1)}}])
def test_while_mail_is_held_back_only_leases_are_ended(closes: dict[str, Any], app: App, ground: Ground) -> None:
    ground.db.collection("state").document("gate").set(closes)
    ground.put([numbered(1), numbered(2, S.IN_FLIGHT), numbered(3)])
    assert sweeper_of(app).sweep().counts == Counter({"unknown": 1, "woken": 0})
    assert ground.tasks() == []
    ground.db.collection("state").document("gate").delete()
    again = replace(sweeper_of(app), gates=Gates(app.client, at(OVERDUE)))
    assert again.sweep().counts["woken"] == 2


# Dying


@pytest.mark.parametrize("interrupt", [before, after])
@pytest.mark.parametrize("call", [1, 2])
@pytest.mark.parametrize("guarantee", list(Guarantee))
def test_a_sweep_that_dies_around_a_write_leaves_nothing_in_the_way(
    guarantee: Guarantee, call: int, interrupt: type, app: App, sweeper: Sweeper, ground: Ground
) -> None:
    ground.put([numbered(1, S.IN_FLIGHT, guarantee=guarantee), numbered(2)])
    with pytest.raises(Died):
        replace(sweeper, ledger=interrupt(sweeper.ledger, "_write", die, call=call)).sweep()
    sweeper_of(app, 2 * OVERDUE).sweep()
    sweeper_of(app, 3 * OVERDUE).sweep()
    statuses = [delivery["status"] for delivery in ground.deliveries().values()]
    assert statuses == ["unknown" if guarantee is Guarantee.AT_MOST_ONCE else "pending", "pending"]
    woken = {name.partition("-")[0] for name in ground.tasks()}
    assert len(woken) == statuses.count("pending")


@pytest.mark.parametrize("interrupt", [before, after])
def test_a_sweep_that_dies_around_its_tasks_leaves_them_to_the_next(
    interrupt: type, app: App, sweeper: Sweeper, ground: Ground
) -> None:
    ground.put([numbered(1), numbered(2)])
    with pytest.raises(Died):
        replace(sweeper, tasks=interrupt(sweeper.tasks, "wake", die)).sweep()
    assert sweeper_of(app).sweep().counts == Counter()
    assert sweeper_of(app, 2 * OVERDUE).sweep().counts["woken"] == 2
    assert set(names(2, 1, 2)) <= set(ground.tasks())


def test_a_change_that_was_not_answered_is_woken_all_the_same(
    sweeper: Sweeper, ground: Ground, project: str, controlled: Firestore
) -> None:
    ground.delivery(numbered(1))
    controlled.fail("Commit", project=project, when="after", code="INTERNAL")
    assert sweeper.sweep().counts["woken"] == 1
    assert ground.tasks() == names(1, 1)


def test_a_sweep_out_of_time_says_where_to_go_on(app: App, ground: Ground) -> None:
    ground.put([numbered(n, shard=n) for n in range(4)])
    first = sweeper_of(app, boxes=5).sweep()
    assert (first.counts["pending"], first.go_on_at) == (2, 2)
    second = sweeper_of(app).sweep(first.go_on_at or 0)
    assert (second.counts["pending"], second.go_on_at) == (2, None)
    assert ground.tasks() == names(1, 0, 1, 2, 3)


def test_a_sweep_out_of_time_within_a_page_wakes_what_it_has_swept(app: App, ground: Ground) -> None:
    ground.put([numbered(n) for n in range(5)])
    first = sweeper_of(app, boxes=5).sweep()
    assert (first.counts["woken"], first.go_on_at) == (3, 0)
    assert sweeper_of(app).sweep().counts["woken"] == 2
    assert ground.tasks() == names(1, *range(5))


def test_a_sweep_without_time_for_a_single_delivery_stays_where_it_stood(app: App, ground: Ground) -> None:
    ground.put([numbered(n) for n in range(3)])
    first = sweeper_of(app, boxes=3).sweep()
    second = sweeper_of(app, boxes=2).sweep(first.go_on_at or 0, first.after)
    assert (first.counts["woken"], second.counts["woken"]) == (1, 0)
    assert first.after is not None
    assert (second.go_on_at, second.after) == (0, first.after)


# Two at once


def test_two_sweeps_at_once_make_one_task_each(make_app: AppMaker, ground: Ground) -> None:
    ground.put([numbered(n) for n in range(30)])
    together = Barrier(2)

    def sweep(_: int) -> None:
        sweeper = sweeper_of(make_app())
        together.wait()
        sweeper.sweep()

    with ThreadPoolExecutor() as pool:
        list(pool.map(sweep, range(2)))
    assert ground.tasks() == names(1, *range(30))
    assert {delivery["generation"] for delivery in ground.deliveries().values()} == {1}


@pytest.mark.parametrize("answer", ["accepted", "claimed"])
def test_a_worker_that_is_faster_than_the_sweep_keeps_its_delivery(
    answer: str, app: App, sweeper: Sweeper, ground: Ground
) -> None:
    start = numbered(1, S.IN_FLIGHT)
    ground.delivery(start)
    end = numbered(1, S.ACCEPTED) if answer == "accepted" else start.changed(wake_at=NOW + 2 * OVERDUE, claim_id="c2")
    ledger = before(sweeper.ledger, "_write", lambda: ground.delivery(end))
    report = replace(sweeper, ledger=ledger).sweep()
    assert app.ledger.read(end.id).delivery == end
    assert ("unknown" in report.counts, ground.tasks()) == (False, [])


@pytest.mark.parametrize("meanwhile", [None, {"schema_version": 2}, {"shard": "0"}], ids=["gone", "newer", "broken"])
def test_what_is_not_to_be_changed_any_more_keeps_nobody_waiting(
    meanwhile: dict[str, Any] | None, sweeper: Sweeper, ground: Ground
) -> None:
    ground.put([numbered(1), numbered(2)])
    document = ground.db.collection("deliveries").document(numbered(1).id)
    ledger = before(
        sweeper.ledger, "_write", lambda: document.delete() if meanwhile is None else document.update(meanwhile)
    )
    assert replace(sweeper, ledger=ledger).sweep().counts == Counter({"pending": 1, "woken": 1})
    assert ground.tasks() == names(1, 2)
