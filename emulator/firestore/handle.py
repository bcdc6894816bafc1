"""A Firestore to work with, whichever it is: Google's emulator, ours, or one that somebody else runs."""

import json
from collections.abc import Callable
from datetime import timedelta
from http.client import HTTPConnection
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self
from urllib.parse import quote, urlencode

from emulator.firestore.meter import Usage
from emulator.process import Server

if TYPE_CHECKING:
    from google.cloud.firestore import Client

Kind = Literal["external", "official", "embedded"]
ANSWER_SECONDS = 30  # a reset of 70,000 documents took the official one 3.5 s


class NotOfferedError(Exception):
    """Only the embedded Firestore has a meter, faults, a clock and an index check."""


class Firestore:
    """The handle: the same for every kind; what only the embedded one offers raises NotOfferedError elsewhere.

    ``host`` is what FIRESTORE_EMULATOR_HOST takes. ``controlled`` says whether meter, faults, clock and index check
    are there.
    """

    def __init__(
        self, kind: Kind, host: str, server: Server | None = None, spawned: Callable[[int], Server] | None = None
    ) -> None:
        self.kind = kind
        self.host = host
        self._server = server
        self._spawned = spawned  # how the server was started, at a port
        self._control = server.addresses.get("control") if server else None
        self._clients: list[Client] = []

    @property
    def controlled(self) -> bool:
        """Whether this one has a meter, faults, a clock and an index check."""
        return self._control is not None

    @property
    def pid(self) -> int:
        """The server's process. Raises NotOfferedError where somebody else runs it."""
        if self._server is None:
            raise NotOfferedError("somebody else's server has no process of ours")
        return self._server.process.pid

    def client(self, project: str) -> "Client":
        """Return a new client of Google's library for this project, whatever the environment says; it lasts until stop."""
        from google.auth.credentials import AnonymousCredentials
        from google.cloud.firestore import Client

        client = Client(project=project, credentials=AnonymousCredentials())  # type: ignore[no-untyped-call]
        # The library reads the variable once, into this attribute, and connects at the first call. Setting it leaves
        # the environment of every other thread and child alone.
        client._emulator_host = self.host
        self._clients.append(client)
        return client

    def reset(self, project: str) -> None:
        """Delete every document of the project."""
        if self.controlled:
            self._ask("DELETE", "/documents", project=project)
        else:
            path = f"/emulator/v1/projects/{quote(project)}/databases/(default)/documents"
            _request(self.host, "DELETE", path)

    def stop(self) -> None:
        """Close the clients, and end the server unless somebody else runs it."""
        for client in self._clients:
            client.close()  # type: ignore[no-untyped-call]
        if self._server:
            self._server.stop()

    def kill_and_restart(self) -> None:
        """Kill the server, and start it again where it was. It has its documents again if it was given a file for them;
        meter and faults are empty.
        """
        if self._server is None or self._spawned is None:
            raise NotOfferedError(f"the {self.kind} Firestore is not ours to restart")
        self._server.kill()
        self._server = self._spawned(int(self.host.rpartition(":")[2]))
        self._control = self._server.addresses.get("control")

    def usage(self, project: str | None = None) -> Usage:
        """Return what the project has used in billable operations; without a project, all of them."""
        return Usage.from_json(self._ask("GET", "/meter", project=project))

    def reset_usage(self, project: str | None = None) -> None:
        """Set the project's meter to nothing; without a project, everybody's."""
        self._ask("DELETE", "/meter", project=project)

    def fail(self, rpc: str, **fault: Any) -> None:
        """Let calls of this RPC method fail; the other fields are those of ``faults.Fault``."""
        self._ask("POST", "/faults", {"rpc": rpc, **fault})

    def clear_faults(self) -> None:
        """Let everything succeed again."""
        self._ask("DELETE", "/faults")

    def advance(self, by: timedelta) -> None:
        """Move the server's clock forward."""
        self._ask("POST", "/clock", {"advance_seconds": by.total_seconds()})

    def unused_indexes(self) -> list[dict[str, Any]]:
        """Return the entries of the index file that served no query so far."""
        entries: list[dict[str, Any]] = self._ask("GET", "/indexes/unused")
        return entries

    def _ask(self, method: str, path: str, body: Any = None, **parameters: str | None) -> Any:
        if self._control is None:
            raise NotOfferedError(f"the {self.kind} Firestore has no {path}: start the embedded one")
        given = urlencode({key: value for key, value in parameters.items() if value is not None})
        return json.loads(_request(self._control, method, f"{path}?{given}", body))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _request(host: str, method: str, path: str, body: Any = None) -> bytes:
    """Return the answer to one HTTP request. Raises ValueError with the server's words when it is not 200.

    Not httpx, which takes a fifth of a second to import: the server itself imports this package.
    """
    connection = HTTPConnection(host, timeout=ANSWER_SECONDS)
    try:
        connection.request(method, path, None if body is None else json.dumps(body))
        response = connection.getresponse()
        content = response.read()
    finally:
        connection.close()
    if response.status != 200:
        raise ValueError(f"{method} {path}: {response.status} {content.decode(errors='replace')}")
    return content
