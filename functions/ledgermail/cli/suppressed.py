"""The verbs about those who must not be mailed any more: suppressions, lift."""

from typing import Annotated

import typer

from ledgermail.cli.codes import Code, Failed
from ledgermail.cli.deployment import deployment
from ledgermail.cli.options import By, Json, Note, Yes, confirm
from ledgermail.cli.printed import print_json, print_lines, print_table


def suppressions(
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="At most so many, the newest first.")] = 50,
    as_json: Json = False,
) -> None:
    """Who was suppressed last, and why."""
    found = deployment().suppressions.newest(limit)
    if as_json:
        print_json({"suppressions": [{"user_id": user_id, **suppressed} for user_id, suppressed in found]})
    elif not found:
        print_lines("nobody is suppressed")
    else:
        rows = [(user_id, s.get("reason"), s.get("at"), s.get("address")) for user_id, s in found]
        print_table(["user", "reason", "at", "address"], rows)


def lift(
    user_id: Annotated[str, typer.Argument(help="The user's id.")],
    by: By,
    note: Note = "",
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """End a user's suppression. What happened until now does not suppress again."""
    app = deployment()
    confirm(f"Let {user_id} be mailed again?", yes)
    lifted = app.operations.lift(user_id, by=by, note=note)
    if lifted is None:
        raise Failed(Code.PROBLEM, [f"{user_id} is not suppressed, or is no user"])
    if as_json:
        print_json({"action": "lift", "user_id": user_id, "was": lifted, "by": by})
    else:
        print_lines(f"lift: {user_id} may be mailed again; it was {lifted.get('reason', 'suppressed')}")


VERBS = (suppressions, lift)
