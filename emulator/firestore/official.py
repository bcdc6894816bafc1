"""Runs Google's own emulator as a process that ends with its parent: ``python -m emulator.firestore.official``.

Java is started directly: ended through the ``gcloud`` wrapper it would live on.
"""

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryFile

from emulator.firestore.official_jar import JAR_VARIABLE, Official, find
from emulator.process import announce, until_parent_ends

START_SECONDS = 30  # 1 s with the class archive, 2-4 s without, more on a busy machine
STOP_SECONDS = 4.5  # 0.4 s; 3 s when it writes the archive; just less than we ourselves are given to end
LOOK_SECONDS = 0.02
ENDED_ITSELF = 128 + signal.SIGTERM  # Java's status after an orderly end on SIGTERM; an archive cut short is no archive


@contextmanager
def running(official: Official, port: int, rules: Path | None) -> Iterator[None]:
    """Serve on this port while the context lasts. Raises RuntimeError with Java's own words if it does not start."""
    official.archive.parent.mkdir(parents=True, exist_ok=True)
    written = official.archive.with_suffix(f".{os.getpid()}")
    with TemporaryFile() as log:
        process = subprocess.Popen(official.command(port, rules, written), stdout=log, stderr=log)
        try:
            if not _answers(process, port):
                log.seek(0)
                raise RuntimeError(f"the official emulator did not start: {log.read().decode(errors='replace')}")
            yield
        finally:
            _stop(process)
            if process.returncode == ENDED_ITSELF and written.exists():
                written.replace(official.archive)
            written.unlink(missing_ok=True)


def _answers(process: subprocess.Popen[bytes], port: int) -> bool:
    """Wait until it answers; False when it has ended or takes too long."""
    latest = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < latest:
        connection = HTTPConnection("127.0.0.1", port, timeout=START_SECONDS)
        try:
            connection.request("GET", "/")
            return connection.getresponse().status == 200
        except OSError:
            time.sleep(LOOK_SECONDS)
        finally:
            connection.close()
    return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def free_port() -> int:
    """Return a port nobody listens on: the emulator cannot choose one itself and tell."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    """Serve until the parent closes our standard input or ends us."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    parser.add_argument("--rules", type=Path, help="security rules for calls that are not a server's")
    arguments = parser.parse_args()
    official = find()
    if official is None:
        sys.exit(f"needs java on PATH, and {JAR_VARIABLE} or a Cloud SDK with cloud-firestore-emulator")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # so that Java is ended, too
    port = arguments.port or free_port()
    with running(official, port, arguments.rules):
        announce(host=f"127.0.0.1:{port}")
        until_parent_ends()


if __name__ == "__main__":
    main()
