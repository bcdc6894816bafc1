"""Wake-ups: one Cloud Task for each delivery that is due, and one for each upkeep that goes on."""

import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from google.api_core.exceptions import AlreadyExists, GoogleAPICallError

from ledgermail.ledger import ids
from ledgermail.ledger.delivery import Delivery
from ledgermail.log import log
from ledgermail.settings import Settings

if TYPE_CHECKING:
    from google.cloud.tasks_v2 import CloudTasksClient

AT_ONCE = 32  # creates under way together; Cloud Tasks answers wider fans with DEADLINE_EXCEEDED
CREATE_SECONDS = (
    10.0  # for one create; the client has no retry of its own for it, and none is needed: the sweep is ours
)


@dataclass(frozen=True)
class Wake:
    """When to try a delivery; the generation makes the task's name new each time."""

    delivery_id: str
    generation: int
    at: datetime | None = None  # None: now


def wake_of(delivery: Delivery) -> Wake:
    """The wake-up that a pending delivery waits for."""
    return Wake(delivery.id, delivery.generation, delivery.next_attempt_at)


class Tasks:
    """The queues. A task that could not be created leaves its delivery due, and the sweep makes it anew."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def wake(self, wakes: Sequence[Wake]) -> int:
        """Create the tasks, at most 32 at a time, and return how many there are now: a used name counts as one.

        All threads have ended when this returns: nothing is left for after the response.
        """
        if not wakes:
            return 0
        _ = self._client  # made once, before the threads ask for it
        with ThreadPoolExecutor(max_workers=min(AT_ONCE, len(wakes))) as pool:
            return sum(pool.map(self._wake, wakes))

    def go_on(self, function: str, body: dict[str, Any]) -> bool:
        """Have one of our functions called with this body, now; False when the task could not be created."""
        return self._create(self._settings.upkeep_queue, self._task(function, body), function)

    def _wake(self, wake: Wake) -> bool:
        task = self._task("deliver", {"delivery_id": wake.delivery_id, "generation": wake.generation})
        task["name"] = self._client.task_path(
            self._settings.project,
            self._settings.location,
            self._settings.queue,
            ids.task_name(wake.delivery_id, wake.generation),
        )
        if wake.at is not None:
            task["schedule_time"] = wake.at
        return self._create(self._settings.queue, task, wake.delivery_id)

    def _create(self, queue: str, task: dict[str, Any], subject: str) -> bool:
        parent = self._client.queue_path(self._settings.project, self._settings.location, queue)
        try:
            self._client.create_task(request={"parent": parent, "task": task}, timeout=CREATE_SECONDS)
        except AlreadyExists:
            return True
        except GoogleAPICallError as error:
            log("task.not_created", severity="WARNING", subject=subject, queue=queue, error=type(error).__name__)
            return False
        return True

    def _task(self, function: str, body: dict[str, Any]) -> dict[str, Any]:
        url = self._settings.function_url.replace("{function}", function)
        return {
            "http_request": {
                "url": url,
                "http_method": "POST",
                "headers": {"Content-Type": "application/json"},
                "body": json.dumps(body).encode(),
                "oidc_token": {
                    "service_account_email": self._settings.task_account,
                    "audience": self._settings.audience or url,
                },
            },
            "dispatch_deadline": self._settings.function_timeout,
        }

    @cached_property
    def _client(self) -> "CloudTasksClient":
        return connect()


def connect() -> "CloudTasksClient":
    """A client; CLOUD_TASKS_EMULATOR_HOST names a local server, which the library itself would not honour."""
    from google.cloud.tasks_v2 import CloudTasksClient
    from google.cloud.tasks_v2.services.cloud_tasks.transports import CloudTasksGrpcTransport

    host = os.environ.get("CLOUD_TASKS_EMULATOR_HOST")
    if not host:
        return CloudTasksClient()
    import grpc

    return CloudTasksClient(transport=CloudTasksGrpcTransport(channel=grpc.insecure_channel(host)))
