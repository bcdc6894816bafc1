"""Serve one function from a source folder, as functions-framework does where it is deployed."""

import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from emulator.cloud import free_port

FRAMEWORK = Path(sys.executable).parent / "functions-framework"
CONTROL_SOCKET = "XDG_RUNTIME_DIR"  # where gunicorn puts one, else into the home directory: one file for all that run
TRIES = 1200
PAUSE = threading.Event()  # never set: to wait a moment between two tries


def start(
    target: str, environment: Mapping[str, str], source: Path, log: Path, framework: Path = FRAMEWORK
) -> tuple[subprocess.Popen[bytes], str]:
    """The process and its address. It hears nothing of this process's own environment."""
    port = free_port()
    own = log.with_name(f"{log.name}.run")
    own.mkdir(exist_ok=True)
    command = [str(framework), f"--target={target}", f"--source={source / 'main.py'}", f"--port={port}"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--host=127.0.0.1"],
            env={**environment, CONTROL_SOCKET: str(own)},
            cwd=source,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    return process, f"http://127.0.0.1:{port}"


def wait_until_served(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    """Fails when the process ends instead."""
    with httpx.Client() as client:
        for _ in range(TRIES):
            if process.poll() is not None:
                pytest.fail(f"it did not start:\n{log.read_text()}")
            try:
                client.head(f"{url}/robots.txt")
            except httpx.TransportError:
                PAUSE.wait(0.05)
            else:
                return
    pytest.fail(f"it does not answer:\n{log.read_text()}")


@contextmanager
def served(target: str, environment: Mapping[str, str], source: Path, log: Path) -> Iterator[str]:
    """The address of a function while it is served."""
    process, url = start(target, environment, source, log)
    try:
        wait_until_served(process, url, log)
        yield url
    finally:
        end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process of ours, and see it end."""
    process.terminate()
    process.wait()
