"""The verb prune: the pruner, run here from end to end."""

import uuid
from collections import Counter
from typing import Annotated, Any

import typer

from ledgermail.cli.deployment import deployment
from ledgermail.cli.options import Json, Yes, confirm
from ledgermail.cli.printed import print_json, print_lines, print_table


def prune(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what would be deleted.")] = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Delete what is finished and past its retention; what was deleted is counted in prunes/<id>."""
    from ledgermail.upkeep.prune import Pass

    app = deployment()
    confirm("Delete what is past its retention?", yes or dry_run)
    counts: Counter[tuple[str, str]] = Counter()
    prune_id = uuid.uuid4().hex
    current: Pass | None = Pass(prune_id=prune_id, dry_run=dry_run)
    told: dict[str, Any] = {"prune_id": prune_id, "dry_run": dry_run, "deleted": 0, "runs_deleted": 0}
    while current is not None:
        report = app.pruner.prune(current)
        counts.update(report.counts)
        told["deleted"] += report.deleted
        told["runs_deleted"] += report.runs_deleted
        current = report.go_on
    if as_json:
        print_json(told | {"counts": [{"mailing": m, "status": s, "count": n} for (m, s), n in sorted(counts.items())]})
        return
    print_table(["mailing", "status", "deliveries"], [(m, s, n) for (m, s), n in sorted(counts.items())])
    said = (
        f"{counts.total()} would be deleted" if dry_run else f"{told['deleted']} deleted, {told['runs_deleted']} runs"
    )
    print_lines(f"prune: {said}")


VERBS = (prune,)
