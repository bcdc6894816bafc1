"""The index file: every query of the product is served by it, and nothing in it is for nothing."""

import json
from pathlib import Path
from typing import Any

import pytest

from emulator import firestore as local_firestore
from emulator.firestore import Firestore
from ledgermail.errors import LedgerUnavailable
from ledgermail.ledger.delivery import Content, Failure, Stage, Status, to_document
from ledgermail.planning.matches import PAGE
from tests.integration.conftest import AppMaker, Ground
from tests.integration.queries import ask_everything
from tests.samples import NOW, a_delivery

FILE = json.loads(local_firestore.INDEXES.read_text(encoding="utf-8"))
NAMES = [",".join(field["fieldPath"] for field in index["fields"]) for index in FILE["indexes"]]
# What cannot be asked without the index, as ledger_errors names it.
ASKED = {
    "shard,wake_at": "read by wake_at",
    "shard,status,wake_at": "read by wake_at",
    "shard,prune_at": "read a sample",
    "status,run_key": "count a run's deliveries",
    "mailing,shard,unfinished_since": "read the oldest",
    "user_id,mailing,period_end": "read the last digest",
    "user_id,created_at": "read a user's deliveries",
    "delivery_id,at": "read the audit",
    "user_id,at": "read the audit",
    "user_id,matched_at": "read the period's matches",
}


@pytest.fixture
def fresh(
    request: pytest.FixtureRequest, controlled: Firestore, project: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Any:
    """An embedded Firestore of this test's own, with the project's index file less the entries named by the parameter."""
    left_out = getattr(request, "param", None)
    kept = [index for index, name in zip(FILE["indexes"], NAMES, strict=True) if name != left_out]
    path = tmp_path / "indexes.json"
    path.write_text(json.dumps({**FILE, "indexes": kept}), encoding="utf-8")
    with local_firestore.start("embedded", path) as server:
        monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", server.host)
        yield server


def test_every_query_is_served_and_every_index_serves_one(fresh: Firestore, make_app: AppMaker, ground: Ground) -> None:
    ask_everything(make_app(), ground, count=PAGE + 1)
    assert fresh.unused_indexes() == []


@pytest.mark.parametrize("fresh", NAMES, indirect=True)
def test_without_any_one_index_the_query_that_needs_it_is_refused(
    fresh: Firestore, make_app: AppMaker, ground: Ground, request: pytest.FixtureRequest
) -> None:
    name = request.node.callspec.params["fresh"]
    with pytest.raises(LedgerUnavailable, match=f"{ASKED[name]}: FailedPrecondition"):
        ask_everything(make_app(), ground, count=1)


def fields_of_a_delivery() -> set[str]:
    """Every field that any status writes."""
    extremes: dict[str, Any] = {
        "content": Content(hash="h", items=({"job_id": "j1"},), version="v"),
        "stages": {"email": Stage(at=NOW, reference="m1")},
        "last_error": Failure(category="transient", code="503", detail="x"),
        "first_claimed_at": NOW,
        "first_attempt_at": NOW,
        "doubted_at": NOW,
        "evidence_at": NOW,
        "reopened_at": NOW,
        "events": {"processed": NOW},
        "claim_id": "c1",
        "period_start": NOW,
        "period_end": NOW,
        "topic": "school",
        "version": "v1",
    }
    fields = {name for status in Status for name in to_document(a_delivery(status, **extremes))}
    return fields | set(to_document(a_delivery(next_attempt_at=NOW)))


def test_no_field_of_a_delivery_is_indexed_by_itself() -> None:
    """An indexed time that only rises caps a collection at 500 writes a second, and each index is paid for by the write."""
    exempt = {entry["fieldPath"] for entry in FILE["fieldOverrides"] if entry["collectionGroup"] == "deliveries"}
    assert fields_of_a_delivery() == exempt
    assert all(entry["indexes"] == [] for entry in FILE["fieldOverrides"])
