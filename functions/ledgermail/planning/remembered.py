"""What a tick remembers of the cohorts of a mailing, by their names: how much of it, and what a name tells."""

from collections.abc import Mapping
from datetime import datetime
from itertools import accumulate

from ledgermail.log import log
from ledgermail.mailing import Mailing
from ledgermail.planning.audience import OWN, cohort_named
from ledgermail.planning.schedules import parsed

STAMP_BYTES = 9  # of a name and its time in a document: the end of the one, and the other
PLANNED_BYTES = 1_000_000  # of both, of all cohorts: Firestore takes a document of 1 MiB


def fitting(mailing: str, planned: Mapping[str, datetime]) -> Mapping[str, datetime]:
    """As many of the cohorts as one document holds, those of the mailing's own schedule first: anybody may set a schedule.

    One that is left out is taken for new at each tick, which costs reads, and opens nothing again.
    """
    first = sorted(planned, key=lambda name: (not name.startswith(OWN), name))
    sizes = accumulate(len(name) + STAMP_BYTES for name in first)
    kept = {name: planned[name] for name, size in zip(first, sizes, strict=True) if size <= PLANNED_BYTES}
    if len(kept) < len(planned):
        log("plan.not_remembered", severity="ERROR", mailing=mailing, cohorts=len(planned) - len(kept))
    return kept


def follows(mailing: Mailing, name: str) -> bool:
    """Whether the cohort of this name goes by the mailing's own schedule; it may where its text is too long to be known."""
    assert mailing.schedule is not None
    cohort = cohort_named(mailing.name, name)
    return cohort is None or parsed(cohort.schedule, mailing.schedule) is mailing.schedule
