"""Cold start: each function's first request in a fresh process, against a bare function with the same client."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
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
DELIVERIES = 64  # more than there are rounds: each asks for another one, which is sent


@dataclass(frozen=True)
class Start:
    """One cold start: wall and processor seconds until the first answer, and the most memory until then."""

    seconds: float
    cpu: float
    megabytes: float


def measure(ground: Ground, rounds: int) -> Section:
    """Every function of main.py and the bare one in turn, so many times."""
    grounds.write(ground.db, "users", grounds.USERS, grounds.user)
    grounds.write(ground.db, "deliveries", DELIVERIES, lambda n: grounds.delivery_document(grounds.delivery(n)))
    functions, waiting = ["bare", *names()], iter(range(DELIVERIES))
    with tempfile.TemporaryDirectory() as folder:
        sources = built(Path(folder))

        def start(function: str) -> Start:
            body = {"delivery_id": grounds.delivery(next(waiting)).id} if function == "deliver" else {}
            return first_request(ground, sources, function, json.dumps(body))

        starts = interleaved(functions, rounds, start)
    seconds = {name: [one.seconds for one in found] for name, found in starts.items()}
    rows = [
        (
            name,
            f"{median(seconds[name]):.2f}",
            f"{ratio(seconds[name], seconds['bare']):.2f}",
            f"{ratio([one.cpu for one in starts[name]], [one.cpu for one in starts['bare']]):.2f}",
            f"{median(one.megabytes for one in starts[name]):.0f}",
        )
        for name in functions
    ]
    return Section(
        "Cold start and memory",
        "A fresh process imports functions-framework and the function, compiled as the build does it, and answers its first"
        " request; `deliver` sends a mail in it. The bare one makes the same Firestore client and reads one document."
        f" Medians of {rounds}, ratios of pairs.",
        [Table(("function", "seconds", "of bare", "processor time of bare", "memory, MiB"), rows)],
        {f"cold start of {name}, of bare": ratio(seconds[name], seconds["bare"]) for name in functions[1:]},
    )


def built(folder: Path) -> Path:
    """Copies of the sources, compiled as Google's build compiles them: nothing is compiled at a cold start."""
    for name, source in SOURCES.items():
        shutil.copytree(source, folder / name)
    command = [sys.executable, "-m", "compileall", "-f", "-q", "."]
    subprocess.run(command, check=True, cwd=folder, env=os.environ | BUILD_ENVIRONMENT)
    return folder


def first_request(ground: Ground, sources: Path, function: str, body: str) -> Start:
    """Start one. Raises RuntimeError when it does not answer as it should: its figures would be of something else."""
    source = sources / ("bare" if function == "bare" else "functions")
    environment = {**os.environ, **ground.environment, "FUNCTION_TARGET": function, "HIDDEN": hidden()}
    environment["PYTHONPATH"] = str(source)
    asked = ("GET", "") if function in GETS else ("POST", body)
    command = [sys.executable, "-m", "bench.first_request", function, str(source / "main.py"), *asked]
    begun = time.monotonic()
    ended = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    said: dict[str, Any] = (
        json.loads(ended.stderr.strip().splitlines()[-1]) if ended.returncode == 0 else {"status": ended.stderr}
    )
    if said["status"] not in ANSWERS:
        raise RuntimeError(f"{function}: answered {said['status']}")
    return Start(said["answered"] - begun, said["cpu"], said["megabytes"])


@cache
def hidden() -> str:
    """The packages that only development has: a library that finds one (as httpx finds rich) may import it, too."""
    pinned = set(re.findall(r"^([\w.-]+)==", REQUIREMENTS.read_text("utf-8"), re.MULTILINE))
    found = packages_distributions().items()
    return " ".join(sorted(name for name, of in found if pinned.isdisjoint(_canonical(one) for one in of)))


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
