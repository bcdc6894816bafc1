"""Run a local server as a process of its own: ready when it says so, gone when its parent is."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STOP_SECONDS = 5  # a server that is asked to stop and does not is killed after this long


@dataclass(frozen=True)
class Server:
    """A running child process and the addresses it announced."""

    process: subprocess.Popen[str]
    addresses: dict[str, str]

    def stop(self) -> None:
        """Ask the server to end by closing its input; kill it if it does not."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()

    def kill(self) -> None:
        """End the server at once, as a crash does."""
        self.process.kill()
        self.stop()


def spawn(module: str, *arguments: str, env: Mapping[str, str] | None = None) -> Server:
    """Start ``python -m module arguments`` and wait until it has announced its addresses.

    The child's standard error is ours; its standard input is the rope between us: it ends when that closes.

    Raises RuntimeError when the child ends before it is ready.
    """
    process = subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, **(env or {})},
    )
    line = process.stdout.readline() if process.stdout else ""
    server = Server(process, json.loads(line or "{}"))
    if not line:
        server.stop()
        raise RuntimeError(f"{module} ended with {process.returncode} before it was ready")
    return server


def announce(**addresses: str) -> None:
    """Tell the parent, in one JSON line, that this server is ready and where."""
    print(json.dumps(addresses), flush=True)


def until_parent_ends() -> None:
    """Block until standard input closes: the parent has stopped us, or is gone.

    Not through sys.stdin: a thread that waits in its buffer at shutdown brings the interpreter down with an error.
    """
    while os.read(0, 1024):
        pass
