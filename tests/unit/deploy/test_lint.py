"""Every command of the deployment, as the installed gcloud reads it, without a network.

`gcloud meta lint-gcloud-commands` knows commands, flags and choices, not resources, roles or ranges. Its exit status says
nothing: the answer is JSON.
"""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from deploy import database, plan
from deploy.script import quoted
from deploy.step import Command, filled
from deploy.target import Target

KNOWN = {"PROJECT_NUMBER": "123456789012", "FOUND": "found-1"}
SECONDS = 100
ANY = ("--filter", "--member", "--role", "--display-name", "--function=", "--set-env-vars", "--service-account")


def lint(commands: list[Command], folder: Path) -> list[dict[str, Any]]:
    """What gcloud says of each."""
    if shutil.which("gcloud") is None:
        pytest.skip("gcloud is not installed: the commands are not linted here")
    file = folder / "commands.json"
    written = [
        " ".join(quoted(filled(word, lambda name: KNOWN.get(name, "x"))) for word in command) for command in commands
    ]
    file.write_text(json.dumps([{"command_string": command} for command in written]))
    words = ["gcloud", "meta", "lint-gcloud-commands", f"--commands-file={file}"]
    ran = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=SECONDS, check=True)
    answers: list[dict[str, Any]] = json.loads(ran.stdout)
    return answers


def shape(command: Command) -> Command:
    """What the linter looks at: of some flags the value is anybody's, and so is what is named before them."""
    words = tuple(word for word in command if not word.startswith("--") and "ledgermail" not in word)[:5]
    return (*words, *(word.partition("=")[0] if word.startswith(ANY) else word for word in command if word[:2] == "--"))


def test_every_command_of_the_deployment_is_one_that_gcloud_knows(target: Target, tmp_path: Path) -> None:
    """Those that find, make, change, show, delete and erase; of those that differ in names alone, one."""
    commands = [command for step in plan.steps(target) for command in step.commands()] + database.erase(target)
    ours = {shape(command): command for command in commands if command[0] == "gcloud"}
    answers = lint(list(ours.values()), tmp_path)
    assert len(answers) == len(ours)
    wrong = {one["command_string"]: one["error_message"] for one in answers if not one["success"]}
    assert not wrong, wrong


def test_the_linter_sees_a_flag_that_does_not_exist(tmp_path: Path) -> None:
    """Else the test above could not fail."""
    (answer,) = lint([("gcloud", "tasks", "queues", "create", "q", "--max-concurrency=3")], tmp_path)
    assert answer["success"] is False
