"""What `status` answers: the number of runs and the format that are asked for, and one event in the log for each report."""

from flask import Request, Response

from ledgermail.app import App
from ledgermail.log import log
from ledgermail.status import metrics
from ledgermail.status.report import as_json
from ledgermail.status.status import MOST_RUNS, SHOWN_RUNS, StatusReport
from ledgermail.web import Refused, answer


def respond(app: App, request: Request) -> Response:
    """The report; 503 when the promise is not kept, but for Prometheus. Raises Refused and LedgerUnavailable."""
    runs = _runs(request.args.get("runs", str(SHOWN_RUNS)))
    form = request.args.get("format") or ("prometheus" if _for_prometheus(request) else "json")
    if form not in {"json", "prometheus"}:
        raise Refused(400, "format: must be json or prometheus")
    report = app.statuses.report(runs)  # only now: what is refused needs no connection
    _log(report)
    if form == "json":
        return answer(as_json(report), 200 if report.healthy else 503)
    # Prometheus takes nothing from an answer that is not 200: there it is `ledgermail_healthy` that says so.
    text, content_type = metrics.exposition(report, request.headers.get("Accept", ""))
    return Response(text, 200, content_type=content_type)


def _runs(asked: str) -> int:
    if not (asked.isascii() and asked.isdigit() and len(asked) <= len(str(MOST_RUNS)) and int(asked) <= MOST_RUNS):
        raise Refused(400, f"runs: must be a whole number from 0 to {MOST_RUNS}")
    return int(asked)


def _for_prometheus(request: Request) -> bool:
    """Whether it is Prometheus that asks: nobody else names a version of these formats."""
    accepted = request.headers.get("Accept", "")
    return "application/openmetrics-text" in accepted or "version=0.0.4" in accepted


def _log(report: StatusReport) -> None:
    told = as_json(report)
    ages = [age for age in told["oldest_unfinished_seconds"].values() if age is not None]
    log(
        "status.reported",
        severity="INFO" if report.healthy else "ERROR",
        healthy=report.healthy,
        problems=sorted({problem.kind for problem in report.problems}),
        identity=report.identity,
        oldest_seconds=max(ages, default=0),
        reads=report.reads,
        oldest_unfinished_seconds=told["oldest_unfinished_seconds"],
        oldest_unread_match_seconds=told["oldest_unread_match_seconds"],
    )
