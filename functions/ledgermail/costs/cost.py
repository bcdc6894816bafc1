"""What a deployment costs a month, from how much it mails: Firestore's operations and bytes, tasks, invocations. Pure.

The figures are those of the code: what a flow asks of Firestore is a constant here, and a test plays each flow against the
local Firestore's meter. Nothing is rounded up to look safe, and what depends on luck (a lost answer, a contended commit) is in
`attempts` alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from ledgermail.costs.prices import DAYS, LISTED, Prices
from ledgermail.errors import ConfigurationError

# Calls a day by the schedules and by the uptime check: deploy/table.py, a test compares.
CALLS: Mapping[str, float] = {
    "scan": 1440,
    "look-back": 24,
    "plan": 288,
    "sweep": 288,
    "prune": 2,
    "status": 288 + 288,
    "identity": 24,
}
JOBS = 7  # of Cloud Scheduler
PAGE = 200  # deliveries a commit, of planning and of pruning
BURST = 50  # deliveries that an instance makes on one reading of the gate, 5 seconds, when many are due at once
SAMPLE = 48  # deliveries that a whole status reads to say how they fared
SHOWN_RUNS = 20  # that it counts
# Bytes of a finished delivery with its name and its entries in the indexes, by Firestore's published sizes; a test measures.
DELIVERY_BYTES = 1_100
LOGGED = 900  # bytes of log a delivery; a call that finds nothing to do says a third of that
SECONDS = 0.5  # that an attempt takes, the provider's answer included
CALL_SECONDS = 0.3  # that any other call takes
GIB_AN_INSTANCE = 0.5
MOST = 1e12  # of anything: beyond, sums would be no numbers any more


@dataclass(frozen=True, kw_only=True)
class Volume:
    """How much is mailed within `days`. The defaults of the rest are those of what is shipped."""

    customers: int
    runs: float = 0  # digests or reports that each customer gets
    attempts: float = 1  # calls to the provider for a delivery, on average
    days: float = DAYS
    alerts: float = 0  # instant alerts that each customer gets
    together: float = 1  # alerts of one customer that one scan finds
    matches: float = 7  # that a digest lists; 0 for reports, which read a version once an instance
    webhooks: float = 0  # the share of digests and reports whose customer has a webhook
    events: bool = True  # whether the provider tells what became of each mail
    schedules: int = 1  # that customers have set, besides those of the mailings
    runs_a_day: float = 2  # digests' and reports' runs that are opened
    mailings: int = 4
    scheduled: int = 3  # of these, and the reports among them
    reports: int = 1
    shards: int = 4
    look_back_hours: int = 24
    alerts_kept: float = 30  # days
    runs_kept: float = 90
    calls: Mapping[str, float] = field(default_factory=lambda: dict(CALLS))  # a day

    def __post_init__(self) -> None:
        problems = [
            f"{one.name}: must not be below 0, nor above {MOST:g}"
            for one in fields(self)
            if isinstance(value := getattr(self, one.name), int | float) and not 0 <= value <= MOST  # nor no number
        ]
        problems += [f"{name}: must be above 0" for name in ("days", "together") if getattr(self, name) < 1 / MOST]
        if not self.attempts >= 1:
            problems.append("attempts: must be at least 1")
        if self.webhooks > 1:
            problems.append("webhooks: is a share, and must not be above 1")
        if problems:
            raise ConfigurationError(problems)

    @property
    def all_alerts(self) -> float:
        """Alerts of all customers."""
        return self.customers * self.alerts

    @property
    def all_digests(self) -> float:
        """Digests and reports of all customers."""
        return self.customers * self.runs

    def called(self, name: str) -> float:
        """How often a schedule calls within the days."""
        return self.calls.get(name, 0) * self.days


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What is used: of Firestore billed operations, of Cloud Tasks tasks (each is an operation to make and one to deliver)."""

    reads: float = 0
    writes: float = 0
    deletes: float = 0
    tasks: float = 0
    invocations: float = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(**{one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(self)})

    def times(self, factor: float) -> "Usage":
        """So often this."""
        return Usage(**{one.name: getattr(self, one.name) * factor for one in fields(self)})


@dataclass(frozen=True)
class Charge:
    """One thing that is charged: how much of it a month, and dollars beyond what is free."""

    what: str
    quantity: float
    dollars: float


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A month: what each flow uses, all of it, what stays stored, and what is charged."""

    rows: Mapping[str, Usage]
    total: Usage
    stored_bytes: float
    charges: tuple[Charge, ...]
    prices: Prices

    @property
    def dollars(self) -> float:
        """All charges."""
        return sum(charge.dollars for charge in self.charges)


def cost(volume: Volume, prices: Prices = LISTED) -> Estimate:
    """The estimate of a month, as `volume` goes on: rows by flow, in the order in which a mail meets them."""
    month = DAYS / volume.days
    rows = {name: usage.times(month) for name, usage in used(volume).items()}
    total = sum(rows.values(), Usage())
    kept = volume.all_alerts * volume.alerts_kept + volume.all_digests * volume.runs_kept
    stored = kept / volume.days * DELIVERY_BYTES
    attempts = (volume.all_alerts + volume.all_digests) * volume.attempts * month
    seconds = attempts * SECONDS + (total.invocations - attempts) * CALL_SECONDS
    quantities = {
        "reads": total.reads,
        "writes": total.writes,
        "deletes": total.deletes,
        "stored_bytes": stored,
        "task_operations": 2 * total.tasks,
        "invocations": total.invocations,
        "vcpu_seconds": seconds,
        "gib_seconds": seconds * GIB_AN_INSTANCE,
        "scheduler_jobs": JOBS,
        "logged_bytes": LOGGED * (attempts + (total.invocations - attempts) / 3),
    }
    charges = tuple(_charge(what, quantity, prices) for what, quantity in quantities.items())
    return Estimate(rows=rows, total=total, stored_bytes=stored, charges=charges, prices=prices)


def _charge(what: str, quantity: float, prices: Prices) -> Charge:
    price = prices.prices[what]
    return Charge(what, quantity, max(quantity - price.free, 0) / price.per * price.dollars)


def used(volume: Volume) -> Mapping[str, Usage]:
    """What each flow uses within the volume's days."""
    return {
        "plan alerts": _alerts_planned(volume),
        "plan digests and reports": _digests_planned(volume),
        "deliver": _delivered(volume),
        "webhooks": Usage(writes=volume.all_digests * volume.webhooks),
        "events": _events(volume),
        "sweep": Usage(reads=1 + volume.shards, invocations=1).times(volume.called("sweep")),
        "prune": _pruned(volume),
        "status": _watched(volume),
    }


def _alerts_planned(volume: Volume) -> Usage:
    """A scan reads its book and the new matches (one read where there are none), and each owner of one; a page is one commit
    with the book and the run, under a lock. A look-back counts each hour.
    """
    alerts, scans = volume.all_alerts, volume.called("scan")
    owners = alerts / volume.together
    busy = min(scans, owners)
    pages = max(alerts / PAGE, busy)
    look_backs = volume.called("look-back")
    return Usage(
        reads=2 * scans - busy + alerts + owners + look_backs * (3 + volume.look_back_hours),
        writes=alerts + busy + 2 * pages,
        tasks=alerts,
        invocations=scans + look_backs,
    )


def _digests_planned(volume: Volume) -> Usage:
    """A tick reads what each mailing remembers, the schedules in use, the reports' topics, and what is unplanned. A run is
    opened with its first page; each customer is read once and owed one delivery.
    """
    digests, ticks, runs = volume.all_digests, volume.called("plan"), volume.runs_a_day * volume.days
    idle = 2 * volume.scheduled + volume.schedules + volume.reports + 1
    return Usage(
        reads=idle * ticks + digests,
        writes=digests + digests / PAGE + 2 * runs,
        tasks=digests,
        invocations=ticks,
    )


def _delivered(volume: Volume) -> Usage:
    """An attempt reads the delivery and its user, claims and settles; a digest reads its matches at the first one."""
    alerts, digests = volume.all_alerts, volume.all_digests
    attempts = (alerts + digests) * volume.attempts
    gates = min(alerts, volume.called("scan")) + digests / BURST + (attempts - alerts - digests) / BURST
    return Usage(
        reads=2 * attempts + gates + digests * volume.matches,
        writes=2 * attempts,
        tasks=attempts - alerts - digests,
        invocations=attempts,
    )


def _events(volume: Volume) -> Usage:
    """`processed` and `delivered` come some seconds apart: two posts at the worst, each a read and a write of its delivery."""
    told = 2 * (volume.all_alerts + volume.all_digests) if volume.events else 0
    return Usage(reads=told, writes=told, invocations=told)


def _pruned(volume: Volume) -> Usage:
    """As many go as come; a page of a shard is one commit with the audit and its run's count."""
    pruned, prunes = volume.all_alerts + volume.all_digests, volume.called("prune")
    pages = max(pruned / PAGE, min(prunes * volume.shards, pruned))
    return Usage(
        reads=pruned + prunes * (volume.shards + 1),
        writes=2 * pages,
        deletes=pruned,
        invocations=prunes,
    )


def _watched(volume: Volume) -> Usage:
    """The ages; and, once an hour, the runs since yesterday, two counts each where all are accepted, and a sample."""
    ages = volume.mailings + volume.scheduled + (3 if volume.mailings > volume.scheduled else 1)
    mailed = (volume.all_alerts + volume.all_digests) / volume.days
    alerts_runs = 2 if volume.all_alerts else 0
    runs = min(SHOWN_RUNS, 1.5 * volume.runs_a_day * bool(volume.all_digests) + alerts_runs)
    whole = ages + max(3 * runs, 1) + 1.5 * mailed / 1_000 + min(SAMPLE, max(6, mailed / 24))
    looks, wholes = volume.called("status"), volume.called("identity")
    return Usage(reads=ages * looks + whole * wholes, invocations=looks + wholes)
