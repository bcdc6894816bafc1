"""Every command of the deployment, as the installed gcloud reads it: `gcloud meta lint-gcloud-commands`, which needs no network.

It knows commands, flags and choices, not resources, roles or ranges. Its exit status says nothing: the answer is JSON.
"""

import json
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from deploy import database, plan
from deploy.step import Command, filled
from deploy.target import Target

KNOWN = {"PROJECT_NUMBER": "123456789012", "FOUND": "found-1"}
SECONDS = 100


def lint(commands: list[Command], folder: Path) -> list[dict[str, Any]]:
    """What gcloud says of each."""
    if shutil.which("gcloud") is None:
        pytest.skip("gcloud is not installed: the commands are not linted here")
    file = folder / "commands.json"
    written = [shlex.join(filled(word, lambda name: KNOWN.get(name, "x")) for word in command) for command in commands]
    file.write_text(json.dumps([{"command_string": command} for command in written]))
    words = ["gcloud", "meta", "lint-gcloud-commands", f"--commands-file={file}"]
    ran = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=SECONDS, check=True)
    answers: list[dict[str, Any]] = json.loads(ran.stdout)
    return answers


def test_every_command_of_the_deployment_is_one_that_gcloud_knows(target: Target, tmp_path: Path) -> None:
    """Those that find, make, change, show, delete and erase."""
    commands = [command for step in plan.steps(target) for command in step.commands()] + database.erase(target)
    ours = sorted({command for command in commands if command[0] == "gcloud"})
    answers = lint(ours, tmp_path)
    assert len(answers) == len(ours) > 200
    wrong = {one["command_string"]: one["error_message"] for one in answers if not one["success"]}
    assert not wrong, wrong


def test_the_linter_sees_a_flag_that_does_not_exist(tmp_path: Path) -> None:
    """Else the test above could not fail."""
    (answer,) = lint([("gcloud", "tasks", "queues", "create", "q", "--max-concurrency=3")], tmp_path)
    assert answer["success"] is False
