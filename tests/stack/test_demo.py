"""The demo and the local cloud, as a newcomer meets them: with Python and nothing else on the PATH."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from emulator import tasks
from emulator.demo.scene import make, make_postings, read_postings
from emulator.process import ROOT
from tests.samples import NOW


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the local cloud's command where no Java and no gcloud can be found."""
    quiet = {name: value for name, value in os.environ.items() if not name.endswith("_EMULATOR_HOST")}
    environment = quiet | {"PATH": str(Path(sys.executable).parent)}
    command = [sys.executable, "-m", "emulator", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.timeout(240)
def test_the_promise_holds_while_everything_goes_wrong() -> None:
    played = run("demo", "--users", "40", "--matches", "200", "--seed", "7")
    assert played.stdout.splitlines()[-3:] == ["duplicates: 0", "lost: 0", "identity: holds"], played.stderr
    assert played.returncode == 0
    assert "Billable Firestore operations" in played.stdout


def test_a_jobs_file_that_cannot_be_read_is_refused_by_line_and_field(tmp_path: Path) -> None:
    jobs = tmp_path / "jobs.jsonl"
    jobs.write_text('{"job_id": "1", "title": "A"}\n{"job_id": "2"}\n', "utf-8")
    played = run("demo", "--jobs", str(jobs))
    assert played.returncode == 2
    assert "jobs.jsonl, line 2: title" in played.stdout


def test_a_jobs_file_is_what_the_demo_plays(tmp_path: Path) -> None:
    jobs = tmp_path / "jobs.jsonl"
    jobs.write_text('{"job_id": "1", "title": "A"}\n{"job_id": "2", "title": "B"}\n', "utf-8")
    scene = make(postings=read_postings(jobs), users=5, matches=20, seed=1, now=NOW)
    assert {match["job_id"] for match in scene.matches.values() if match.get("user_id", "").startswith("u")} <= {
        "1",
        "2",
        "",
        "j",
    }


def test_the_same_seed_makes_the_same_scene() -> None:
    scenes = [make(postings=make_postings(50, 3), users=30, matches=90, seed=3, now=NOW) for _ in range(2)]
    assert scenes[0] == scenes[1]


def test_a_cloud_tasks_that_is_there_already_is_joined_and_not_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(tasks.HOST_VARIABLE, raising=False)
    running = tasks.start()
    monkeypatch.setenv(tasks.HOST_VARIABLE, running.host)
    joined = tasks.start()
    joined.stop()
    with pytest.raises(tasks.NotOfferedError):
        joined.stats()
    assert joined.host == running.host
    assert running.stats()["created"] == 0
    running.stop()
