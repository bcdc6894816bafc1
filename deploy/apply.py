"""Apply: every step in order, create-or-update, until the first that fails."""

from collections.abc import Callable

from deploy.gcloud import Runner, StepFailed
from deploy.step import Step

Say = Callable[[str], None]  # shows a text as it is, at once


def apply(steps: list[Step], runner: Runner, say: Say) -> None:
    """Make or change what the steps name. Raises StepFailed at the first that fails: run again to go on from there."""
    for number, step in enumerate(steps, start=1):
        say(f"[{number}/{len(steps)}] {step.title} ... ")
        say(f"{_apply(step, runner)}\n")


def _apply(step: Step, runner: Runner) -> str:
    found = runner.given(step)
    if step.lists:
        runner.must_see(step)
    if step.unwanted:
        if found and step.delete:
            runner.run(step, step.delete)
        return "taken away" if found else "is not there"
    if step.create is None:
        return "is there" if found else "not there yet"
    if found and step.update is None:
        return "is there"
    command = step.update if found and step.update else step.create
    runner.run(step, command, None if found else runner.value_for(step))
    if step.captures and not found and not runner.find(step):
        raise StepFailed(step, step.find or (), "made, but not found afterwards")
    if step.find is None:
        return "done"
    return "updated" if found else "created"
