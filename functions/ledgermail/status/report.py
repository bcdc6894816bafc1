"""A status as JSON can hold it: pure."""

from dataclasses import asdict
from datetime import datetime
from typing import Any

from ledgermail.ledger import delivery
from ledgermail.planning.runs import RunCounts
from ledgermail.status.samples import Figures
from ledgermail.status.status import StatusReport


def as_json(status: StatusReport) -> dict[str, Any]:
    """The report. Times are ISO 8601, durations seconds; without runs it has neither counts nor figures."""
    seen = status.seen
    ages = {name: oldest and oldest.age(seen.now).total_seconds() for name, oldest in seen.oldest.items()}
    told: dict[str, Any] = {
        "healthy": status.healthy,
        "problems": [problem.says for problem in status.problems],
        "identity": status.identity,
        "held_back": {
            "paused": seen.gate.paused,
            "breaker_open": seen.breaker_open,
            "until": _text(seen.gate.open_until),
            "reason": seen.gate.reason,
        },
        "oldest_unfinished_seconds": ages,
        "oldest_unread_match_seconds": {name: age.total_seconds() for name, age in seen.unread.items()},
        "runs": [run_as_json(run) for run in seen.counts],
        "cost": {"reads": status.reads},
    }
    if status.since is None:
        return told
    mailings = {name: _mailing(status, name) for name in seen.oldest}
    return told | {"since": _text(status.since), "shown_all": status.shown_all, "mailings": mailings}


def totals(status: StatusReport, mailing: str) -> dict[str, int]:
    """The sums of a mailing's runs that were counted by status: intended, what became of it, duplicates suppressed."""
    runs = [run for run in status.seen.counts if run.account.mailing == mailing and run.statuses]
    statuses = {str(one): sum(run.statuses[one] for run in runs) for one in delivery.Status}
    return {
        "intended": sum(run.account.intended for run in runs),
        **statuses,
        "pruned": sum(run.account.pruned for run in runs),
        "duplicates_suppressed": sum(run.account.duplicates for run in runs),
    }


def _mailing(status: StatusReport, name: str) -> dict[str, Any]:
    looked_at = [run for run in status.seen.counts if run.account.mailing == name]
    return {
        "runs": len(looked_at),
        "runs_counted": sum(1 for run in looked_at if run.statuses),
        **totals(status, name),
        "identity": "holds" if all(run.holds for run in looked_at) else "broken",
        "unfinished_from_before": status.older[name],
        "finished": _figures(status.figures.get(name)),
    }


def _figures(found: Figures | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "sampled": found.sampled,
        "lag_seconds": found.lag and asdict(found.lag),
        "attempts": found.attempts,
        "stage_seconds": {stage: asdict(spread) for stage, spread in found.stages.items()},
    }


def run_as_json(run: RunCounts) -> dict[str, Any]:
    """Without its statuses where they were not counted one by one."""
    return {
        "run_key": run.account.run_key,
        "mailing": run.account.mailing,
        "state": run.account.state,
        "intended": run.account.intended,
        **{str(one): count for one, count in run.statuses.items()},
        "pruned": run.account.pruned,
        "duplicates_suppressed": run.account.duplicates,
        "identity": "holds" if run.holds else "broken",
    }


def _text(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
