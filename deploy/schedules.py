"""Cloud Scheduler: what calls the functions, in UTC, with an OIDC token for exactly the function called."""

import base64
import json

from deploy.step import Command, Expected, Path, Step
from deploy.table import SCHEDULES, TASK_ACCOUNT, Schedule
from deploy.target import Target

# Above the function's own timeout: a job that is given up while its function runs would be started again beside it.
BEYOND_TIMEOUT = 30  # seconds
LONGEST = 30 * 60  # seconds: Cloud Scheduler takes no longer deadline, and no function may be given longer
MIN_BACKOFF = "30s"
JSON = "Content-Type=application/json"


def schedules(target: Target) -> list[Step]:
    """Every schedule."""
    return [_job(target, schedule) for schedule in SCHEDULES]


def _job(target: Target, schedule: Schedule) -> Step:
    describe = _scheduler(target, "describe", schedule)
    flags, posted = _flags(target, schedule), schedule.path is None
    return Step(
        title=f"schedule {target.name(schedule.name)}",
        why=f"{schedule.cron} (UTC): {schedule.function} {_body(schedule) if posted else schedule.path}",
        find=(*describe, "--format=value(name)"),
        create=_scheduler(target, "create http", schedule, *flags, *([f"--headers={JSON}"] if posted else [])),
        update=_scheduler(target, "update http", schedule, *flags, *([f"--update-headers={JSON}"] if posted else [])),
        delete=_scheduler(target, "delete", schedule, "--quiet"),
        expected=(Expected(command=(*describe, "--format=json"), values=_shown(target, schedule)),),
        fix="You need roles/cloudscheduler.admin and to act as the task account. "
        "A paused job goes on with `gcloud scheduler jobs resume`.",
    )


def _flags(target: Target, schedule: Schedule) -> list[str]:
    posted = ["--http-method=post", f"--message-body={_body(schedule)}"]
    return [
        f"--schedule={schedule.cron}",
        "--time-zone=Etc/UTC",
        f"--uri={_uri(target, schedule)}",
        *(posted if schedule.path is None else ["--http-method=get"]),
        f"--oidc-service-account-email={target.account(TASK_ACCOUNT)}",
        f"--oidc-token-audience={target.url(schedule.function)}",
        f"--attempt-deadline={_deadline(target)}",
        f"--max-retry-attempts={schedule.retries}",
        f"--min-backoff={MIN_BACKOFF}",
    ]


def _shown(target: Target, schedule: Schedule) -> dict[Path, object]:
    shown: dict[Path, object] = {
        ("state",): "ENABLED",
        ("schedule",): schedule.cron,
        ("timeZone",): "Etc/UTC",
        ("attemptDeadline",): _deadline(target),
        ("httpTarget", "uri"): _uri(target, schedule),
        ("httpTarget", "httpMethod"): "POST" if schedule.path is None else "GET",
        ("httpTarget", "oidcToken", "audience"): target.url(schedule.function),
        ("httpTarget", "oidcToken", "serviceAccountEmail"): target.account(TASK_ACCOUNT),
    }
    if schedule.path is None:
        shown["httpTarget", "body"] = base64.b64encode(_body(schedule).encode()).decode()
    return shown | ({("retryConfig", "retryCount"): schedule.retries} if schedule.retries else {})


def _uri(target: Target, schedule: Schedule) -> str:
    return target.url(schedule.function) + (schedule.path or "")


def _body(schedule: Schedule) -> str:
    return json.dumps(schedule.body)


def _deadline(target: Target) -> str:
    return f"{min(int(target.timeout.total_seconds()) + BEYOND_TIMEOUT, LONGEST)}s"


def _scheduler(target: Target, verb: str, schedule: Schedule, *flags: str) -> Command:
    where = (f"--location={target.region}", f"--project={target.project}")
    return ("gcloud", "scheduler", "jobs", *verb.split(), target.name(schedule.name), *where, *flags)
