"""How deliveries fared that were finished of late: a sample of them, at a bounded number of reads whatever the ledger's size.

It rests on the pruner's index. Who is finished now is pruned after the retention of its mailing and status, so what was
finished within the last hour has a prune_at within an hour, for each retention there is. The hour is entered at evenly spaced
points, and a few deliveries are read behind each: all of them where there are few, and else as many of each part of the hour.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import fmean, quantiles

from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter

from ledgermail.errors import InvalidDocument, NewerSchema
from ledgermail.ledger.delivery import TERMINAL, Delivery
from ledgermail.ledger.ledger import DELIVERIES, stored
from ledgermail.ledger.transitions import EMAIL, RENDER, WEBHOOK
from ledgermail.mailing import Mailing
from ledgermail.status.bill import Bill
from ledgermail.store import MOST_IN, Snapshot, call, ledger_errors

WINDOWS = (timedelta(hours=1), timedelta(days=1))  # the second where nothing was finished within the first
QUERIES = 6  # a window; as many retentions as that can be told apart
MOST_READ = 48  # deliveries in all
STAGES = (RENDER, EMAIL, WEBHOOK)


@dataclass(frozen=True)
class Spread:
    """Seconds that something took: the middle, and what all but one in twenty stayed below."""

    median: float
    p95: float


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What a sample of finished deliveries says. None, or no stage, where nothing of the kind was in it."""

    sampled: int
    lag: Spread | None  # from the due time to the first claim
    attempts: float  # of a finished delivery, on average; 0 for one that ended before any
    stages: Mapping[str, Spread]  # from the end of the stage before, or the first claim


def figures(sample: Sequence[Delivery]) -> Figures | None:
    """The figures of a sample; None of an empty one."""
    if not sample:
        return None
    lags = [(d.first_claimed_at - d.due_at).total_seconds() for d in sample if d.first_claimed_at]
    taken = {stage: [seconds for d in sample for name, seconds in _taken(d) if name == stage] for stage in STAGES}
    return Figures(
        sampled=len(sample),
        lag=_spread(lags),
        attempts=fmean(d.attempt for d in sample),
        stages={stage: spread for stage, seconds in taken.items() if (spread := _spread(seconds))},
    )


def _taken(delivery: Delivery) -> Iterator[tuple[str, float]]:
    """What each stage on record took."""
    before = delivery.first_claimed_at
    for name in STAGES:
        stage = delivery.stages.get(name)
        if stage is not None:
            if before is not None:
                yield name, (stage.at - before).total_seconds()
            before = stage.at


def _spread(seconds: Sequence[float]) -> Spread | None:
    """Clocks differ a little: what would be below 0 is 0."""
    if not seconds:
        return None
    least = [max(0.0, value) for value in seconds]
    cuts = quantiles([*least, *least] if len(least) == 1 else least, n=20, method="inclusive")
    return Spread(median=cuts[9], p95=cuts[18])


@dataclass(frozen=True, kw_only=True)
class Samples:
    """What samples are read from."""

    client: firestore.Client
    mailings: Mapping[str, Mailing]
    shards: int

    def read(self, now: datetime, bill: Bill) -> list[Delivery]:
        """Deliveries finished within the last hour or else the last day: at most 48 reads. Raises LedgerUnavailable.

        With more than thirty shards those of the first thirty: an id's shard says nothing of how it fared.
        """
        before = bill.reads
        for window in WINDOWS:
            starts = list(self._starts(now, window))
            limit = (MOST_READ - bill.reads + before) // max(len(starts), 1)
            parts = [self._behind(start, end, limit, bill) for start, end in starts] if limit else []
            found = [d for part in parts for snapshot in part for d in _readable(snapshot, now - window)]
            if found:
                return [*{delivery.id: delivery for delivery in found}.values()]
        return []

    def _starts(self, now: datetime, window: timedelta) -> Iterator[tuple[datetime, datetime]]:
        """The parts of the window, as times of pruning: for each retention, evenly spaced."""
        kept = sorted({m.policy.kept(status) for m in self.mailings.values() for status in TERMINAL})[:QUERIES]
        points = QUERIES // max(len(kept), 1)
        for retention in kept:
            for point in range(points):
                start = now - window + window * point / points + retention
                yield start, start + window / points

    def _behind(self, start: datetime, end: datetime, limit: int, bill: Bill) -> list[Snapshot]:
        shards = list(range(min(self.shards, MOST_IN)))
        query = self.client.collection(DELIVERIES).where(filter=FieldFilter("shard", "in", shards))
        query = query.where(filter=FieldFilter("prune_at", ">=", start)).where(filter=FieldFilter("prune_at", "<", end))
        with ledger_errors("read a sample"):
            return bill.documents(list(query.order_by("prune_at").limit(limit).stream(**call())))


def _readable(snapshot: Snapshot, since: datetime) -> Iterator[Delivery]:
    """The delivery, if it can be read as one, and was finished since then: another retention may have led here, too."""
    try:
        delivery = stored(snapshot).delivery
    except (InvalidDocument, NewerSchema):
        return
    if delivery.settled_at is not None and delivery.settled_at >= since:
        yield delivery
