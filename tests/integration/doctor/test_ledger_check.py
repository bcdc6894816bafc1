"""The doctor's look at Firestore: each way in which it refuses, each index, the gate."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from emulator import firestore as local_firestore
from emulator.firestore import Firestore
from ledgermail.cli import main
from tests.integration.doctor.conftest import Examine

INDEXES = json.loads(local_firestore.INDEXES.read_text("utf-8"))


@pytest.mark.parametrize(
    ("code", "said", "to_do"),
    [
        ("PERMISSION_DENIED", "permission denied", "--role=roles/datastore.user"),
        ("NOT_FOUND", "it is not there", "gcloud firestore databases create --database='(default)'"),
        ("UNAVAILABLE", "no answer", "FIRESTORE_EMULATOR_HOST names"),
        ("UNAUTHENTICATED", "Google does not know who asks", "gcloud auth application-default login"),
        ("INTERNAL", "InternalServerError", "see what it says"),
    ],
)
def test_how_firestore_refuses_decides_what_to_do(
    code: str, said: str, to_do: str, examine: Examine, world: str, controlled: Firestore
) -> None:
    controlled.fail("*", code=code, times=None, project=world)
    exit_code, found = examine()
    assert (exit_code, found["firestore"][0], set(found)) == (1, "problem", {"firestore", "indexes", "gate"})
    assert found["firestore"][1].startswith(said)
    assert to_do in found["firestore"][2]


def test_what_may_be_read_but_not_queried_is_told_once(examine: Examine, world: str, controlled: Firestore) -> None:
    controlled.fail("RunQuery", code="PERMISSION_DENIED", times=None, project=world)
    code, found = examine()
    assert (code, set(found)) == (1, {"indexes"})
    assert "roles/datastore.user" in found["indexes"][2]


@pytest.mark.parametrize("left_out", [[3], range(len(INDEXES["indexes"]))])
def test_an_index_that_is_missing_is_named_as_it_stands_in_the_file(
    left_out: Sequence[int],
    examine: Examine,
    controlled: Firestore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    missing = [INDEXES["indexes"][number] for number in left_out]
    kept = [index for index in INDEXES["indexes"] if index not in missing]
    path = tmp_path / "indexes.json"
    path.write_text(json.dumps({**INDEXES, "indexes": kept}), encoding="utf-8")
    with local_firestore.start("embedded", path) as server:
        monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", server.host)
        assert examine()[1].keys() == {"indexes"}
        assert main(["doctor", "--json"]) == 1
        assert server.unused_indexes() == []
    findings = json.loads(capsys.readouterr().out)["findings"]
    told = [finding for finding in findings if finding["verdict"] == "problem"]
    assert len(told) == len(missing)
    assert all(any(json.dumps(index) in finding["said"] for finding in told) for index in missing)
    assert all("firebase deploy --only firestore:indexes" in finding["to_do"] for finding in told)


def test_a_pause_is_told_with_its_time_and_is_no_problem(examine: Examine, state: Any) -> None:
    written = state.set({"paused": True})
    code, found = examine()
    assert (code, set(found), found["gate"][0]) == (0, {"gate"}, "warning")
    assert found["gate"][1] == f"mail is paused since {written.update_time:%Y-%m-%dT%H:%M:%SZ} or before"
    assert found["gate"][2].startswith("`ledgermail resume`")  # a gate that is written by hand is on no record


def test_an_open_breaker_is_a_problem_told_with_its_times_and_its_reason(examine: Examine, state: Any) -> None:
    until = datetime.now(UTC) + timedelta(hours=1)
    written = state.set({"breaker": {"open_until": until, "reason": "403 no sender"}})
    code, found = examine()
    assert (code, set(found), found["gate"][0]) == (1, {"gate"}, "problem")
    for words in (
        f"since {written.update_time:%Y-%m-%dT%H:%M:%SZ}",
        f"until {until:%Y-%m-%dT%H:%M:%SZ}: 403 no sender",
    ):
        assert words in found["gate"][1]


def test_a_breaker_that_has_closed_is_well(examine: Examine, state: Any) -> None:
    state.set({"breaker": {"open_until": datetime.now(UTC) - timedelta(minutes=1), "reason": "429"}})
    assert examine() == (0, {})


@pytest.mark.parametrize("breaker", ["open", {"open_until": "tomorrow"}, {"open_until": 3}, [1]])
def test_a_gate_that_was_written_by_hand_and_wrongly_is_a_problem(breaker: Any, examine: Examine, state: Any) -> None:
    state.set({"breaker": breaker})
    code, found = examine()
    assert (code, set(found)) == (1, {"gate"})
    assert found["gate"][1].startswith("state/gate cannot be read")
