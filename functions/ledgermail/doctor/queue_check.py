"""The doctor's look at Cloud Tasks: both queues are there, run, and retry as they are declared to."""

import tomllib
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from google.api_core.exceptions import Forbidden

from ledgermail.declared import Declared
from ledgermail.delivering.tasks import CREATE_SECONDS, connect
from ledgermail.doctor.finding import Finding, ok, problem, unseen, warning
from ledgermail.doctor.google_refusal import DEPLOY, REFUSED, Service, diagnosis
from ledgermail.settings import FOLDER, Settings

if TYPE_CHECKING:
    from google.cloud.tasks_v2 import CloudTasksClient
    from google.cloud.tasks_v2.types import Queue

DECLARED = FOLDER.parent.parent / "deploy" / "queues.toml"  # not there where only functions/ is deployed
CREATE_TASKS = "cloudtasks.tasks.create"
VIEW = "roles/cloudtasks.viewer lets it be looked at"


def queues(settings: Settings) -> Iterator[Finding]:
    """A finding for each of the two queues."""
    for role, name in (("deliver", settings.queue), ("upkeep", settings.upkeep_queue)):
        check, service = f"queue {name}", _service(settings, name)
        try:
            declared = tomllib.loads(DECLARED.read_text("utf-8")) if DECLARED.is_file() else {}
            with connect() as client:
                yield _queue(client, settings, name, declared.get(role, {}))
        except REFUSED as error:
            yield diagnosis(check, service, error)


def _service(settings: Settings, name: str) -> Service:
    where = f"{name} --location={settings.location} --project={settings.project}"
    return Service(
        api="cloudtasks.googleapis.com",
        host_variable="CLOUD_TASKS_EMULATOR_HOST",
        grant=f"gcloud tasks queues add-iam-policy-binding {where} "
        "--member=serviceAccount:ACCOUNT --role=roles/cloudtasks.enqueuer",
        create=f"gcloud tasks queues create {where}",
    )


def _queue(client: "CloudTasksClient", settings: Settings, name: str, declared: Mapping[str, Any]) -> Finding:
    path, check = client.queue_path(settings.project, settings.location, name), f"queue {name}"
    try:
        queue = client.get_queue(name=path, retry=None, timeout=CREATE_SECONDS)
    except Forbidden:
        # Looking at a queue takes a right that no function needs; what it may do, everybody is told of himself. Of a
        # queue that is not there nothing is said to whom may not look.
        told = client.test_iam_permissions(
            resource=path, permissions=[CREATE_TASKS], retry=None, timeout=CREATE_SECONDS
        )
        if CREATE_TASKS not in told.permissions:
            raise
        return unseen(check, "tasks may be created; whether it runs may not be looked at", VIEW)
    return _state(check, _service(settings, name), queue) or _retries(check, queue, declared)


def _state(check: str, service: Service, queue: "Queue") -> Finding | None:
    resume = f"`{service.create.replace(' create ', ' resume ')}`"
    match queue.state.name:
        case "PAUSED":
            return warning(check, "it is paused: tasks wait", resume)
        case "DISABLED":
            return problem(check, "it is disabled: tasks wait", resume)
        case _:
            return None


def _retries(check: str, queue: "Queue", declared: Mapping[str, Any]) -> Finding:
    wanted, now = Declared(declared), queue.retry_config
    expected = {
        "max_attempts": (now.max_attempts, declared.get("max_attempts")),
        "max_doublings": (now.max_doublings, declared.get("max_doublings")),
        "min_backoff": (now.min_backoff, wanted.duration("min_backoff", timedelta())),
        "max_backoff": (now.max_backoff, wanted.duration("max_backoff", timedelta())),
    }
    wrong = [f"{key} is {found}, declared {wish}" for key, (found, wish) in expected.items() if found != wish]
    if not declared:
        return ok(check, "it runs")
    if wrong:
        return problem(check, "; ".join(wrong), f"{DEPLOY}, or change deploy/queues.toml")
    return ok(check, "it runs, and retries as declared")
