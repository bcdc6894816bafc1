"""A local Cloud Tasks: the v2 gRPC service for the real client, and a dispatcher that calls HTTP targets."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import httpx

from emulator.process import Server, spawn

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from google.cloud import tasks_v2

HOST_VARIABLE = "CLOUD_TASKS_EMULATOR_HOST"
TOMBSTONE_AGE = timedelta(hours=24)  # "can take up to 24 hours" (docstring of CreateTaskRequest)


class NotOfferedError(Exception):
    """Another's Cloud Tasks server has no counts, faults, clock and certificates of ours."""


@dataclass
class CloudTasks:
    """A running local Cloud Tasks. Its own time is real time plus what ``advance`` has added.

    ``host`` is the address of its gRPC service, host:port, for CLOUD_TASKS_EMULATOR_HOST. One that somebody else runs
    has no ``server``, and all that is about counts, faults, time and certificates raises NotOfferedError.
    """

    host: str
    server: Server | None = None
    _options: Sequence[str] = ()  # with which the server was started
    _http: httpx.Client = field(default_factory=lambda: _http(), repr=False)

    @property
    def control(self) -> str:
        """Base URL of the control endpoints."""
        if self.server is None:
            raise NotOfferedError(f"the Cloud Tasks at {self.host} is not ours")
        return self.server.addresses["control"]

    @property
    def certs_url(self) -> str:
        """For ``certs_url`` of google.oauth2.id_token.verify_token. A JSON Web Key Set is at ``control``/jwks."""
        return f"{self.control}/certs"

    def client(self) -> tasks_v2.CloudTasksClient:
        """A real client over a new insecure channel; a context manager that closes it."""
        import grpc
        from google.cloud import tasks_v2
        from google.cloud.tasks_v2.services.cloud_tasks.transports import CloudTasksGrpcTransport

        return tasks_v2.CloudTasksClient(transport=CloudTasksGrpcTransport(channel=grpc.insecure_channel(self.host)))

    def stats(self) -> dict[str, Any]:
        """Counts since start or reset (state.py, Stats), and ``live``: tasks not done, by queue name."""
        stats: dict[str, Any] = self._call("GET", "/stats")
        return stats

    def faults(self, **faults: float) -> None:
        """Switch faults on, by the fields of faults.Faults; those not named are off, so no name: all off."""
        self._call("PUT", "/faults", faults)

    def advance(self, by: timedelta) -> datetime:
        """Move the time ahead and return it; zero just asks for it.

        An attempt under way whose dispatch deadline that passes is cut off, as it would be.
        """
        answer = self._call("POST", "/clock", {"advance_seconds": by.total_seconds()})
        return datetime.fromisoformat(answer["now"])

    def reset(self) -> None:
        """Forget all tasks, tombstones and counts, and cut off attempts; queues, faults and clock stay."""
        self._call("DELETE", "/tasks")

    def kill_and_restart(self) -> None:
        """Kill the server, and start it again where it was. It has its queues and tasks again if it was given a file for
        them; counts and faults are empty.
        """
        control = self.control  # raises where it is not ours
        self._http.close()
        assert self.server is not None
        self.server.kill()
        ports = [f"--port={_port(self.host)}", f"--control-port={_port(control)}"]
        self.server = spawn("emulator.tasks", *ports, *self._options)
        self._http = _http()

    def stop(self) -> None:
        """End the server, unless somebody else runs it."""
        self._http.close()
        if self.server is not None:
            self.server.stop()

    def _call(self, method: str, path: str, body: object = None) -> Any:
        response = self._http.request(method, self.control + path, json=body)
        if response.is_client_error:
            raise ValueError(response.json()["error"])
        return response.raise_for_status().json()


def start(
    queues: Sequence[str] = (),
    *,
    port: int = 0,
    tombstone_age: timedelta = TOMBSTONE_AGE,
    min_backoff: timedelta | None = None,
    max_concurrent: int = 0,
    data: Path | None = None,
) -> CloudTasks:
    """Start a local Cloud Tasks in a process of its own, with these queues; or join the one that is there.

    The one that is there is that which CLOUD_TASKS_EMULATOR_HOST names; its queues and options are its own affair.

    The queues have production's defaults (500/s, 100 attempts, 0.1 s to 1 h backoff, 16 doublings, 1,000 at a time),
    except for ``min_backoff`` and ``max_concurrent``. Port 0 is any free one. ``data`` is a file from which it goes on when
    it is started again.
    """
    if os.environ.get(HOST_VARIABLE):
        return CloudTasks(os.environ[HOST_VARIABLE])
    options = [f"--tombstone-seconds={tombstone_age.total_seconds()}"]
    options += [f"--queue={queue}" for queue in queues]
    options += [f"--max-concurrent={max_concurrent}"]
    if min_backoff is not None:
        options.append(f"--min-backoff={min_backoff.total_seconds()}")
    if data is not None:
        options.append(f"--data={data.resolve()}")
    server = spawn("emulator.tasks", f"--port={port}", *options)
    return CloudTasks(server.addresses["host"], server, options)


def _http() -> httpx.Client:
    return httpx.Client(timeout=10, trust_env=False)


def _port(address: str) -> str:
    return address.rpartition(":")[2]
