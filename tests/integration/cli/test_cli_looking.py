"""The verbs that look: status, runs, show, why, each for people and for programs."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import copytree

import pytest

from ledgermail.ledger.ledger import DELIVERIES
from ledgermail.settings import FOLDER
from tests.integration.cli.conftest import Call
from tests.integration.conftest import Ground
from tests.integration.delivering import JOB, Post

RUN = "job-alert:2026-08-16"


def test_why_is_one_sentence_and_the_steps_and_the_same_as_json(post: Post, call: Call) -> None:
    post.owe()
    post.deliver()
    told = call("why", "u1", "j1")
    assert (told.code, told.err) == (0, "")
    sentence, empty, head, *steps = told.out.splitlines()
    assert sentence.startswith('Probably: "Job alert" about j1 for u1 was taken by the provider on ')
    assert (empty, head.split()[:2]) == ("", ["when", "(UTC)"])
    assert steps[-1].endswith("taken by the provider")
    document = call("why", "u1@example.com", "job-alert", "--json").json
    assert (document["why"], document["sentence"]) == ("accepted", sentence)
    assert document["delivery"]["id"] == JOB
    assert "items" not in document["delivery"]["content"]
    assert document["history"][0]["words"] == "planned by job-alert:2026-08-16"


def test_why_there_is_none_ends_with_one_and_says_it_on_standard_output(call: Call) -> None:
    told = call("why", "nobody", "j1")
    assert (told.code, told.err) == (1, "")
    assert told.out == "No: there is no user nobody, and no such mail of theirs is kept.\n"
    told = call("why", "nobody", "j1", "--json")
    assert (told.code, told.json["why"], told.json["delivery"]) == (1, "no_user", None)


def test_show_of_a_delivery_has_its_facts_and_of_a_run_its_counts(post: Post, ground: Ground, call: Call) -> None:
    post.owe()
    ground.db.collection("runs").document(RUN).set(
        {"mailing": "job-alert", "intended": 1, "opened_at": post.document()["due_at"]}
    )
    told = call("show", JOB)
    assert told.code == 0
    assert {"status", "attempt", "due_at", "content.hash"} <= {
        line.split()[0] for line in told.out.splitlines() if line.strip()
    }
    assert call("show", JOB, "--json").json["delivery"]["status"] == "pending"
    run = call("show", RUN, "--json").json
    assert (run["intended"], run["pending"], run["identity"]) == (1, 1, "holds")
    assert "pending" in call("show", RUN).out
    assert call("show", "no-such-run").code == 1
    assert call("show", "u1_gone").code == 1
    for name in ("", "..", "__x__", "a" * 1_600):
        assert call("show", name).code == 1
    assert call("show", "a/b").err == "ledgermail: there is no run a/b, and no delivery has such an id\n"


def test_runs_are_rows_that_stay_whole_in_a_pipe(post: Post, ground: Ground, call: Call) -> None:
    post.owe()
    key = f"daily-digest:{'x' * 200}"
    opened = {"opened_at": post.document()["due_at"], "intended": 0}
    ground.db.collection("runs").document(key).set({"mailing": "daily-digest", "state": "planned", **opened})
    ground.db.collection("runs").document(RUN).set({"mailing": "job-alert", **opened, "intended": 1})
    rows = {line.split()[0]: line.split()[1:] for line in call("runs").out.splitlines()}
    assert rows[key] == ["planned", "0", "0", "0", "0", "0", "0", "holds"]
    assert rows[RUN] == ["open", "1", "1", "0", "0", "0", "0", "holds"]
    assert [run["run_key"] for run in call("runs", "--mailing", "job-alert", "--json").json["runs"]] == [RUN]


def test_the_newest_runs_of_a_mailing_are_found_behind_those_of_others(post: Post, ground: Ground, call: Call) -> None:
    post.owe()
    opened = post.document()["due_at"]
    for number, mailing in enumerate(["job-alert", "job-alert", "daily-digest", "daily-digest"]):
        run = {"mailing": mailing, "intended": 0, "opened_at": opened + timedelta(seconds=number)}
        ground.db.collection("runs").document(f"{mailing}:{number}").set(run)
    found = call("runs", "--mailing", "job-alert", "--limit", "1", "--json").json["runs"]
    assert [run["run_key"] for run in found] == ["job-alert:1"]
    assert call("runs", "--days", 10**9).code == 2


def test_runs_of_a_mailing_that_is_none_are_not_taken_for_no_runs(post: Post, ground: Ground, call: Call) -> None:
    assert (call("runs", "--mailing", "weekly-digest").code, call("runs", "--mailing", "gone").code) == (0, 2)
    assert call("runs", "--mailing", "weekly").err.startswith("ledgermail: --mailing: there is no 'weekly'; there are ")
    ground.db.collection("runs").document("gone:1").set({"mailing": "gone", "opened_at": datetime.now(UTC)})
    assert [run["run_key"] for run in call("runs", "--mailing", "gone", "--json").json["runs"]] == ["gone:1"]


def test_status_says_what_is_wrong_and_ends_with_one(
    post: Post, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copytree(FOLDER / "job-alert", tmp_path / "job-alert")  # no runs are missed where only alerts are
    monkeypatch.setenv("LEDGERMAIL_MAILINGS", str(tmp_path))
    well = call("status", "--json")
    assert (well.code, well.json["healthy"]) == (0, True)
    post.owe()
    post.change(unfinished_since=datetime(2020, 1, 1, tzinfo=UTC))
    told = call("status")
    assert told.code == 1
    assert told.out.startswith("problem: job-alert: ")
    assert "NOT HEALTHY" in told.out.splitlines()[-1]
    assert call("status", "--runs", "0", "--json").json["identity"] == "not counted"


def test_a_delivery_that_cannot_be_read_is_told_so(post: Post, call: Call) -> None:
    post.owe()
    post.ground.db.collection(DELIVERIES).document(JOB).update({"due_at": "soon"})
    told = call("show", JOB)
    assert told.code == 1
    assert "cannot be read: due_at" in told.out


def test_what_others_wrote_does_nothing_to_a_terminal(post: Post, call: Call) -> None:
    post.owe()
    post.change(last_error={"category": "transient", "code": "503", "detail": "\x1b[31mred\x07"}, next_attempt_at=None)
    told = call("show", JOB)
    assert "\x1b" not in told.out
    assert "\x07" not in told.out
    assert "[31mred" in told.out


def test_a_ledger_that_does_not_answer_is_told_by_its_own_code(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", "127.0.0.1:1")
    told = call("why", "u1", "j1", "--json")
    assert told.code == 3
    assert told.json["error"][0].startswith("the ledger is not available: read a user")
