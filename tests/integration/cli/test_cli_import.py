"""Import: every line is checked before any is written, and every bad one is told of by its number."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from emulator.firestore import Firestore
from emulator.process import ROOT
from tests.integration.cli.conftest import Call
from tests.integration.conftest import Ground
from tests.samples import ENVIRONMENT, NOW, a_user


def user(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "user_id": f"u{number}",
        "email": f"u{number}@example.com",
        "mailings": {"job-alert": {"active": True}},
    } | changes


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file to import."""
    return tmp_path / "lines.jsonl"


def write(file: Path, *lines: object) -> Path:
    file.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines), "utf-8")
    return file


def users(ground: Ground) -> dict[str, dict[str, Any]]:
    return {snapshot.id: snapshot.to_dict() or {} for snapshot in ground.db.collection("users").stream()}


def test_users_are_written_in_batches_and_again_with_the_same_end(ground: Ground, call: Call, file: Path) -> None:
    write(file, *(user(number) for number in range(450)))
    told = call("import", "users", file, "--yes")
    assert (told.code, told.out) == (0, "import: 450 good lines, 0 bad; 450 users written\n")
    first = users(ground)
    assert len(first) == 450
    assert call("import", "users", file, "-y", "--json").json["written"] == 450
    assert users(ground) == first


def test_while_a_line_is_bad_nothing_is_written_and_each_is_told_of_by_number(
    ground: Ground, call: Call, file: Path
) -> None:
    write(file, user(1), "", "{", user(2, email="none"), user(3))
    told = call("import", "users", file, "--yes")
    assert (told.code, told.out) == (1, "import: 2 good lines, 2 bad; 0 users written\n")
    assert [line.split(": ")[:2] for line in told.err.splitlines()] == [
        [f"{file}:3", "is no JSON"],
        [f"{file}:4", "email"],
    ]
    assert users(ground) == {}
    document = call("import", "users", file, "--yes", "--json")
    assert [problem["line"] for problem in document.json["problems"]] == [3, 4]
    assert document.err == ""
    skipped = call("import", "users", file, "--yes", "--skip-bad")
    assert (skipped.code, sorted(users(ground))) == (1, ["u1", "u3"])


def test_what_the_line_does_not_name_is_left_as_it_is(ground: Ground, call: Call, file: Path) -> None:
    ground.user("u1", a_user(suppressed={"reason": "bounce"}, mailings={"daily-digest": {"active": True}}))
    assert call("import", "users", write(file, user(1, email="new@example.com")), "-y").code == 0
    found = users(ground)["u1"]
    assert (found["email"], found["suppressed"]) == ("new@example.com", {"reason": "bounce"})
    assert set(found["mailings"]) == {"daily-digest", "job-alert"}


def test_a_suppression_takes_the_place_of_the_one_that_is_there_whole(ground: Ground, call: Call, file: Path) -> None:
    """Of that address it would else hold for no other, and the user would be mailed."""
    ground.user("u1", a_user(suppressed={"reason": "bounce", "address": "old@example.com", "at": NOW}))
    brought = {"reason": "asked us by letter", "at": "2026-08-16T08:00:00+00:00"}
    assert call("import", "users", write(file, user(1, suppressed=brought)), "-y").code == 0
    assert set(users(ground)["u1"]["suppressed"]) == {"reason", "at"}
    (shown,) = call("suppressions", "--json").json["suppressions"]
    assert shown == {"user_id": "u1", **brought}


def test_without_a_yes_and_on_a_dry_run_nothing_is_written(ground: Ground, call: Call, file: Path) -> None:
    write(file, user(1))
    assert call("import", "users", file).code == 5
    assert call("import", "users", file, "--dry-run").out == "import: 1 good lines, 0 bad; 0 users written\n"
    assert users(ground) == {}


def test_matches_are_found_by_the_next_scan(ground: Ground, call: Call, file: Path, app: Any) -> None:
    ground.user("u1", a_user())
    match = {"user_id": "u1", "job_id": "a/b", "job": {"title": "Cook"}}
    assert call("import", "matches", write(file, match), "-y").code == 0
    assert call("why", "u1", "a/b", "--json").json["why"] == "not_scanned"


def test_a_version_of_a_report_that_is_there_is_kept(ground: Ground, call: Call, file: Path) -> None:
    first = {"topic": "school", "version": "v1", "rows": [{"a": 1}]}
    assert call("import", "reports", write(file, first), "-y").code == 0
    again = write(file, first | {"rows": [{"a": 2}]}, first | {"version": "v2"})
    assert (
        call("import", "reports", again, "-y").out == "import: 2 good lines, 0 bad; 1 reports written, 1 were there\n"
    )
    versions = ground.db.collection("reports").document("school").collection("versions")
    assert (versions.document("v1").get().to_dict() or {})["rows"] == [{"a": 1}]


def test_postings_are_not_matches(call: Call, file: Path) -> None:
    told = call("import", "matches", write(file, {"job_id": "j1", "title": "Cook", "url": "https://x.example"}), "-y")
    assert told.code == 1
    assert "is a posting of a job, and not a match" in told.err


def test_a_ledger_that_fails_half_way_is_told_with_the_last_line_that_is_written(
    ground: Ground, call: Call, file: Path, controlled: Firestore, project: str
) -> None:
    write(file, *(user(number) for number in range(250)))
    controlled.fail("Commit", project=project, skip=1, times=None, code="INTERNAL")
    told = call("import", "users", file, "-y")
    assert told.code == 3
    assert "written up to line 200: import it again, which does no harm" in told.err
    assert len(users(ground)) == 200


def test_what_is_no_file_or_no_kind_is_refused(call: Call, tmp_path: Path, file: Path) -> None:
    assert call("import", "users", tmp_path / "none").code == 2
    assert call("import", "jobs", write(file, "")).code == 2
    assert call("import", "users", "/dev/null").code == 2
    assert call("import", "users", write(file, "")).out == "import: 0 good lines, 0 bad; 0 users written\n"


def peak(file: Path, lines: int, project: str) -> int:
    """The most memory, in bytes, that a process takes to check a file of so many lines of 2 KB."""
    with file.open("w") as written:
        written.writelines(json.dumps(user(number, name="x" * 2_000)) + "\n" for number in range(lines))
    program = (
        "import resource, sys; from ledgermail.cli import main; code = main(sys.argv[1:]); "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss); sys.exit(code)"
    )
    called = [sys.executable, "-c", program, "import", "users", str(file), "--dry-run"]
    environment = {**os.environ, **ENVIRONMENT, "LEDGERMAIL_PROJECT": project, "PYTHONPATH": str(ROOT / "functions")}
    ended = subprocess.run(called, env=environment, capture_output=True, text=True, timeout=100, check=True)
    said, kilobytes = ended.stdout.splitlines()
    assert said.startswith(f"import: {lines} good lines")
    return int(kilobytes) * 1024


def test_a_large_file_is_read_a_line_at_a_time(file: Path, project: str) -> None:
    small, large = peak(file, 1, project), peak(file, 20_000, project)
    assert file.stat().st_size > 40_000_000
    assert large - small < 15_000_000


def test_a_match_that_is_imported_again_keeps_its_time_and_is_not_found_anew(
    ground: Ground, call: Call, file: Path
) -> None:
    match = {"user_id": "u1", "job_id": "j1", "job": {"title": "Cook"}}
    found = ground.db.collection("matches").document("u1_j1")
    assert call("import", "matches", write(file, match), "-y").code == 0
    first = (found.get().to_dict() or {})["matched_at"]
    again = write(file, match | {"job": {"title": "Chef"}}, match | {"job_id": "j2"})
    assert call("import", "matches", again, "-y").out == "import: 2 good lines, 0 bad; 2 matches written\n"
    document = found.get().to_dict() or {}
    assert (document["matched_at"], document["job"]) == (first, {"title": "Chef"})
