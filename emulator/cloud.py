"""The whole cloud on one machine: Firestore, Cloud Tasks, SendGrid and the functions, wired as a deployment wires them."""

import socket
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

from google.api_core.exceptions import AlreadyExists

from emulator import firestore, inbox, tasks
from emulator.process import ROOT, Server, spawn

PROJECT = "demo-ledgermail"
LOCATION = "europe-west1"
ACCOUNT = f"tasks@{PROJECT}.iam.gserviceaccount.com"
QUEUES = ROOT / "deploy" / "queues.toml"
TRIGGER_KEY = "local-trigger-key"
CONSOLE_KEY = "local-console-key-of-thirty-two-characters"
TOKEN_KEY = "local-token-key-of-thirty-two-characters"  # noqa: S105 # of the local cloud alone
# Each event twice, and in any order, as the real ones may come.
EVENTS: Mapping[str, Any] = {"copies": 2, "shuffle": True, "retry_seconds": 1.0}
DOCUMENTS, TASKS = "documents", "tasks"  # the files in a folder of data
AT_ONCE = 12  # deliveries under way together: below what the workers' threads can take, so that upkeep always finds one

Kind = Literal["auto", "official", "embedded"]


@dataclass(frozen=True)
class Functions:
    """The functions, served by several worker processes."""

    server: Server
    url: str
    pids: Path

    def workers(self) -> list[int]:
        """The process ids of the workers, oldest first."""
        return sorted(int(path.name) for path in self.pids.iterdir())


@dataclass(frozen=True)
class Cloud:
    """A running local cloud, and the environment in which the functions (and any code of ours) find it."""

    firestore: firestore.Firestore
    tasks: tasks.CloudTasks
    inbox: inbox.Inbox
    functions: Functions
    environment: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Ports:
    """Where to listen; 0 is any free port."""

    functions: int = 0
    firestore: int = 0
    inbox: int = 0
    smtp: int = 0
    tasks: int = 0


@contextmanager
def start(
    kind: Kind = "embedded",
    *,
    ports: Ports | None = None,
    overrides: Mapping[str, str] | None = None,
    log: Path | None = None,
    data: Path | None = None,
    served: Sequence[str] = ("emulator.functions",),
) -> Iterator[Cloud]:
    """Start everything, and end it afterwards. `overrides` change the functions' environment: with an empty EVENTS_KEY there
    are no provider events. `data` is a folder that keeps documents and tasks over a restart of their servers; `served` is the
    module that serves the functions, with its options.
    """
    ports = ports or Ports()
    with ExitStack() as stack:
        store, queues, mailbox = _start_servers(kind, ports, data, stack)
        create_queues(queues)
        port = ports.functions or free_port()
        environment = {**environment_of(store, queues, mailbox, port), **(overrides or {})}
        if environment["LEDGERMAIL_EVENTS_KEY"]:
            mailbox.events(f"http://127.0.0.1:{port}/events", **EVENTS)
        pids = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        functions = _serve(served, port, pids, environment, log)
        stack.callback(functions.server.stop)
        yield Cloud(store, queues, mailbox, functions, environment)


def _start_servers(
    kind: Kind, ports: Ports, data: Path | None, stack: ExitStack
) -> tuple[firestore.Firestore, tasks.CloudTasks, inbox.Inbox]:
    """All three at the same time; whatever has started is ended with the stack, also when another has not."""
    with ThreadPoolExecutor() as pool:
        starting_store = pool.submit(firestore.start, kind, port=ports.firestore, data=data and data / DOCUMENTS)
        starting_tasks = pool.submit(tasks.start, port=ports.tasks, data=data and data / TASKS)
        starting_inbox = pool.submit(inbox.start, port=ports.inbox, smtp_port=ports.smtp)
    for starting in (starting_store, starting_tasks, starting_inbox):
        if starting.exception() is None:
            stack.callback(starting.result().stop)
    return starting_store.result(), starting_tasks.result(), starting_inbox.result()


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def create_queues(queues: tasks.CloudTasks, parent: str = f"projects/{PROJECT}/locations/{LOCATION}") -> None:
    """Create the queues of deploy/queues.toml, with no more under way at a time than this machine's workers can take."""
    with queues.client() as client:
        for name, declared in tomllib.loads(QUEUES.read_text("utf-8")).items():
            queue = {"name": f"{parent}/queues/{name}", **_queue(declared)}
            with suppress(AlreadyExists):  # at a server that was there before
                client.create_queue(request={"parent": parent, "queue": queue})


def _queue(declared: Mapping[str, Any]) -> dict[str, Any]:
    """A queue as the API takes it. Rates are the local machine's affair; retries are as declared."""
    at_once = min(declared["max_concurrent_dispatches"], AT_ONCE)
    return {
        "rate_limits": {"max_dispatches_per_second": 500, "max_concurrent_dispatches": at_once},
        "retry_config": {
            "max_attempts": declared["max_attempts"],
            "min_backoff": timedelta(seconds=int(declared["min_backoff"].removesuffix("s"))),
            "max_backoff": timedelta(seconds=int(declared["max_backoff"].removesuffix("s"))),
            "max_doublings": declared["max_doublings"],
        },
    }


def environment_of(
    store: firestore.Firestore, queues: tasks.CloudTasks, mailbox: inbox.Inbox, port: int
) -> dict[str, str]:
    """How functions at this port find these servers: their environment."""
    url = f"http://127.0.0.1:{port}"
    return {
        "FIRESTORE_EMULATOR_HOST": store.host,
        "CLOUD_TASKS_EMULATOR_HOST": queues.host,
        "LEDGERMAIL_PROJECT": PROJECT,
        "LEDGERMAIL_LOCATION": LOCATION,
        "LEDGERMAIL_FUNCTION_URL": f"{url}/{{function}}",
        "LEDGERMAIL_TASK_ACCOUNT": ACCOUNT,
        "LEDGERMAIL_SENDER": "alerts@example.com",
        "LEDGERMAIL_SENDER_NAME": "Job Alerts",
        "LEDGERMAIL_SENDGRID_URL": mailbox.url,
        "LEDGERMAIL_EVENTS_KEY": mailbox.events_key,
        "LEDGERMAIL_SENDGRID_KEY": inbox.DEFAULT_KEY,
        "LEDGERMAIL_TRIGGER_KEY": TRIGGER_KEY,
        "LEDGERMAIL_TOKEN_KEY": TOKEN_KEY,
        "LEDGERMAIL_CONSOLE_KEY": CONSOLE_KEY,
        "LEDGERMAIL_CONSOLE_AUTH": "local",
        "LEDGERMAIL_WEBHOOKS": "loopback",
        **({"LEDGERMAIL_AUDIENCE": url, "LEDGERMAIL_CERTS_URL": queues.certs_url} if queues.server else {}),
    }


def _serve(served: Sequence[str], port: int, pids: Path, environment: Mapping[str, str], log: Path | None) -> Functions:
    options = [f"--port={port}", f"--pids={pids}", *([f"--log={log}"] if log else [])]
    server = spawn(*served, *options, env=environment)
    return Functions(server, server.addresses["url"], pids)
