"""Which Firestore is started, and that it is gone afterwards."""

import json
import signal
import socket
import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path
from threading import Event

import pytest

from emulator.firestore import NoOfficialError, NotOfferedError, start
from emulator.firestore.official_jar import find
from emulator.process import ROOT

needs_official = pytest.mark.skipif(find() is None, reason="the official Firestore emulator is not on this machine")
EITHER = pytest.mark.parametrize("kind", ["embedded", pytest.param("official", marks=needs_official)])
GONE_SECONDS = 60


def listens(host: str) -> bool:
    name, port = host.split(":")
    with socket.socket() as probe:
        return probe.connect_ex((name, int(port))) == 0


def ends(host: str) -> bool:
    """Whether nobody listens there any more, after a while at most."""
    pause = Event()
    for _ in range(GONE_SECONDS * 50):
        if not listens(host):
            return True
        pause.wait(0.02)
    return False


@pytest.fixture
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Take Java and gcloud off PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("FIRESTORE_EMULATOR_HOST", raising=False)


@EITHER
def test_what_is_started_serves_a_client_whatever_the_environment_says(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", "127.0.0.1:1")
    with start(kind) as firestore:  # type: ignore[arg-type]
        client = firestore.client("launched")
        client.document("c/d").set({"a": 1})
        assert firestore.kind == kind
        assert client.document("c/d").get().to_dict() == {"a": 1}
        firestore.client("other").document("c/d").set({})
        firestore.reset("launched")
        assert not client.document("c/d").get().exists
        assert firestore.client("other").document("c/d").get().exists


@EITHER
def test_after_stop_nobody_listens(kind: str) -> None:
    firestore = start(kind)  # type: ignore[arg-type]
    assert listens(firestore.host)
    firestore.stop()
    assert not listens(firestore.host)


@EITHER
def test_a_killed_parent_leaves_no_server_behind(kind: str) -> None:
    program = "import sys; from emulator.firestore import start; print(start(sys.argv[1]).host, flush=True); input()"
    command = [sys.executable, "-c", program, kind]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as parent:
        assert parent.stdout
        host = parent.stdout.readline().strip()
        assert listens(host)
        parent.kill()
    assert ends(host)


@needs_official
def test_java_ends_with_the_process_that_runs_it() -> None:
    command = [sys.executable, "-m", "emulator.firestore.official"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as runner:
        assert runner.stdout
        host = json.loads(runner.stdout.readline())["host"]
        runner.send_signal(signal.SIGTERM)
        runner.wait()
    assert not listens(host)


def test_the_one_of_the_environment_is_joined_and_never_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    with start("embedded") as running:
        monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", running.host)
        with start() as joined:
            assert (joined.kind, joined.host) == ("external", running.host)
            joined.client("p").document("c/d").set({})
        assert running.client("p").document("c/d").get().exists


def test_without_java_the_embedded_one_is_chosen(no_java: None) -> None:
    with start() as firestore:
        assert firestore.kind == "embedded"
        firestore.client("p").document("c/d").set({})


@needs_official
def test_the_official_one_is_chosen_where_it_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FIRESTORE_EMULATOR_HOST", raising=False)
    with start() as firestore:
        assert firestore.kind == "official"


def test_the_official_one_is_refused_clearly_where_it_is_not_found(no_java: None) -> None:
    with pytest.raises(NoOfficialError, match="FIRESTORE_EMULATOR_JAR"):
        start("official")


@needs_official
def test_the_official_one_says_that_it_has_no_meter_and_no_faults() -> None:
    with start("official") as firestore:
        assert not firestore.controlled
        with pytest.raises(NotOfferedError, match="official"):
            firestore.usage("p")
        with pytest.raises(NotOfferedError, match="official"):
            firestore.fail("Commit")


@needs_official
def test_the_official_one_judges_by_the_rules_it_was_given(tmp_path: Path) -> None:
    rules = tmp_path / "firestore.rules"
    rules.write_text(
        "service cloud.firestore { match /databases/{d}/documents { match /open/{x} { allow read: if true; } } }"
    )
    with start("official", rules=rules) as firestore:
        connection = HTTPConnection(firestore.host)
        answers = []
        for path in ("open/x", "closed/x"):
            connection.request("GET", f"/v1/projects/p/databases/(default)/documents/{path}")
            answers.append(connection.getresponse())
            answers[-1].read()
        connection.close()
    assert [answer.status for answer in answers] == [404, 403]


@needs_official
def test_an_official_one_that_does_not_start_says_why() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        result = run("-m", "emulator.firestore.official", "--port", str(taken.getsockname()[1]))
    assert result.returncode != 0
    assert "Address already in use" in result.stderr


def test_an_index_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    result = run("-m", "emulator.firestore", "--port", "0", "--indexes", str(tmp_path / "none.json"))
    assert result.returncode != 0
    assert "none.json" in result.stderr


def test_importing_the_launcher_does_not_import_the_server() -> None:
    result = run("-c", "import sys, emulator.firestore; print({'grpc', 'google.cloud.firestore'} & {*sys.modules})")
    assert result.stdout.strip() == "set()"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=ROOT, check=False)
