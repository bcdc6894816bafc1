"""The cost model as arithmetic: months, prices and their override, and constants that other files say as well."""

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime
from itertools import islice, pairwise
from typing import Any

import pytest
from cronsim import CronSim

from deploy.table import SCHEDULES
from emulator.process import ROOT
from ledgermail.costs.cost import CALLS, DELIVERY_BYTES, JOBS, PAGE, SAMPLE, SHOWN_RUNS, Usage, Volume, cost, used
from ledgermail.costs.prices import LISTED, overridden
from ledgermail.errors import ConfigurationError
from ledgermail.ledger.delivery import Stage, Status, to_document
from ledgermail.planning import audience, matches
from ledgermail.status import samples, status
from ledgermail.upkeep import upkeep
from tests.samples import NOW, a_delivery

A_LOT = Volume(customers=100_000, runs=4, alerts=30)


def test_the_calls_of_a_day_are_those_that_are_deployed() -> None:
    deployed = {}
    for schedule in SCHEDULES:
        instants = list(islice(CronSim(schedule.cron, datetime(2026, 8, 16, tzinfo=UTC)), 2_000))
        deployed[schedule.name] = sum(1 for instant in instants if instant <= datetime(2026, 8, 17, tzinfo=UTC))
        assert max(later - earlier for earlier, later in pairwise(instants)).days == 0
    by_uptime_check = 3 * 24 * 60 // 15
    assert {**deployed, "status": deployed["status"] + by_uptime_check} == CALLS
    assert len(SCHEDULES) == JOBS


def test_what_the_model_says_of_the_code_the_code_says() -> None:
    assert (SAMPLE, SHOWN_RUNS) == (samples.MOST_READ, status.SHOWN_RUNS)
    assert {matches.PAGE, audience.PAGE, upkeep.PAGE} == {PAGE}


@pytest.mark.parametrize(
    ("mailed", "reads", "writes"),
    [
        ({"alerts": 1}, 1 + 1 + 2 + 2 + 1, 3 + 2),  # match and user; delivery and user; two events; the prune
        ({"alerts": 1, "events": False}, 1 + 1 + 2 + 1, 3),
        ({"runs": 1, "matches": 7}, 1 + 7 + 2 + 2 + 1, 3 + 2),
        ({"runs": 1, "matches": 0, "events": False}, 1 + 2 + 1, 3),
    ],
)
def test_a_mail_costs_what_the_readme_says(mailed: dict[str, Any], reads: int, writes: int) -> None:
    """And a little for the pages, the gate and the counts of a status."""
    many, none = (cost(Volume(customers=customers, **mailed)).total for customers in (1_000_000, 0))
    assert (many.reads - none.reads) / 1e6 == pytest.approx(reads, abs=0.2)
    assert (many.writes - none.writes) / 1e6 == pytest.approx(writes, abs=0.2)
    assert (many.deletes, many.tasks) == (1e6, 1e6)


@pytest.mark.parametrize("days", [1, 7, 30, 365])
def test_a_month_is_the_same_however_long_it_was_looked_at(days: float) -> None:
    share = days / 30
    volume = Volume(customers=100_000, runs=4 * share, alerts=30 * share, days=days)
    found, month = cost(volume), cost(A_LOT)
    assert found.total.reads == pytest.approx(month.total.reads)
    assert found.stored_bytes == pytest.approx(month.stored_bytes)
    assert found.dollars == pytest.approx(month.dollars)


def test_the_total_is_the_sum_of_its_rows_and_the_dollars_of_its_charges() -> None:
    found = cost(A_LOT)
    assert sum(found.rows.values(), Usage()) == found.total
    assert found.dollars == sum(charge.dollars for charge in found.charges) > 0
    assert {charge.what for charge in found.charges} == set(LISTED.prices)


def test_standing_still_is_within_what_is_free_but_for_the_jobs() -> None:
    found = cost(Volume(customers=0))
    assert {charge.what: charge.dollars for charge in found.charges if charge.dollars} == {
        "scheduler_jobs": pytest.approx(0.4)
    }
    assert found.total.writes == 4 * 30  # two runs a day that owe nothing


def test_each_more_attempt_is_two_reads_two_writes_a_task_and_a_call() -> None:
    once, twice = (used(Volume(customers=1_000, alerts=50, attempts=attempts)) for attempts in (1, 2))
    more = {name: usage + once[name].times(-1) for name, usage in twice.items()}
    assert (more["deliver"].writes, more["deliver"].tasks, more["deliver"].invocations) == (100_000, 50_000, 50_000)
    assert more["deliver"].reads == 100_000 + 50_000 / 50  # and the gate at times
    assert all(usage == Usage() for name, usage in more.items() if name != "deliver")


# Bytes


def test_a_delivery_is_stored_in_as_many_bytes_as_the_model_says() -> None:
    """By Firestore's published sizes, of a finished alert as the worker leaves it."""
    done = {name: Stage(at=NOW, reference="r" * 22) for name in ("render", "email")}
    delivery = a_delivery(
        Status.ACCEPTED,
        id="VqXcT0pN2fS8kLrZ4mYw_1790000000000000000",
        user_id="VqXcT0pN2fS8kLrZ4mYw",
        subject="1790000000000000000",
        first_claimed_at=NOW,
        first_attempt_at=NOW,
        claim_id="c" * 32,
        stages=done,
        events={"processed": NOW, "delivered": NOW},
    )
    document = to_document(delivery.changed(content=None)) | {"content": {"hash": "h" * 64, "version": "v" * 16}}
    stored = _stored(f"deliveries/{delivery.id}", document)
    assert stored == pytest.approx(DELIVERY_BYTES, rel=0.15), stored


def _stored(path: str, document: Mapping[str, Any]) -> int:
    """The document, and its entries in the indexes of the index file."""
    name = sum(_size(part) for part in path.split("/")) + 16
    indexes: list[dict[str, Any]] = json.loads((ROOT / "firestore.indexes.json").read_text("utf-8"))["indexes"]
    fields = [
        [field["fieldPath"] for field in index["fields"]]
        for index in indexes
        if index["collectionGroup"] == "deliveries"
    ]
    entries = [
        name + sum(_size(document[f]) for f in of_index) + 32 for of_index in fields if set(of_index) <= set(document)
    ]
    return name + _size(document) + 32 + sum(entries)


def _size(value: object) -> int:
    if isinstance(value, dict):
        return sum(_size(key) + _size(item) for key, item in value.items())
    if isinstance(value, list):
        return sum(map(_size, value))
    return len(value.encode()) + 1 if isinstance(value, str) else 8


# Prices


def test_prices_are_dated_and_say_where_they_are_from() -> None:
    assert LISTED.at <= date(2026, 12, 1)
    assert "cloud.google.com" in LISTED.source
    assert all(price.per > 0 for price in LISTED.prices.values())


def test_a_price_that_is_overridden_counts_and_the_others_stay() -> None:
    mine = overridden(LISTED, {"at": date(2027, 1, 1), "source": "my contract", "writes": {"dollars": 0.18, "free": 0}})
    (before,) = [charge for charge in cost(A_LOT).charges if charge.what == "writes"]
    (after,) = [charge for charge in cost(A_LOT, mine).charges if charge.what == "writes"]
    assert after.dollars == pytest.approx(before.quantity / 100_000 * 0.18)
    assert (mine.prices["reads"], mine.at, mine.source) == (LISTED.prices["reads"], date(2027, 1, 1), "my contract")
    assert overridden(LISTED, {}) == LISTED


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"letters": {"dollars": 1}}, "letters"),
        ({"reads": 5}, "reads"),
        ({"reads": {"price": 5}}, "reads.price"),
        ({"reads": {"dollars": "5"}}, "reads.dollars"),
        ({"reads": {"dollars": -1}}, "reads.dollars"),
        ({"reads": {"dollars": True}}, "reads.dollars"),
        ({"reads": {"per": 0}}, "reads.per"),
        ({"at": "yesterday"}, "at"),
        ({"source": ""}, "source"),
        ({"at": None}, "at"),
    ],
)
def test_what_is_no_price_is_refused_by_name(values: dict[str, Any], named: str) -> None:
    known = {"at": date(2027, 1, 1), "source": "x"}
    with pytest.raises(ConfigurationError) as refused:
        overridden(LISTED, known | values)
    assert [problem.partition(":")[0] for problem in refused.value.problems] == [named]


def test_prices_without_a_date_or_a_source_are_refused() -> None:
    with pytest.raises(ConfigurationError) as refused:
        overridden(LISTED, {"reads": {"dollars": 1}})
    assert [problem.partition(":")[0] for problem in refused.value.problems] == ["at", "source"]


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"customers": -1}, "customers"),
        ({"runs": -1}, "runs"),
        ({"attempts": 0.5}, "attempts"),
        ({"days": 0}, "days"),
        ({"together": 0}, "together"),
        ({"webhooks": 2}, "webhooks"),
    ],
)
def test_a_volume_that_cannot_be_is_refused_by_name(values: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        Volume(**({"customers": 1} | values))
    assert [problem.partition(":")[0] for problem in refused.value.problems] == [named]
