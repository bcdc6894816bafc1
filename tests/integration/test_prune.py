"""The prune: what is past its retention goes, counted once; nothing else does, wherever a prune dies."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from emulator.firestore import Firestore
from ledgermail.app import App
from ledgermail.errors import LedgerUnavailable
from ledgermail.ledger import ids
from ledgermail.ledger.delivery import TERMINAL, UNFINISHED, Delivery, Status
from ledgermail.planning.runs import PAGE as RUNS
from ledgermail.upkeep.prune import Pass, Pruner, Report
from ledgermail.upkeep.upkeep import PAGE
from tests.integration.conftest import Ground
from tests.integration.interruptions import Died, after, before, die
from tests.integration.scans import RUN, at
from tests.samples import NOW, a_delivery

S = Status
PAST = timedelta(days=30, seconds=1)  # after NOW: all that the samples have finished is past its retention
FINISHED = sorted(TERMINAL)


def pruner_of(app: App, later: timedelta = PAST, boxes: int = 10**6) -> Pruner:
    return replace(app.pruner, clock=at(later, boxes))


@pytest.fixture
def pruner(app: App) -> Pruner:
    """A pruner for which what is finished is past its retention."""
    return pruner_of(app)


def numbered(number: int, status: Status = S.ACCEPTED, **changes: Any) -> Delivery:
    times = {"prune_at": NOW + timedelta(days=30, microseconds=number)} if status in TERMINAL else {}
    return a_delivery(status, id=ids.delivery_id("u1", f"j{number}"), subject=f"j{number}", **(times | changes))


def put(ground: Ground, deliveries: list[Delivery], intended: int | None = None) -> None:
    """These deliveries, and the run that intended them."""
    ground.put(deliveries)
    counts = {"intended": len(deliveries) if intended is None else intended, "mailing": "job-alert"}
    ground.db.collection("runs").document(RUN).set(counts | {"opened_at": NOW.replace(hour=0, minute=0)})


def audit(ground: Ground, prune_id: str = "p1") -> dict[str, Any]:
    return ground.db.collection("prunes").document(prune_id).get().to_dict() or {}


def to_the_end(app: App, report: Report, **clock: Any) -> int:
    """Go on until the pass is through; how many were deleted from here on."""
    deleted = 0
    while report.go_on is not None:
        report = pruner_of(app, **clock).prune(report.go_on)
        deleted += report.deleted
    return deleted


def test_what_is_past_its_retention_goes_and_is_on_record(pruner: Pruner, ground: Ground) -> None:
    put(ground, [numbered(n, status) for n, status in enumerate(FINISHED)])
    report = pruner.prune(Pass(prune_id="p1"))
    assert (report.deleted, report.go_on) == (len(FINISHED), None)
    assert ground.deliveries() == {}
    assert audit(ground)["deleted"] == len(FINISHED)
    assert audit(ground)["counts"] == {"job-alert": {str(status): 1 for status in FINISHED}}


def test_what_is_not_past_its_retention_stays(app: App, ground: Ground) -> None:
    put(ground, [numbered(n, status) for n, status in enumerate(FINISHED)])
    report = pruner_of(app, timedelta(days=30) - timedelta(seconds=1)).prune(Pass(prune_id="p1"))
    assert (report.deleted, len(ground.deliveries()), audit(ground)) == (0, len(FINISHED), {})


def test_what_is_unfinished_is_never_pruned_however_old(app: App, ground: Ground) -> None:
    put(ground, [numbered(n, status) for n, status in enumerate(sorted(UNFINISHED))])
    assert pruner_of(app, timedelta(days=3650)).prune(Pass(prune_id="p1")).counts == {}
    assert len(ground.deliveries()) == 2


def test_a_dry_run_counts_and_deletes_nothing(pruner: Pruner, ground: Ground) -> None:
    put(ground, [numbered(1), numbered(2), numbered(3, S.REJECTED)])
    report = pruner.prune(Pass(prune_id="p1", dry_run=True))
    assert report.counts == {("job-alert", "accepted"): 2, ("job-alert", "rejected"): 1}
    assert (report.deleted, len(ground.deliveries()), audit(ground)) == (0, 3, {})
    assert "pruned" not in ground.run(RUN)


def test_a_run_goes_when_the_last_of_its_deliveries_is_gone(app: App, pruner: Pruner, ground: Ground) -> None:
    put(ground, [numbered(1), numbered(2, prune_at=NOW + 2 * PAST)])
    assert pruner.prune(Pass(prune_id="p1")).runs_deleted == 0
    ground.assert_identity()
    assert ground.run(RUN)["pruned"] == 1
    assert pruner_of(app, 2 * PAST).prune(Pass(prune_id="p2")).runs_deleted == 1
    assert (ground.run(RUN), ground.deliveries()) == ({}, {})


def test_a_run_of_which_some_is_kept_longer_costs_a_prune_that_takes_nothing_of_it_no_read(
    app: App, ground: Ground, project: str, controlled: Firestore
) -> None:
    for day in range(3):
        run_key = f"job-alert:2026-07-0{day + 1}"
        kept_longer = numbered(day + 3, run_key=run_key, prune_at=NOW + 2 * PAST)
        ground.put([numbered(day, run_key=run_key), kept_longer])
        ground.db.document(f"runs/{run_key}").set({"intended": 2, "opened_at": NOW})
    assert pruner_of(app).prune(Pass(prune_id="p1")).deleted == 3
    controlled.reset_usage(project)
    pruner_of(app).prune(Pass(prune_id="p2"))
    assert controlled.usage(project).reads == app.settings.shards + 1, "each query finds nothing"
    assert pruner_of(app, 2 * PAST).prune(Pass(prune_id="p3")).runs_deleted == 3


def test_a_prune_deletes_runs_for_as_long_as_it_has_time_and_the_next_one_the_rest(app: App, ground: Ground) -> None:
    batch = ground.db.batch()
    for number in range(RUNS + 5):
        emptied = {"intended": 0, "opened_at": NOW, "pruning_at": NOW}
        batch.set(ground.db.collection("runs").document(f"daily-digest:2026-08-16:{number:03}"), emptied)
    batch.commit()
    assert pruner_of(app, boxes=app.settings.shards + 5).prune(Pass(prune_id="p1")).runs_deleted == 3
    assert pruner_of(app).prune(Pass(prune_id="p2")).runs_deleted == RUNS + 2


def test_a_run_that_may_still_get_deliveries_stays(app: App, ground: Ground) -> None:
    put(ground, [numbered(1, prune_at=NOW)])
    assert pruner_of(app, timedelta(days=1)).prune(Pass(prune_id="p1")).runs_deleted == 0
    assert ground.run(RUN)["pruned"] == 1
    assert pruner_of(app, timedelta(days=2)).prune(Pass(prune_id="p2")).runs_deleted == 1


def test_a_delivery_that_has_changed_since_it_was_read_stays(pruner: Pruner, ground: Ground) -> None:
    put(ground, [numbered(1), numbered(2, S.UNKNOWN), numbered(3)])
    proven = numbered(2, S.ACCEPTED, prune_at=NOW + 2 * PAST)
    upkeep = before(pruner.upkeep, "delete", lambda: ground.delivery(proven))
    assert replace(pruner, upkeep=upkeep).prune(Pass(prune_id="p1")).deleted == 2
    assert list(ground.deliveries()) == [proven.id]
    assert audit(ground)["deleted"] == ground.run(RUN)["pruned"] == 2
    ground.assert_identity()


def test_two_prunes_at_once_count_each_delivery_once(app: App, pruner: Pruner, ground: Ground) -> None:
    put(ground, [numbered(n) for n in range(3)])
    upkeep = before(pruner.upkeep, "delete", lambda: pruner_of(app).prune(Pass(prune_id="other")))
    assert replace(pruner, upkeep=upkeep).prune(Pass(prune_id="p1")).deleted == 0
    assert (audit(ground, "other")["deleted"], audit(ground)) == (3, {})
    ground.assert_identity()


# Time, and its end


def test_a_prune_without_time_goes_on_from_where_it_stands(app: App, ground: Ground) -> None:
    put(ground, [numbered(n, shard=n) for n in range(4)])
    report = pruner_of(app, boxes=1).prune(Pass(prune_id="p1", shard=2))
    assert (report.go_on, report.deleted) == (Pass(prune_id="p1", shard=2), 0)


def test_a_large_prune_goes_page_by_page_and_call_by_call(app: App, ground: Ground) -> None:
    """Each call has time for three pages."""
    count = 6 * PAGE + 50
    put(ground, [numbered(n, shard=n % 2) for n in range(count)])
    report = pruner_of(app, boxes=4).prune(Pass(prune_id="p1"))
    assert report.deleted == 3 * PAGE
    assert (ground.run(RUN)["pruned"], len(ground.deliveries())) == (3 * PAGE, count - 3 * PAGE)
    assert to_the_end(app, report, boxes=4) == count - 3 * PAGE
    assert ground.deliveries() == {}
    assert audit(ground)["deleted"] == count


def test_what_may_not_go_hides_none_behind_it(pruner: Pruner, ground: Ground) -> None:
    deliveries = [numbered(n) for n in range(PAGE + 1)]
    put(ground, deliveries)

    def touch() -> None:
        batch = ground.db.batch()
        for delivery in deliveries[:PAGE]:
            batch.update(ground.db.collection("deliveries").document(delivery.id), {"touched": True})
        batch.commit()

    upkeep = before(pruner.upkeep, "delete", touch)
    assert replace(pruner, upkeep=upkeep).prune(Pass(prune_id="p1")).deleted == 1
    assert deliveries[PAGE].id not in ground.deliveries()
    ground.assert_identity()


# Dying


@pytest.mark.parametrize("interrupt", [before, after])
@pytest.mark.parametrize("call", [1, 2, 3])
def test_a_prune_that_dies_around_a_page_is_made_good_by_the_next(
    call: int, interrupt: type, app: App, pruner: Pruner, ground: Ground
) -> None:
    put(ground, [numbered(n, shard=n % 3) for n in range(9)])
    with pytest.raises(Died):
        replace(pruner, upkeep=interrupt(pruner.upkeep, "_commit", die, call=call)).prune(Pass(prune_id="p1"))
    ground.assert_identity()
    gone = 9 - len(ground.deliveries())
    assert gone == 3 * (call - (interrupt is before)) == audit(ground).get("deleted", 0)
    report = pruner.prune(Pass(prune_id="p2"))
    assert (gone + report.deleted, report.runs_deleted) == (9, 1)


def test_a_prune_that_dies_before_it_deletes_a_run_leaves_it_to_the_next(pruner: Pruner, ground: Ground) -> None:
    put(ground, [numbered(1)])
    with pytest.raises(Died):
        replace(pruner, runs=before(pruner.runs, "delete_emptied", die)).prune(Pass(prune_id="p1"))
    ground.assert_identity()
    assert pruner.prune(Pass(prune_id="p2", dry_run=True)).runs_deleted == 0
    assert pruner.prune(Pass(prune_id="p3")).runs_deleted == 1


@pytest.mark.parametrize("code", ["UNAVAILABLE", "ABORTED", "INTERNAL", "DEADLINE_EXCEEDED"])
def test_a_page_whose_commit_was_not_answered_is_counted_once(
    code: str, pruner: Pruner, ground: Ground, project: str, controlled: Firestore
) -> None:
    put(ground, [numbered(n) for n in range(3)], intended=4)
    controlled.fail("Commit", project=project, collection="deliveries", when="after", code=code)
    pruner.prune(Pass(prune_id="p1"))
    assert ground.deliveries() == {}
    assert (audit(ground)["deleted"], ground.run(RUN)["pruned"]) == (3, 3)


@pytest.mark.parametrize("code", ["INTERNAL", "RESOURCE_EXHAUSTED"])
def test_a_page_that_cannot_be_committed_stays(
    code: str, pruner: Pruner, ground: Ground, project: str, controlled: Firestore
) -> None:
    put(ground, [numbered(1)])
    controlled.fail("Commit", project=project, times=None, code=code)
    with pytest.raises(LedgerUnavailable):
        pruner.prune(Pass(prune_id="p1"))
    controlled.clear_faults()
    assert (len(ground.deliveries()), audit(ground)) == (1, {})
    assert pruner.prune(Pass(prune_id="p1")).deleted == 1


# What is broken


BROKEN = [
    {"mailing": None},
    {"mailing": ""},
    {"mailing": "__x__"},
    {"mailing": "a.b/c`d"},
    {"status": None},
    {"status": 7},
    {"run_key": None},
    {"run_key": ""},
    {"run_key": "a/b"},
    {"run_key": "a/b/c"},
    {"run_key": ".."},
    {"run_key": "__x__"},
    {"run_key": "x" * 1501},
    {"run_key": ["job-alert:2026-08-16"]},
]


@pytest.mark.parametrize("document", BROKEN)
def test_a_broken_delivery_that_was_set_aside_goes_as_any_other(
    document: dict[str, Any], app: App, pruner: Pruner, ground: Ground
) -> None:
    put(ground, [numbered(1)])
    ground.delivery(numbered(2, S.REJECTED), **document)
    assert pruner.prune(Pass(prune_id="p1")).deleted == 2
    assert (ground.deliveries(), audit(ground)["deleted"]) == ({}, 2)
    pruner_of(app, 2 * PAST).prune(Pass(prune_id="p2"))
    assert [run.id for run in ground.db.collection("runs").stream()] == []


def test_a_delivery_of_a_run_that_is_gone_brings_no_run_back(pruner: Pruner, ground: Ground) -> None:
    ground.delivery(numbered(1))
    pruner.prune(Pass(prune_id="p1"))
    pruner.prune(Pass(prune_id="p2"))
    assert ground.run(RUN) == {}
