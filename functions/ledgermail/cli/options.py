"""The options that verbs share."""

import getpass
import sys
from typing import Annotated

import typer


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        return "cli"


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, and nothing else.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
By = Annotated[
    str,
    typer.Option("--by", default_factory=_user, help="Who asks for it, for the audit; else the user of this machine."),
]
Note = Annotated[str, typer.Option("--note", help="Why, for the audit.")]


def confirmed(question: str, yes: bool) -> bool:
    """Whether to go on: asked on standard error, so that output is only the answer's; where nobody can answer, not."""
    if yes:
        return True
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
