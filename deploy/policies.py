"""Alert policies, the metric of events and the dashboard, as the JSON that Cloud Monitoring takes."""

import json
from collections.abc import Sequence
from typing import Any

from deploy.alerts import Absence, Count, Probe
from deploy.queues import declared
from deploy.target import Target
from ledgermail.log_table import EVENTS as EVENTS_TABLE

Json = dict[str, Any]
RUN = 'resource.type="cloud_run_revision"'
EVENTS = "events"  # the counter of all of them
CHECK = "CHECK_ID"  # the placeholder of the uptime check
CHECK_PASSED = "monitoring.googleapis.com/uptime_check/check_passed"


def metric(target: Target, only: str = "") -> Json:
    """One counter of all events, by event and mailing: a new event needs no new metric. With `only`, of those that pass it."""
    labels = ("event", "mailing")
    return {
        "description": "Events of ledgermail, by name and mailing",
        "filter": f"{_lines(target)} AND jsonPayload.event:*" + (f" AND {only}" if only else ""),
        "metricDescriptor": {
            "metricKind": "DELTA",
            "valueType": "INT64",
            "labels": [{"key": label, "valueType": "STRING"} for label in labels],
        },
        "labelExtractors": {label: f"EXTRACT(jsonPayload.{label})" for label in labels},
    }


def curve(target: Target, event: str, field: str) -> Json:
    """The distribution of a number that an event bears."""
    return {
        "description": f"{field} of {event}: docs/logs.md",
        "filter": f'{_lines(target)} AND jsonPayload.event="{event}"',
        "metricDescriptor": {"metricKind": "DELTA", "valueType": "DISTRIBUTION"},
        "valueExtractor": f"EXTRACT(jsonPayload.{field})",
    }


def curve_name(event: str, field: str) -> str:
    """What that is called, without the prefix."""
    return f"{event}-{field}".replace(".", "-").replace("_", "-")


def _lines(target: Target) -> str:
    return f'{RUN} AND resource.labels.service_name=~"^{_services(target)}$"'


def _services(target: Target) -> str:
    """The pattern of our services' names: of another deployment, `mail-eu` beside `mail`, the prefix may begin as ours."""
    return f"{target.prefix}-({'|'.join(function.name for function in target.functions)})"


def policy(target: Target, alert: Count | Absence | Probe) -> Json:
    """The policy of an alert. Channels and the ids of checks are placeholders."""
    match alert:
        case Count():
            condition = {"conditionThreshold": _more_than(target, alert)}
        case Absence():
            gone = {"filter": _events(target, [alert.event]), "aggregations": [_sum(5 * 60)]}
            condition = {"conditionAbsent": {**gone, "duration": f"{alert.seconds}s", "trigger": {"count": 1}}}
        case Probe():
            condition = {"conditionThreshold": _failing(alert)}
    name = target.name(alert.name)
    return {
        "displayName": name,
        "combiner": "OR",
        "conditions": [{"displayName": name, **condition}],
        "documentation": {"content": alert.says, "mimeType": "text/markdown"},
        "notificationChannels": [channel(number) for number in range(len(target.notify))],
    }


def channel(number: int) -> str:
    """The placeholder of a notification channel."""
    return f"@CHANNEL_{number}@"


def _more_than(target: Target, alert: Count) -> Json:
    return {
        "filter": _events(target, alert.events, alert.name if alert.only else EVENTS),
        "aggregations": [_sum(alert.seconds)],
        "comparison": "COMPARISON_GT",
        "thresholdValue": alert.above,
        "duration": "0s",
        "trigger": {"count": 1},
    }


def _failing(probe: Probe) -> Json:
    """More than one region sees it fail, as one alone may have trouble of its own."""
    counted = {"crossSeriesReducer": "REDUCE_COUNT_FALSE", "groupByFields": ["resource.label.*"]}
    check = f'metric.labels.check_id="@{CHECK}@"'
    return {
        "filter": f'metric.type="{CHECK_PASSED}" AND resource.type="uptime_url" AND {check}',
        "aggregations": [
            {"alignmentPeriod": f"{probe.minutes * 2 * 60}s", "perSeriesAligner": "ALIGN_NEXT_OLDER", **counted}
        ],
        "comparison": "COMPARISON_GT",
        "thresholdValue": 1,
        "duration": "60s",
        "trigger": {"count": 1},
    }


def _events(target: Target, names: Sequence[str], counter: str = EVENTS) -> str:
    listed = ", ".join(f'"{name}"' for name in names)
    return f"{_counter(target, counter)} AND metric.labels.event=one_of({listed})"


def _counter(target: Target, counter: str = EVENTS) -> str:
    return f'metric.type="logging.googleapis.com/user/{target.name(counter)}" AND {RUN}'


def _sum(seconds: int, *by: str) -> Json:
    grouped = {"groupByFields": list(by)} if by else {}
    return {
        "alignmentPeriod": f"{seconds}s",
        "perSeriesAligner": "ALIGN_DELTA",
        "crossSeriesReducer": "REDUCE_SUM",
        **grouped,
    }


def dashboard(target: Target) -> Json:
    """What became of the mail, what the schedules did, what waits, and how the functions answer."""
    event = "metric.label.event"
    services = f'{RUN} AND resource.labels.service_name=monitoring.regex.full_match("{_services(target)}")'
    named = ", ".join(f'"{target.name(queue)}"' for queue in declared())
    queues = f'resource.type="cloud_tasks_queue" AND resource.labels.queue_id=one_of({named})'
    outcomes = f'{_counter(target)} AND metric.labels.event=starts_with("delivery.")'
    upkeep = f'{_counter(target)} AND metric.labels.event=ends_with(".done")'
    trouble = "breaker.*|request.*|task.*|match.*|schedule.*|run.missed"
    others = f'{_counter(target)} AND metric.labels.event=monitoring.regex.full_match("{trouble}")'
    latency = {"alignmentPeriod": "300s", "perSeriesAligner": "ALIGN_PERCENTILE_95"}
    by_service = {"crossSeriesReducer": "REDUCE_MAX", "groupByFields": ["resource.label.service_name"]}
    depth = {"alignmentPeriod": "60s", "perSeriesAligner": "ALIGN_MEAN"}
    answers = _sum(300, "resource.label.service_name", "metric.label.response_code_class")
    return {
        "displayName": target.prefix,
        "etag": "@DASHBOARD_ETAG@",
        "gridLayout": {
            "columns": "2",
            "widgets": [
                _chart("What became of deliveries", outcomes, _sum(300, event), stacked=True),
                _chart("Breaker, trouble, missed runs, unreadable matches", others, _sum(300, event)),
                _chart("Scans, plans, sweeps and prunes that ended", upkeep, _sum(300, event)),
                *_curves(target),
                _chart("Tasks waiting", f'metric.type="cloudtasks.googleapis.com/queue/depth" AND {queues}', depth),
                _chart("Answers", f'metric.type="run.googleapis.com/request_count" AND {services}', answers),
                _chart(
                    "Latency, 95th percentile",
                    f'metric.type="run.googleapis.com/request_latencies" AND {services}',
                    latency | by_service,
                ),
            ],
        },
    }


def _curves(target: Target) -> list[Json]:
    """The highest of each measured number: the latest oldest age is what the promise is about."""
    highest = {"alignmentPeriod": "300s", "perSeriesAligner": "ALIGN_PERCENTILE_99", "crossSeriesReducer": "REDUCE_MAX"}
    return [
        _chart(f"{field} of {event.name}", _counter(target, curve_name(event.name, field)), highest)
        for event in EVENTS_TABLE
        for field in event.measured
    ]


def _chart(title: str, series: str, aggregation: Json, *, stacked: bool = False) -> Json:
    query = {"timeSeriesFilter": {"filter": series, "aggregation": aggregation}}
    plot = "STACKED_BAR" if stacked else "LINE"
    return {"title": title, "xyChart": {"dataSets": [{"plotType": plot, "timeSeriesQuery": query}]}}


def text(document: Json) -> str:
    """As it is written to a file."""
    return json.dumps(document, indent=2) + "\n"
