"""Cold start: each function's first request in a fresh process, against a bare function with the same client."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from statistics import median
from typing import Any

from bench import ground as grounds
from bench.ground import Ground
from bench.report import Section, Table
from bench.rounds import interleaved, ratio
from deploy.table import BUILD_ENVIRONMENT
from emulator.functions import MAIN, names
from emulator.process import ROOT

SOURCES = {"functions": MAIN.parent, "bare": ROOT / "bench" / "bare"}
ANSWERS = (200, 403, 503)  # the public ones' to a caller without a key; the status's where there are no runs yet
GETS = frozenset({"bare", "status", "preferences", "console"})
REQUIREMENTS = ROOT / "functions" / "requirements.txt"
DELIVERIES = 128  # more than are asked for: each request is for another one, which is sent


@dataclass(frozen=True)
class Start:
    """One cold start: wall and processor seconds and the most memory until the first answer; seconds of the next one."""

    seconds: float
    cpu: float
    megabytes: float
    again: float

    @property
    def cold(self) -> float:
        """What the first answer took longer than the next one."""
        return self.seconds - self.again


def measure(ground: Ground, rounds: int) -> Section:
    """Every function of main.py and the bare one in turn, so many times."""
    grounds.write(ground.db, "users", grounds.USERS, grounds.user)
    grounds.write(ground.db, "deliveries", DELIVERIES, lambda n: grounds.delivery_document(grounds.delivery(n)))
    functions, waiting = ["bare", *names()], iter(range(DELIVERIES))
    with tempfile.TemporaryDirectory() as folder:
        sources = built(Path(folder))

        def start(function: str) -> Start:
            bodies = [_body(function, waiting), _body(function, waiting)]
            return first_request(ground, sources, function, bodies)

        starts = interleaved(functions, rounds, start)
    rows = [_row(name, starts[name], starts["bare"]) for name in functions]
    return Section(
        "Cold start and memory",
        "A fresh process imports functions-framework and the function, compiled as the build does it, and answers its first"
        " request; `deliver` sends a mail in it. The bare one makes the same Firestore client and reads one document. *Cold* is"
        " what the first answer took longer than the next: without what the request itself takes, which is 170 queries for the"
        " console's first page. Nothing here speaks TLS; in the cloud each side reads its authorities besides, ours in some"
        f" 20 ms. Medians of {rounds}, ratios of pairs.",
        [
            Table(
                ("function", "first, s", "next, s", "of bare", "by processor time", "cold, of bare", "memory, MiB"),
                rows,
            )
        ],
        {f"cold start of {name}, of bare": _cold(starts[name], starts["bare"]) for name in functions[1:]},
    )


def _body(function: str, waiting: Iterator[int]) -> str:
    return json.dumps({"delivery_id": grounds.delivery(next(waiting)).id} if function == "deliver" else {})


def _row(name: str, starts: Sequence[Start], bare: Sequence[Start]) -> Sequence[str]:
    return (
        name,
        f"{median(one.seconds for one in starts):.2f}",
        f"{median(one.again for one in starts):.3f}",
        f"{ratio([one.seconds for one in starts], [one.seconds for one in bare]):.2f}",
        f"{ratio([one.cpu for one in starts], [one.cpu for one in bare]):.2f}",
        f"{_cold(starts, bare):.2f}",
        f"{median(one.megabytes for one in starts):.0f}",
    )


def _cold(starts: Sequence[Start], bare: Sequence[Start]) -> float:
    return ratio([one.cold for one in starts], [one.cold for one in bare])


def built(folder: Path) -> Path:
    """Copies of the sources, compiled as Google's build compiles them: nothing is compiled at a cold start."""
    for name, source in SOURCES.items():
        shutil.copytree(source, folder / name)
    command = [sys.executable, "-m", "compileall", "-f", "-q", "."]
    subprocess.run(command, check=True, cwd=folder, env=os.environ | BUILD_ENVIRONMENT)
    return folder


def first_request(ground: Ground, sources: Path, function: str, bodies: Sequence[str]) -> Start:
    """Start one and ask it twice. Raises RuntimeError for another answer than it should give."""
    source = sources / ("bare" if function == "bare" else "functions")
    environment = {**os.environ, **ground.environment, "FUNCTION_TARGET": function, "HIDDEN": hidden()}
    environment["PYTHONPATH"] = str(source)
    asked = ("GET", "", "") if function in GETS else ("POST", *bodies)
    command = [sys.executable, "-m", "bench.first_request", function, str(source / "main.py"), *asked]
    begun = time.monotonic()
    ended = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    said: dict[str, Any] = (
        json.loads(ended.stderr.strip().splitlines()[-1]) if ended.returncode == 0 else {"status": ended.stderr}
    )
    if said["status"] not in ANSWERS:
        raise RuntimeError(f"{function}: answered {said['status']}")
    return Start(said["answered"] - begun, said["cpu"], said["megabytes"], said["again"])


@cache
def hidden() -> str:
    """The packages that only development has: a library that finds one (as httpx finds rich) may import it, too."""
    pinned = set(re.findall(r"^([\w.-]+)==", REQUIREMENTS.read_text("utf-8"), re.MULTILINE))
    found = packages_distributions().items()
    return " ".join(sorted(name for name, of in found if pinned.isdisjoint(_canonical(one) for one in of)))


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
