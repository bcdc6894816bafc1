"""Run commands, without a shell, with their placeholders filled in."""

import os
import re
import secrets
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from deploy import ROOT
from deploy.step import Command, Step, filled

# What says that a thing is not there; of an account IAM may say only that it may be so.
ABSENT = re.compile(r"NOT_FOUND|Cannot find service|serviceAccounts\.get\b.*may not exist")


class StepFailed(Exception):  # what happened, as an operator reads it
    """A command did not do what it should: what was run, what it said, and what may help."""

    def __init__(self, step: Step, command: Command, said: str) -> None:
        super().__init__(step.title)
        self.step = step
        self.command = command
        self.said = said


@dataclass(frozen=True)
class Answer:
    """What a command came to."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, kw_only=True)
class Runner:
    """Runs the commands of steps in turn and keeps what they capture."""

    files: Path
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    captured: dict[str, str] = field(default_factory=dict)
    unseen: dict[str, str] = field(default_factory=dict)  # by a step's title: why it could not be looked for

    def find(self, step: Step) -> str:
        """The first line that `find` prints, or nothing: then it is not there. Captured when the step says so."""
        if step.find is None:
            return ""
        answer = self.answer(step.find)
        found = answer.out.strip().partition("\n")[0] if answer.code == 0 else ""
        self.captured["FOUND"] = found
        self.unseen[step.title] = "" if answer.code == 0 or ABSENT.search(answer.err) else answer.err.strip()
        if step.captures:
            self.captured[step.captures] = found
        return found

    def given(self, step: Step) -> str:
        """As `find`, of what nobody makes here: where it is not there, nothing that is found afterwards means anything.

        Raises StepFailed with what was said, which may be that nobody is logged in, or that there is no gcloud.
        """
        found = self.find(step)
        if step.find and step.create is None and step.required and not found:
            command = self.shown(step.find)
            raise StepFailed(step, command, self.answer(command).err.strip() or "not found")
        return found

    def must_see(self, step: Step) -> None:
        """Raises StepFailed where the last `find` could not say whether it is there."""
        if said := self.unseen.get(step.title):
            raise StepFailed(step, self.shown(step.find or ()), said)

    def run(self, step: Step, command: Command, stdin: str | None = None) -> None:
        """Run one command of a step. Raises StepFailed."""
        for name, content in step.files.items():
            (self.files / name).write_text(filled(content, self._value), "utf-8")
        answer = self.answer(command, stdin)
        if answer.code != 0:
            raise StepFailed(step, self.shown(command), (answer.err or answer.out).strip())

    def answer(self, command: Command, stdin: str | None = None) -> Answer:
        """What a command answers, as it is run here."""
        words = list(self.shown(command))
        if words[0] == "python3":
            words[0] = sys.executable
        try:
            done = subprocess.run(  # noqa: S603 # no shell; the words are ours
                words,
                input=stdin or "",
                capture_output=True,
                text=True,
                cwd=ROOT,
                env=dict(self.environment),
                check=False,
            )
        except FileNotFoundError:
            return Answer(127, "", f"{words[0]} is not installed")
        return Answer(done.returncode, done.stdout, done.stderr)

    def shown(self, command: Command) -> Command:
        """The command with everything filled in that is known."""
        return tuple(filled(word, self._value) for word in command)

    def value_for(self, step: Step) -> str | None:
        """What a step's `create` reads: from the environment, or made up. Raises StepFailed when there is nothing."""
        if step.stdin is None:
            return None
        value = self.environment.get(step.stdin) or (secrets.token_urlsafe(24) if step.generated else "")
        if not value:
            raise StepFailed(step, step.create or (), f"{step.stdin} is not set")
        return value

    def _value(self, name: str) -> str:
        return str(self.files) if name == "FILES" else self.captured.get(name, "")
