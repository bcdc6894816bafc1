"""The whole cloud on one machine: Firestore, Cloud Tasks, SendGrid and the functions, wired as a deployment wires them."""

import socket
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from emulator import firestore, inbox, tasks
from emulator.process import Server, spawn

PROJECT = "demo-ledgermail"
LOCATION = "europe-west1"
ACCOUNT = f"tasks@{PROJECT}.iam.gserviceaccount.com"
TRIGGER_KEY = "local-trigger-key"
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
    inbox: int = 0
    tasks: int = 0


@contextmanager
def start(
    kind: Kind = "embedded",
    *,
    ports: Ports | None = None,
    overrides: Mapping[str, str] | None = None,
    log: Path | None = None,
) -> Iterator[Cloud]:
    """Start everything, and end it afterwards. `overrides` change the functions' environment."""
    ports = ports or Ports()
    with ExitStack() as stack:
        store, queues, mailbox = _start_servers(kind, ports, stack)
        port = ports.functions or free_port()
        environment = {**_environment(store, queues, mailbox, port), **(overrides or {})}
        pids = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        functions = _serve(port, pids, environment, log)
        stack.callback(functions.server.stop)
        yield Cloud(store, queues, mailbox, functions, environment)


def _start_servers(
    kind: Kind, ports: Ports, stack: ExitStack
) -> tuple[firestore.Firestore, tasks.CloudTasks, inbox.Inbox]:
    """All three at the same time; whatever has started is ended with the stack, also when another has not."""
    queues = [_queue("deliver"), _queue("upkeep")]
    with ThreadPoolExecutor() as pool:
        starting_store = pool.submit(firestore.start, kind)
        starting_tasks = pool.submit(tasks.start, queues, port=ports.tasks, max_concurrent=AT_ONCE)
        starting_inbox = pool.submit(inbox.start, port=ports.inbox)
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


def _queue(name: str) -> str:
    return f"projects/{PROJECT}/locations/{LOCATION}/queues/{name}"


def _environment(
    store: firestore.Firestore, queues: tasks.CloudTasks, mailbox: inbox.Inbox, port: int
) -> dict[str, str]:
    url = f"http://127.0.0.1:{port}"
    return {
        "FIRESTORE_EMULATOR_HOST": store.host,
        "CLOUD_TASKS_EMULATOR_HOST": queues.host,
        "LEDGERMAIL_PROJECT": PROJECT,
        "LEDGERMAIL_LOCATION": LOCATION,
        "LEDGERMAIL_FUNCTION_URL": f"{url}/{{function}}",
        "LEDGERMAIL_TASK_ACCOUNT": ACCOUNT,
        "LEDGERMAIL_AUDIENCE": url,
        "LEDGERMAIL_CERTS_URL": queues.certs_url,
        "LEDGERMAIL_SENDER": "alerts@example.com",
        "LEDGERMAIL_SENDER_NAME": "Job Alerts",
        "LEDGERMAIL_SENDGRID_URL": mailbox.url,
        "LEDGERMAIL_SENDGRID_KEY": inbox.DEFAULT_KEY,
        "LEDGERMAIL_TRIGGER_KEY": TRIGGER_KEY,
    }


def _serve(port: int, pids: Path, environment: Mapping[str, str], log: Path | None) -> Functions:
    options = [f"--port={port}", f"--pids={pids}", *([f"--log={log}"] if log else [])]
    server = spawn("emulator.functions", *options, env=environment)
    return Functions(server, server.addresses["url"], pids)
