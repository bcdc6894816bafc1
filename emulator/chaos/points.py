"""The crash points: where a process of the functions may be killed, by name, without a line about it in the product.

Around a call of the product that changes something elsewhere, or answers, a process may end with SIGKILL: before it (nothing
was asked), during it (asked, perhaps applied, the answer never read), after it (applied, and nobody acted on it). Whether it
does is drawn from seed, process and point, so that the n-th call of a point in the k-th process meets the same fate again.
"""

import functools
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

POSITIONS = ("before", "during", "after")
LONGEST_DURING = 0.03  # seconds after the call began: local calls take less or a little more
OFTEN, SOMETIMES, RARE = 0.008, 0.02, 0.12  # shares of calls; what is called once a page would else hardly ever die
MOST = 0.25  # of the calls of a point: something must come through


@dataclass(frozen=True)
class Point:
    """A call that may be the last: `module:owner.method`, without an owner a function; `within` tells one use of a method
    from another: only while this other method runs, on the same thread.
    """

    name: str
    call: str
    share: float
    within: str = ""


_WRITE = "ledger.ledger:Ledger._write"
POINTS = (
    Point("scan", "endpoints:scan", RARE),
    Point("scan.lock", "planning.book:Books.write", RARE),
    Point("scan.page", "planning.book:Books.add_page", RARE),
    Point("look-back.page", "planning.book:Books.add_page", RARE, within="planning.lookback:look_back"),
    Point("plan", "endpoints:plan", RARE),
    Point("plan.mailing", "planning.coordinator:Coordinator._tick_mailing", SOMETIMES),
    Point("plan.open", "planning.run_store:RunStore.open", RARE),
    Point("plan.page", "planning.run_store:RunStore.add_page", RARE),
    Point("plan.close", "planning.run_store:RunStore.close", RARE),
    Point("enqueue", "delivering.tasks:Tasks._create", OFTEN / 2),
    Point("deliver", "endpoints:deliver", OFTEN / 2),
    Point("claim", _WRITE, OFTEN, within="delivering.worker:Worker._claim"),
    Point("send", "providers.provider_sendgrid:SendGrid.send", OFTEN),
    Point("settle", _WRITE, OFTEN, within="delivering.worker:Worker._settle"),
    Point("close", _WRITE, OFTEN, within="delivering.worker:Worker._close"),
    Point("webhook", "webhooks.webhook:Webhooks.send", SOMETIMES),
    Point("breaker", "delivering.gate:Gates.open_breaker", RARE),
    Point("events", "endpoints:events", OFTEN),
    Point("events.change", "ledger.ledger:Ledger.change_all", SOMETIMES),
    Point("events.suppress", "events.suppressions:Suppressions._change", RARE),
    Point("sweep", "endpoints:sweep", RARE),
    Point("sweep.change", _WRITE, OFTEN, within="upkeep.sweep:Sweeper._sweep_one"),
    Point("prune", "endpoints:prune", RARE),
    Point("prune.page", "upkeep.upkeep:Upkeep._commit", RARE),
    Point("prune.run", "planning.runs:Runs._delete", RARE),
)


class Killer:
    """Ends this process where its chance says so, for as long as the file `armed` is there; each kill is on record first."""

    def __init__(self, folder: Path, seed: int, factor: float) -> None:
        self._armed = folder / "armed"
        self._kills = os.open(folder / "kills", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._seed = seed
        self._factor = factor
        self._chances: dict[str, Random] = {}
        self._number = 0
        self._lock = threading.Lock()

    def forked(self, number: int) -> None:
        """This is another process now, the number-th."""
        self._number = number

    def around(self, point: Point, call: Callable[[], Any]) -> Any:
        """Make the call, or die around it."""
        position = self.position(point)
        if position == "before":
            self._die(point, position)
        if position == "during":
            seconds = self._draw(point) * LONGEST_DURING
            timer = threading.Timer(seconds, self._die, (point, position))
            timer.daemon = True
            timer.start()
        result = call()
        if position == "after":
            self._die(point, position)
        return result

    def position(self, point: Point) -> str | None:
        """Where around this call to die; None: nowhere."""
        share = self._draw(point) / min(point.share * self._factor, MOST)
        if share >= 1 or not self._armed.exists():
            return None
        return POSITIONS[int(share * len(POSITIONS))]

    def _draw(self, point: Point) -> float:
        with self._lock:
            if point.name not in self._chances:
                self._chances[point.name] = Random(f"{self._seed}:{self._number}:{point.name}")
            return self._chances[point.name].random()

    def _die(self, point: Point, position: str) -> None:
        os.write(self._kills, f"{point.name} {position}\n".encode())
        os.kill(os.getpid(), signal.SIGKILL)


def arm(killer: Killer, points: tuple[Point, ...] = POINTS) -> None:
    """Put the killer around every point. Raises AttributeError for one that the product does not have any more."""
    under_way = threading.local()
    for place in {point.within for point in points if point.within}:
        _wrap(place, functools.partial(_noting, under_way, place))
    for place in {point.call for point in points}:
        here = {point.within: point for point in points if point.call == place}
        _wrap(place, functools.partial(_dying, killer, under_way, here))


def _wrap(place: str, how: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    module, _, names = place.partition(":")
    *owner, name = names.split(".")
    holder = functools.reduce(getattr, owner, import_module(f"ledgermail.{module}"))
    call = getattr(holder, name)
    setattr(holder, name, functools.wraps(call)(how(call)))


def _noting(under_way: threading.local, place: str, call: Callable[..., Any]) -> Callable[..., Any]:
    def noting(*arguments: Any, **named: Any) -> Any:
        with _within(under_way, place):
            return call(*arguments, **named)

    return noting


@contextmanager
def _within(under_way: threading.local, place: str) -> Iterator[None]:
    before = getattr(under_way, "place", "")
    under_way.place = place
    try:
        yield
    finally:
        under_way.place = before


def _dying(
    killer: Killer, under_way: threading.local, here: dict[str, Point], call: Callable[..., Any]
) -> Callable[..., Any]:
    def dying(*arguments: Any, **named: Any) -> Any:
        point = here.get(getattr(under_way, "place", ""), here.get(""))
        if point is None:
            return call(*arguments, **named)
        return killer.around(point, lambda: call(*arguments, **named))

    return dying
