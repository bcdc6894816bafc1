"""A healthy deployment, and a doctor to look at it."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from emulator.cloud import create_queues
from emulator.firestore import Firestore
from emulator.inbox import Inbox
from emulator.tasks import CloudTasks
from ledgermail.cli import main
from ledgermail.settings import SECRET_NAMES
from tests.samples import ENVIRONMENT

Found = dict[str, tuple[str, str, str]]  # check -> verdict, said, to_do
Examine = Callable[[], tuple[int, Found]]
SECRETS = [
    *(ENVIRONMENT[f"LEDGERMAIL_{name}"] for name in SECRET_NAMES if f"LEDGERMAIL_{name}" in ENVIRONMENT),
    "SG.wrong",
]
NOWHERE = "127.0.0.1:1"


@pytest.fixture
def world(project: str, tasks_server: CloudTasks, inbox: Inbox, monkeypatch: pytest.MonkeyPatch) -> str:
    """A healthy deployment, and its environment; the project."""
    create_queues(tasks_server, f"projects/{project}/locations/europe-west1")
    monkeypatch.setenv("CLOUD_TASKS_EMULATOR_HOST", tasks_server.host)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("LEDGERMAIL_PROJECT", project)
    monkeypatch.setenv("LEDGERMAIL_SENDGRID_URL", inbox.url)
    return project


@pytest.fixture
def examine(world: str, capsys: pytest.CaptureFixture[str]) -> Examine:
    """Ask the doctor: the exit code, and what is not ok. Whatever he says, he keeps the keys to himself."""

    def examine() -> tuple[int, Found]:
        capsys.readouterr()
        code = main(["doctor", "--json"])
        said = capsys.readouterr()
        assert not [key for key in SECRETS if key in said.out + said.err]
        told = json.loads(said.out)
        assert told["well"] is (code == 0)
        bad = [finding for finding in told["findings"] if finding["verdict"] != "ok"]
        return code, {finding["check"]: (finding["verdict"], finding["said"], finding["to_do"]) for finding in bad}

    return examine


@pytest.fixture
def state(world: str, firestore_server: Firestore) -> Any:
    """The document that the gate is read from."""
    return firestore_server.client(world).collection("state").document("gate")
