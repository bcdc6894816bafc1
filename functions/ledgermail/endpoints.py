"""What each function does with a request: read the body, call the part, say what came of it."""

import uuid
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from flask import Request, Response

from ledgermail import oidc
from ledgermail.app import App
from ledgermail.errors import InvalidDocument
from ledgermail.log import log
from ledgermail.mailing import Mailing
from ledgermail.web import (
    Body,
    Refused,
    answer,
    anybody,
    flag_of,
    holder_of,
    json_body,
    key_of,
    number_of,
    put_off,
    raw_body,
    serve,
    text_of,
)

if TYPE_CHECKING:
    from ledgermail.planning.audience import Cohort
    from ledgermail.upkeep.prune import Pass
    from ledgermail.upkeep.upkeep import Position

POST = frozenset({"POST"})
GET = frozenset({"GET"})
EVENTS_BYTES = 4_000_000  # SendGrid posts at most 768 KB at a time
# What a holder of the trigger key may start: the function and the body that do it.
STARTABLE: dict[str, tuple[str, Body]] = {
    "scan": ("scan", {}),
    "look-back": ("scan", {"look_back": True}),
    "plan": ("plan", {}),
    "sweep": ("sweep", {}),
    "prune": ("prune", {}),
}


def scan(app: App, request: Request) -> Response:
    """Plan new matches: of one `mailing` or all; with `look_back`, those that were committed late."""
    return _internal(app, request, lambda body: _scan(app, body))


def plan(app: App, request: Request) -> Response:
    """Open the runs that are due; with `run_key` and `part`, go on planning that part of one.

    With `mailing`, `schedule` and `topic`, go on behind the cohort where an earlier tick ran out of time.
    """
    return _internal(app, request, lambda body: _plan(app, body))


def deliver(app: App, request: Request) -> Response:
    """Try the delivery that a task names."""
    return _internal(app, request, lambda body: _deliver(app, body))


def sweep(app: App, request: Request) -> Response:
    """Recover what got stuck, from `shard` on, and in it behind `at` and `delivery_id`."""
    return _internal(app, request, lambda body: _sweep(app, body))


def prune(app: App, request: Request) -> Response:
    """Delete what is past its retention; with `dry_run`, only count it."""
    return _internal(app, request, lambda body: _prune(app, body))


def status(app: App, request: Request) -> Response:
    """The counts, the identity and the ages; 503 when the promise is not kept. With `?runs=0` only the ages, cheaply.

    With `?format=prometheus`, or where that is what is accepted, as Prometheus reads it, and always 200.
    """
    return serve(
        request, methods=GET, guard=oidc.guard_of(app.settings), read=json_body, act=lambda _: _status(app, request)
    )


def preferences(app: App, request: Request) -> Response:
    """The page behind the link in every mail, and the one-click of a mailbox: for whoever has the link."""
    from ledgermail.preferences.preference_requests import answer_to

    return answer_to(app, request)


def trigger(app: App, request: Request) -> Response:
    """Start a `job` for whoever knows the key: for schedulers other than Cloud Scheduler."""
    guard = holder_of(app.settings.secrets["TRIGGER_KEY"])
    return serve(
        request, methods=GET | POST, guard=guard, read=json_body, act=lambda body: _trigger(app, request, body)
    )


def events(app: App, request: Request) -> Response:
    """Take in what the provider says became of its mails; signed by it."""

    def signed(request: Request) -> bytes:
        from ledgermail.events import signature

        raw = raw_body(request, EVENTS_BYTES)
        signature.check(raw, request.headers, app.settings.events_keys, app.clock.now())
        return raw

    return serve(request, methods=POST, guard=anybody, read=signed, act=lambda raw: _events(app, raw))


def console(app: App, request: Request) -> Response:
    """The pages for operators, who are asked who they are first."""
    from ledgermail.console import visit

    return visit.answer(app, request)


def _internal(app: App, request: Request, act: Callable[[Body], Response]) -> Response:
    return serve(request, methods=POST, guard=oidc.guard_of(app.settings), read=json_body, act=act)


def _scan(app: App, body: Body) -> Response:
    from ledgermail.planning import lookback

    back = flag_of(body, "look_back")
    reports = []
    for mailing in _mailings(app, body):
        report = lookback.look_back(app.scanner, mailing) if back else app.scanner.scan(mailing)
        if report.more:
            app.tasks.go_on("scan", {"mailing": mailing.name, "look_back": back})
        summary: dict[str, Any] = {
            "mailing": mailing.name,
            "more": report.more,
            "stopped": report.stopped,
            **report.counts,
        }
        log("scan.done", look_back=back, **summary)
        reports.append(summary)
    return answer({"scans": reports})


def _plan(app: App, body: Body) -> Response:
    again: Body = {}
    if "run_key" in body:
        again = {"run_key": text_of(body, "run_key"), "part": number_of(body, "part")}
        report = app.coordinator.plan_part(again["run_key"], again["part"])
    else:
        report = app.coordinator.tick(_cohort_of(body))
    if report.more:
        app.tasks.go_on("plan", again or _left_at(report.left_at))
    summary: dict[str, Any] = {"more": report.more, **report.counts}
    log("plan.done", **again, **summary)
    return answer(summary)


def _cohort_of(body: Body) -> "Cohort | None":
    """Where an earlier tick stopped."""
    if "mailing" not in body:
        return None
    from ledgermail.planning.audience import Cohort

    schedule, topic = (text_of(body, name) if name in body else None for name in ("schedule", "topic"))
    return Cohort(mailing=text_of(body, "mailing"), schedule=schedule, topic=topic)


def _left_at(cohort: "Cohort | None") -> Body:
    """The body that `_cohort_of` reads."""
    named = {"mailing": cohort.mailing, "schedule": cohort.schedule, "topic": cohort.topic} if cohort else {}
    return {name: value for name, value in named.items() if value is not None}


def _mailings(app: App, body: Body) -> list[Mailing]:
    if "mailing" not in body:
        return [mailing for mailing in app.mailings.values() if mailing.schedule is None]
    name = text_of(body, "mailing")
    if name not in app.mailings or app.mailings[name].schedule is not None:
        raise Refused(400, f"mailing: there is no {name!r} without a schedule")
    return [app.mailings[name]]


def _deliver(app: App, body: Body) -> Response:
    result = app.worker.deliver(text_of(body, "delivery_id"))
    said = {"delivery": result.what}
    return answer(said) if result.wait is None else put_off(said, result.wait)


def _sweep(app: App, body: Body) -> Response:
    report = app.sweeper.sweep(number_of(body, "shard"), _position_of(body))
    if report.go_on_at is not None:
        app.tasks.go_on("sweep", {"shard": report.go_on_at} | _behind(report.after))
    swept: dict[str, Any] = dict(report.counts)
    log("sweep.done", go_on_at=report.go_on_at, **swept)
    return answer({"swept": swept, "more": report.go_on_at is not None})


def _prune(app: App, body: Body) -> Response:
    report = app.pruner.prune(_pass_of(body))
    if report.go_on is not None:
        app.tasks.go_on("prune", _body_of(report.go_on))
    counts: dict[str, dict[str, int]] = {}
    for (mailing, state), count in report.counts.items():
        counts.setdefault(mailing, {})[state] = count
    return answer(
        {
            "prune_id": report.prune_id,
            "counts": counts,
            "deleted": report.deleted,
            "runs_deleted": report.runs_deleted,
            "more": report.go_on is not None,
        }
    )


def _pass_of(body: Body) -> "Pass":
    from ledgermail.upkeep.prune import Pass

    after = _position_of(body)
    prune_id = key_of(body, "prune_id") if "prune_id" in body else uuid.uuid4().hex
    return Pass(prune_id=prune_id, shard=number_of(body, "shard"), after=after, dry_run=flag_of(body, "dry_run"))


def _body_of(current: "Pass") -> Body:
    """The body that `_pass_of` reads."""
    body = {"prune_id": current.prune_id, "shard": current.shard, "dry_run": current.dry_run}
    return body | _behind(current.after)


def _position_of(body: Body) -> "Position | None":
    from ledgermail.upkeep.upkeep import Position

    if "at" not in body:
        return None
    try:
        at = datetime.fromisoformat(text_of(body, "at"))
    except ValueError as error:
        raise Refused(400, "at: must be a time in ISO 8601") from error
    if at.tzinfo is None:
        raise Refused(400, "at: must have a time zone")
    return Position(at, key_of(body, "delivery_id"))


def _behind(position: "Position | None") -> Body:
    """The part of a body that `_position_of` reads."""
    return {} if position is None else {"at": position.at.isoformat(), "delivery_id": position.delivery_id}


def _status(app: App, request: Request) -> Response:
    from ledgermail.status.status_web import respond

    return respond(app, request)


def _events(app: App, raw: bytes) -> Response:
    from ledgermail.events.events import parse, read_batch

    try:
        batch = read_batch(parse(raw))
    except InvalidDocument as error:
        raise Refused(400, str(error)) from error
    counts: dict[str, Any] = dict(app.intake.take(batch))
    log("events.taken", severity="WARNING" if counts.get("malformed") else "INFO", **counts)
    return answer(counts)


def _trigger(app: App, request: Request, body: Body) -> Response:
    """Started as a task: whoever asked need not wait, and a repeated call does no harm."""
    job = request.args.get("job") or body.get("job")
    if not isinstance(job, str) or job not in STARTABLE:
        raise Refused(400, f"job: must be one of {', '.join(STARTABLE)}")
    if not app.tasks.go_on(*STARTABLE[job]):
        return answer({"error": "the task could not be created"}, 503)
    return answer({"started": job}, 202)
