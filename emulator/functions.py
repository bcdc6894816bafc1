"""Serve all functions of functions/main.py on one address, each as functions-framework serves it in the cloud.

`python -m emulator.functions`: gunicorn with several worker processes, as Cloud Run has several instances; one that is
killed is replaced. A function answers at /<its name>.
"""

import argparse
import ast
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import functions_framework
from gunicorn.app.base import BaseApplication

from emulator.process import ROOT, announce, until_parent_ends

MAIN = ROOT / "functions" / "main.py"
WORKERS = 2
THREADS = 8  # a worker process; what --concurrency and THREADS are in the cloud

WSGI = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def names(main: Path = MAIN) -> list[str]:
    """The functions that a main.py declares."""
    tree = ast.parse(main.read_text("utf-8"))
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.decorator_list]


def application() -> WSGI:
    """Every function behind the first segment of the path."""
    create_app: Callable[..., WSGI] = functions_framework.create_app

    apps = {name: create_app(target=name, source=str(MAIN)) for name in names()}

    def dispatch(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        name, _, rest = environ["PATH_INFO"].lstrip("/").partition("/")
        if name not in apps:
            start_response("404 Not Found", [("Content-Type", "text/plain")])
            return [f"There is no function here called {name!r}.\n".encode()]
        return apps[name](environ | {"SCRIPT_NAME": f"/{name}", "PATH_INFO": f"/{rest}"}, start_response)

    return dispatch


class Server(BaseApplication):  # type: ignore[misc] # gunicorn has no types
    """Gunicorn as functions-framework runs it, with the application loaded before the workers are forked."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        super().__init__()

    def load_config(self) -> None:
        """Hand our options to gunicorn."""
        for name, value in self._options.items():
            self.cfg.set(name, value)

    def load(self) -> WSGI:
        """Hand our functions to gunicorn."""
        return application()


def main() -> None:
    """Serve until the parent ends."""
    serve(arguments("emulator.functions").parse_args())


def arguments(prog: str) -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog=prog)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--workers", type=int, default=WORKERS)
    parser.add_argument("--threads", type=int, default=THREADS, help="of each worker")
    parser.add_argument("--log", type=Path, help="where the functions' log lines go, instead of standard error")
    parser.add_argument(
        "--pids", type=Path, required=True, help="a folder with a file for each worker, named by its pid"
    )
    return parser


def serve(options: argparse.Namespace, forked: Callable[[int], None] = lambda _: None) -> None:
    """Serve until the parent ends; `forked` is told in each new worker how many there were, with it."""

    def post_fork(_: object, worker: Any) -> None:
        (options.pids / str(worker.pid)).touch()
        forked(worker.age)

    threading.Thread(target=_end_with_parent, daemon=True).start()
    Server(
        {
            "bind": f"127.0.0.1:{options.port}",
            "workers": options.workers,
            "threads": options.threads,
            "worker_class": "gthread",
            "preload_app": True,
            "timeout": 0,
            "graceful_timeout": 1,
            "loglevel": "error",
            "control_socket_disable": True,
            "when_ready": lambda _: _ready(options.port, options.log),
            "post_fork": post_fork,
            "child_exit": lambda _, worker: (options.pids / str(worker.pid)).unlink(missing_ok=True),
        }
    ).run()


def _ready(port: int, log: Path | None) -> None:
    """Say where, and from then on keep standard output, which the parent reads no further, for the functions' log."""
    announce(url=f"http://127.0.0.1:{port}")
    sys.stdout.flush()
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND) if log else os.dup(2)
    os.dup2(target, 1)
    if log:
        os.dup2(target, 2)
    os.close(target)


def _end_with_parent() -> None:
    until_parent_ends()
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
