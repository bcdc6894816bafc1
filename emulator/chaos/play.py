"""Play it: minutes of trouble, then none, and a wait until everything has settled by itself."""

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from threading import Event

import httpx
from google.cloud import firestore

from emulator.chaos import stage, trouble
from emulator.chaos.watch import Watch
from emulator.cloud import TRIGGER_KEY, Cloud
from emulator.demo.scene import MAILING, Scene

JOBS = ("scan", "plan", "sweep", "prune", "look-back")
# Seconds from one to the next on average, while there is trouble.
SCHEDULE, KILL, RESTART_LEDGER, RESTART_QUEUES = 4.0, 3.0, 40.0, 30.0
CALM_SCHEDULE = 4.0  # seconds, when there is none
LEFT_FOR_CALM = 0.05  # of the deliveries are unfinished when the trouble ends early: too little is left to trouble
LONGEST_CALM = 300.0  # seconds; what is unfinished then is lost
MOST_WAITING = 200  # unfinished deliveries; then no more matches come
LOOK = 0.25  # seconds between two looks


@dataclass
class Played:
    """What was done."""

    trouble_seconds: float = 0.0
    calm_seconds: float = 0.0
    killed: int = 0  # workers, from outside, at any moment
    ledger_restarts: int = 0
    queue_restarts: int = 0
    calls: int = 0  # of schedulers
    unanswered: int = 0  # of them
    tasks: Counter[str] = field(default_factory=Counter)  # what the servers of the queues have counted


@dataclass
class Play:
    """What is played with."""

    cloud: Cloud
    db: firestore.Client
    scene: Scene
    watch: Watch
    folder: Path
    seed: int
    events: bool
    played: Played = field(default_factory=Played)

    def __post_init__(self) -> None:
        self._chance = Random(self.seed)
        self._waves = stage.waves(self.scene)[1:]
        self._left = False
        self._owed = set[str]().union(*self.scene.owed.values())

    def trouble(self, seconds: float) -> Iterator[int]:
        """Everything goes wrong for so long, or until next to nothing is left; yields how many deliveries have ended."""
        armed = self.folder / "armed"
        trouble.begin(self.cloud, self.seed, events=self.events)
        armed.touch()
        started = time.monotonic()
        with ThreadPoolExecutor(16) as schedulers:
            timetable = self._timetable(schedulers)
            while time.monotonic() - started < seconds:
                self._act(timetable)
                missing, unfinished = self._state()
                self._go_on(missing, unfinished)
                yield len(self._owed) - missing - unfinished
                if not self._waves and missing + unfinished < len(self._owed) * LEFT_FOR_CALM:
                    break
                Event().wait(LOOK)
        for wave in self._waves:
            stage.write(self.db, wave)
        armed.unlink()
        trouble.end(self.cloud)
        self.played.trouble_seconds = time.monotonic() - started

    def _go_on(self, missing: int, unfinished: int) -> None:
        """What users and matches do meanwhile: more come when few are waiting, and some leave when they are owed a digest."""
        alerts = len(self.scene.owed[MAILING]) / len(self.scene.matches)
        to_come = round(sum(map(len, self._waves)) * alerts)
        if self._waves and missing + unfinished - to_come < MOST_WAITING:
            stage.write(self.db, self._waves.pop(0))
        with self.watch.lock:
            planned = self.watch.history.deliveries.keys() >= self._owed - self.scene.owed[MAILING]
        if planned and not self._left:
            self._left = True
            stage.leave(self.db, self.scene)

    def calm(self) -> Iterator[int]:
        """Nothing goes wrong, schedulers call as they do; yields how many have ended, until all have or it took too long."""
        started, called = time.monotonic(), float("-inf")
        with ThreadPoolExecutor(16) as schedulers:
            while time.monotonic() - started < LONGEST_CALM:
                if time.monotonic() - called > CALM_SCHEDULE:
                    self._schedule(schedulers, times=1)
                    called = time.monotonic()
                missing, unfinished = self._state()
                yield len(self._owed) - missing - unfinished
                if not missing and not unfinished and self._is_quiet():
                    break
                Event().wait(LOOK)
        self.played.calm_seconds = time.monotonic() - started
        if self.events:
            self.cloud.inbox.flush()  # what is told last may prove what we took for unknown
        self._count_queues()

    def _state(self) -> tuple[int, int]:
        """How many are not in the ledger yet, and how many of those that are have not ended."""
        with self.watch.lock:
            history = self.watch.history
            return len(self._owed - history.deliveries.keys()), history.unfinished

    def _is_quiet(self) -> bool:
        """Whether every run is planned, and the past is pruned."""
        with self.watch.lock:
            history = self.watch.history
            old = [seen for name, seen in history.deliveries.items() if name not in self._owed]
            return not history.planning and all(seen.pruned for seen in old)

    def _timetable(self, schedulers: ThreadPoolExecutor) -> dict[Callable[[], None], list[float]]:
        """What is done, with the mean seconds between two and when it is done next."""
        actions: dict[Callable[[], None], float] = {
            lambda: self._schedule(schedulers, times=2): SCHEDULE,
            self._kill: KILL,
            self._restart_ledger: RESTART_LEDGER,
            self._restart_queues: RESTART_QUEUES,
        }
        return {action: [mean, self._next(mean)] for action, mean in actions.items()}

    def _act(self, timetable: dict[Callable[[], None], list[float]]) -> None:
        for action, times in timetable.items():
            if time.monotonic() >= times[1]:
                action()
                times[1] = self._next(times[0])

    def _next(self, mean: float) -> float:
        return time.monotonic() + self._chance.expovariate(1 / mean)

    def _schedule(self, schedulers: ThreadPoolExecutor, times: int) -> None:
        """Have every job started, by so many schedulers at the same time."""
        for job in JOBS * times:
            schedulers.submit(self._trigger, job)

    def _trigger(self, job: str) -> None:
        self.played.calls += 1
        try:
            url, key = f"{self.cloud.functions.url}/trigger", {"X-Ledgermail-Key": TRIGGER_KEY}
            httpx.post(url, params={"job": job}, headers=key, timeout=20, trust_env=False).raise_for_status()
        except httpx.HTTPError:  # whom it met was killed, or has no queue: the next call does the same work
            self.played.unanswered += 1

    def _kill(self) -> None:
        workers = self.cloud.functions.workers()
        if workers:
            with suppress(ProcessLookupError):
                os.kill(self._chance.choice(workers), signal.SIGKILL)
                self.played.killed += 1

    def _count_queues(self) -> None:
        """A server that is killed forgets its counts."""
        stats = self.cloud.tasks.stats()
        self.played.tasks.update({name: count for name, count in stats.items() if name != "live"})

    def _restart_ledger(self) -> None:
        self.cloud.firestore.kill_and_restart()
        trouble.ledger(self.cloud, self.seed + self.played.ledger_restarts + 1)
        self.played.ledger_restarts += 1

    def _restart_queues(self) -> None:
        self._count_queues()
        self.cloud.tasks.kill_and_restart()
        trouble.queues(self.cloud, self.seed + self.played.queue_restarts + 1)
        self.played.queue_restarts += 1
