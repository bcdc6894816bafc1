"""The options that verbs share."""

import getpass
import sys
from typing import Annotated

import typer

from ledgermail.cli.codes import Code, Failed


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        return "cli"


def _named(by: str) -> str:
    """Who asks, who must be somebody: `--by "$OPERATOR"` where that is not set would put nobody on record."""
    if not by.strip():
        raise typer.BadParameter("must not be empty: it is who is on record")
    return by


Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, and nothing else.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
By = Annotated[
    str,
    typer.Option(
        "--by",
        default_factory=_user,
        callback=_named,
        help="Who asks for it, for the audit; else the user of this machine.",
    ),
]
Note = Annotated[str, typer.Option("--note", help="Why, for the audit.")]


def confirm(question: str, yes: bool, otherwise: str = "nothing was changed") -> None:
    """Ask on standard error, so that output is only the answer's. Raises Failed for any answer but yes, and for none."""
    if yes:
        return
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
        raise Failed(Code.NOT_CONFIRMED, [f"not confirmed: {otherwise}"])
