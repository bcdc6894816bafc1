"""Health, pure: what of the promise is not kept, judged from what a status has seen."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from ledgermail.delivering.gate import Gate
from ledgermail.mailing import Mailing
from ledgermail.planning.run import Run, State
from ledgermail.planning.runs import RunCounts
from ledgermail.status.ages import Oldest


class Kind(StrEnum):
    """What a problem is about. Each makes `status` answer 503."""

    LATE = "late"  # the oldest unfinished delivery of a mailing is older than it promises
    UNREAD = "unread"  # so is a match that no scan has read
    PLANNING = "planning"  # a run is being planned for longer than that
    MISSING = "missing"  # a run should exist, and does not
    IDENTITY = "identity"  # a run's identity has not held for longer than the grace
    BREAKER = "breaker"  # the provider has all mail held back


@dataclass(frozen=True)
class Problem:
    """One thing that is not well."""

    kind: Kind
    says: str


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What there was to see. A mailing's oldest delivery is None where it has nothing unfinished."""

    now: datetime
    gate: Gate
    oldest: Mapping[str, Oldest | None]
    unread: Mapping[str, timedelta]
    never_made: Sequence[Run] = ()
    gone: Sequence[Run] = ()
    counts: Sequence[RunCounts] = ()
    broken: Collection[str] = ()  # keys of runs whose identity has not held for longer than the grace

    @property
    def breaker_open(self) -> bool:
        """Whether the provider's answers hold mail back now."""
        return self.gate.open_until is not None and self.now < self.gate.open_until


def problems(seen: Seen, mailings: Mapping[str, Mailing]) -> list[Problem]:
    """All that is not well; nothing when the promise is kept. A pause is an operator's will, and none by itself."""
    return [
        *([Problem(Kind.BREAKER, _held_back(seen.gate))] if seen.breaker_open else []),
        *(Problem(Kind.IDENTITY, f"{key}: the identity does not hold") for key in sorted(seen.broken)),
        *_late(seen, mailings),
        *_planning(seen, mailings),
        *(Problem(Kind.MISSING, f"{run.key}: was due at {run.due_at}, and is not made") for run in seen.never_made),
        *(Problem(Kind.MISSING, f"{run.key}: was made, and is gone") for run in seen.gone),
        *(
            Problem(
                Kind.UNREAD, f"{name}: the oldest match that no scan has read is older than {mailings[name].promise}"
            )
            for name, age in seen.unread.items()
            if age > mailings[name].promise
        ),
    ]


def _held_back(gate: Gate) -> str:
    return f"the breaker is open until {gate.open_until}: {gate.reason}"


def _late(seen: Seen, mailings: Mapping[str, Mailing]) -> Iterator[Problem]:
    for name, oldest in seen.oldest.items():
        promise = mailings[name].promise
        if oldest is not None and oldest.age(seen.now) > promise:
            yield Problem(Kind.LATE, f"{name}: the oldest unfinished delivery is older than {promise}")


def _planning(seen: Seen, mailings: Mapping[str, Mailing]) -> Iterator[Problem]:
    """Planning a run takes longer than its mailing promises, or nobody plans it any more."""
    for account in (run.account for run in seen.counts):
        mailing = mailings.get(account.mailing)
        promise = mailing.promise if mailing else timedelta()
        if account.state == State.PLANNING and seen.now - account.opened_at > promise:
            yield Problem(Kind.PLANNING, f"{account.run_key}: is still being planned")
