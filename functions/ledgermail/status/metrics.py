"""A status as Prometheus reads it. The library is imported only when somebody asks: no other function pays for it."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ledgermail.ledger import delivery
from ledgermail.status import report
from ledgermail.status.health import Kind
from ledgermail.status.status import StatusReport

if TYPE_CHECKING:
    from prometheus_client.core import GaugeMetricFamily

PREFIX = "ledgermail_"
QUANTILES = {"0.5": "median", "0.95": "p95"}


def exposition(status: StatusReport, accept: str) -> tuple[bytes, str]:
    """The text and its content type: OpenMetrics for whoever accepts it, else the Prometheus format."""
    from prometheus_client import CollectorRegistry
    from prometheus_client.exposition import choose_encoder

    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(status))
    encode, content_type = choose_encoder(accept)
    return encode(registry), content_type


class _Collector:
    """What the registry asks for its families: made from one status."""

    def __init__(self, status: StatusReport) -> None:
        self._status = status

    def collect(self) -> "Iterator[GaugeMetricFamily]":
        """Every family; those of counts and figures are empty in a status without runs."""
        yield from _health(self._status)
        yield from _ages(self._status)
        yield from _counts(self._status)
        yield from _figures(self._status)
        yield _family("status_reads", "Billed reads of Firestore that this status cost", [], {(): self._status.reads})


def _health(status: StatusReport) -> "Iterator[GaugeMetricFamily]":
    gate, kinds = status.seen.gate, [problem.kind for problem in status.problems]
    yield _family("healthy", "1 when the promise is kept", [], {(): status.healthy})
    yield _family("problems", "What is not well, by kind", ["kind"], {(kind,): kinds.count(kind) for kind in Kind})
    yield _family(
        "breaker_open", "1 while the provider's answers hold all mail back", [], {(): status.seen.breaker_open}
    )
    yield _family("paused", "1 while an operator holds all mail back", [], {(): gate.paused})
    holds = {} if status.since is None else {(): status.identity == "holds"}
    yield _family("identity_holds", "1 when the identity holds in every run that was counted", [], holds)


def _ages(status: StatusReport) -> "Iterator[GaugeMetricFamily]":
    seen = status.seen
    ages = {(name,): oldest.age(seen.now).total_seconds() if oldest else 0 for name, oldest in seen.oldest.items()}
    yield _family(
        "oldest_unfinished_seconds", "Since the oldest unfinished delivery was due; 0 without any", ["mailing"], ages
    )
    unread = {(name,): age.total_seconds() for name, age in seen.unread.items()}
    yield _family("oldest_unread_match_seconds", "Since the oldest match that no scan has read", ["mailing"], unread)


def _counts(status: StatusReport) -> "Iterator[GaugeMetricFamily]":
    """Of the runs since yesterday that were counted."""
    sums = {name: report.totals(status, name) for name in status.seen.oldest} if status.since else {}
    statuses = {(name, str(one)): total[one] for name, total in sums.items() for one in delivery.Status}
    yield _family("deliveries", "Deliveries of recent runs by status", ["mailing", "status"], statuses)
    texts = {
        "intended": "Deliveries that recent runs intended",
        "pruned": "Deliveries of recent runs that were pruned",
        "duplicates_suppressed": "Obligations of recent runs that were asked for again",
    }
    for name, text in texts.items():
        yield _family(name, text, ["mailing"], {(mailing,): total[name] for mailing, total in sums.items()})
    before = {(name,): count for name, count in status.older.items()}
    yield _family("unfinished_from_before", "Unfinished deliveries due before the recent runs", ["mailing"], before)


def _figures(status: StatusReport) -> "Iterator[GaugeMetricFamily]":
    """Of a sample of what was finished of late."""
    found = status.figures
    yield _family(
        "sampled", "Finished deliveries in the sample", ["mailing"], {(n,): f.sampled for n, f in found.items()}
    )
    yield _family("attempts", "Attempts a finished delivery", ["mailing"], {(n,): f.attempts for n, f in found.items()})
    lags = {(n, q): getattr(f.lag, name) for n, f in found.items() if f.lag for q, name in QUANTILES.items()}
    yield _family("claim_lag_seconds", "From the due time to the first claim", ["mailing", "quantile"], lags)
    stages = {
        (mailing, stage, quantile): getattr(spread, name)
        for mailing, of_mailing in found.items()
        for stage, spread in of_mailing.stages.items()
        for quantile, name in QUANTILES.items()
    }
    yield _family("stage_seconds", "What each stage took", ["mailing", "stage", "quantile"], stages)


def _family(name: str, text: str, labels: list[str], values: Mapping[Any, float]) -> "GaugeMetricFamily":
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily(PREFIX + name, text, labels=labels)
    for label, value in values.items():
        family.add_metric(label, float(value))
    return family
