"""The command line: `ledgermail <verb>`, or `python -m ledgermail.cli <verb>`. It is for operators, and not deployed."""

import sys
from collections.abc import Sequence

LIBRARIES = {"click", "rich", "typer"}
MISSING = "ledgermail: the command line needs typer and rich: pip install 'ledgermail[cli]'\n"
UNUSABLE = 4  # Code.UNUSABLE, where its module may not even be imported


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what the arguments ask (by default the process's). Returns the exit code: one of codes.Code."""
    try:
        from ledgermail.cli.program import run
    except ModuleNotFoundError as error:
        if error.name not in LIBRARIES:
            raise
        sys.stderr.write(MISSING)
        return UNUSABLE
    return run(sys.argv[1:] if arguments is None else arguments)
