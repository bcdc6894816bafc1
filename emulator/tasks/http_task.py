"""The HTTP request that one attempt sends to its target."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from google.cloud import tasks_v2

from emulator.tasks.naming import last_part
from emulator.tasks.oidc import TokenSigner
from emulator.tasks.queues import LiveTask

_OAUTH_TOKEN = "local-oauth-token"  # noqa: S105 - nobody on this machine can verify a Google access token


@dataclass(frozen=True)
class Outgoing:
    """One request, complete."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes
    deadline: timedelta  # from the start of the attempt to the end of the answer


def outgoing(queue_name: str, task: LiveTask, signer: TokenSigner) -> Outgoing:
    """The request of the attempt that has just been started, with its headers and token."""
    request = task.message.http_request
    headers = dict(request.headers) | _task_headers(queue_name, task) | _authorization(request, signer)
    return Outgoing(
        method=tasks_v2.HttpMethod(request.http_method).name,
        url=request.url,
        headers=headers,
        body=request.body,
        deadline=task.message.dispatch_deadline.ToTimedelta(),
    )


def _task_headers(queue_name: str, task: LiveTask) -> dict[str, str]:
    headers = {
        "X-CloudTasks-QueueName": last_part(queue_name),
        "X-CloudTasks-TaskName": last_part(task.name),
        "X-CloudTasks-TaskRetryCount": str(task.dispatches - 1),
        "X-CloudTasks-TaskExecutionCount": str(task.executions),
        "X-CloudTasks-TaskETA": f"{task.schedule_at.timestamp():.6f}",
    }
    if task.last_answer:
        headers["X-CloudTasks-TaskPreviousResponse"] = str(task.last_answer.status)
        headers["X-CloudTasks-TaskRetryReason"] = ""  # recorded from production: present on retries, and empty
    return headers


def _authorization(request: Any, signer: TokenSigner) -> dict[str, str]:
    match request.WhichOneof("authorization_header"):
        case "oidc_token":
            wanted = request.oidc_token
            token = signer.token(wanted.service_account_email, wanted.audience or request.url)
        case "oauth_token":
            token = _OAUTH_TOKEN
        case _:
            return {}
    return {"Authorization": f"Bearer {token}"}
