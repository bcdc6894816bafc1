"""`python -m deploy plan|apply|check|destroy --project P --region R [--config deploy.toml]`."""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from deploy import plan
from deploy.apply import apply
from deploy.check import check
from deploy.destroy import destroy, erase
from deploy.gcloud import Runner, StepFailed
from deploy.script import quoted, script
from deploy.target import Target, check_mailings, read
from ledgermail.errors import ConfigurationError

MAKING = ("plan", "apply")  # what would bring the mailings to Google; to look and to leave they need not be sound


def main() -> int:
    """Do what was asked; 0 when all is well, 1 when something is not, 2 when it was asked wrongly."""
    try:
        return _main()
    except BrokenPipeError:  # who reads has enough, as `head` has: the rest goes nowhere, also at the exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _main() -> int:
    options = _options()
    try:
        target = read(options.project, options.region, options.config)
        if options.verb in MAKING:
            check_mailings(target)
    except ConfigurationError as error:
        _complain("\n".join(error.problems))
        return 2
    if options.verb == "plan":
        _say(script(target))
        return 0
    with tempfile.TemporaryDirectory() as files:
        try:
            return _act(options, target, Runner(files=Path(files)))
        except StepFailed as failed:
            _complain(_explained(failed))
            return 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m deploy", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb, purpose in (
        ("plan", "print the deployment as a script"),
        ("apply", "make and change what is to be there"),
        ("check", "compare what is there with what is to be"),
        ("destroy", "delete what apply has made; queues never"),
    ):
        one = verbs.add_parser(verb, help=purpose)
        one.add_argument("--project", required=True, help="the project's id")
        one.add_argument("--region", required=True, help="of functions, queues and schedules, such as europe-west1")
        one.add_argument("--config", type=Path, help="deploy.toml: what this deployment decides")
        if verb == "destroy":
            one.add_argument("--database", action="store_true", help="the database too, with all that is in it")
            one.add_argument("--yes", action="store_true", help="do not ask")
    return parser.parse_args()


def _act(options: argparse.Namespace, target: Target, runner: Runner) -> int:
    steps = plan.steps(target)
    if options.verb == "apply":
        apply(steps, runner, _say)
        _say("Done. `check` says when the indexes are ready.\n")
        return 0
    if options.verb == "check":
        off = check(steps, runner, _say)
        _say(f"{off} of {len(steps)} are off.\n" if off else "All is as it should be.\n")
        return 1 if off else 0
    if not (options.yes or _agreed(target, database=options.database)):
        _say("Nothing was deleted.\n")
        return 1
    destroy(steps, runner, _say)
    if options.database:
        erase(target, runner, _say)
    return 0


def _agreed(target: Target, *, database: bool) -> bool:
    _say(f"This deletes the functions, schedules, secrets, accounts, alerts and the dashboard of {target.prefix!r}.\n")
    _say(
        f"And the database {target.database} WITH ALL ITS DATA.\n"
        if database
        else "The queues and the database stay.\n"
    )
    _say(f"Type the project's id ({target.project}) to go on: ")
    return sys.stdin.readline().strip() == target.project


def _explained(failed: StepFailed) -> str:
    command = " ".join(quoted(word) for word in failed.command)
    said = failed.said.replace("\n", "\n  ")
    return f"\n{failed.step.title} failed:\n  {command}\n  {said}\nWhat may help: {failed.step.fix}"


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _complain(text: str) -> None:
    sys.stderr.write(text + "\n")


if __name__ == "__main__":
    sys.exit(main())
