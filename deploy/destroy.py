"""Destroy: what apply has made goes, in the opposite order; queues never, the database only when that is asked for."""

from deploy import database
from deploy.apply import Say
from deploy.gcloud import Runner
from deploy.step import Step
from deploy.target import Target


def destroy(steps: list[Step], runner: Runner, say: Say) -> None:
    """Delete what the steps name and what is there. Raises StepFailed."""
    _learn(steps, runner)
    for step in reversed(steps):
        if step.delete and (step.find is None or _found(step, runner)):
            runner.run(step, step.delete)
            say(f"{step.title}: deleted\n")


def erase(target: Target, runner: Runner, say: Say) -> None:
    """Delete the database: every user, match and delivery in it. Raises StepFailed."""
    step = database.database(target)[0]
    if _found(step, runner):
        for command in database.erase(target):
            runner.run(step, command)
        say(f"{step.title}: deleted\n")


def _found(step: Step, runner: Runner) -> bool:
    """Whether it is there. Raises StepFailed where that cannot be seen: it would be left behind without a word."""
    found = runner.find(step)
    runner.must_see(step)
    return bool(found)


def _learn(steps: list[Step], runner: Runner) -> None:
    """What later commands name: going backwards, it would be needed before it is found."""
    for step in steps:
        if step.captures:
            runner.given(step)
