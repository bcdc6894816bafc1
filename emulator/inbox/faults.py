"""Which sends fail, and how: decided by seed, message and try, so that the order of requests does not matter."""

import hashlib
import threading
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import accumulate
from types import NoneType
from typing import TypeVar

Kind = TypeVar("Kind")


class FaultPlanError(Exception):
    """The wanted faults cannot be read; the text names the field."""


class Fault(StrEnum):
    """What the caller meets, and whether the mail was kept (accepted) all the same."""

    THROTTLE = "throttle"  # 429 with X-RateLimit-*; not kept
    UNAVAILABLE = "unavailable"  # 503; not kept
    SERVER_ERROR = "server_error"  # 500; not kept
    ERROR_AFTER = "error_after"  # 500; kept
    BAD_GATEWAY = "bad_gateway"  # 502 with an empty body; not kept
    UNAUTHORIZED = "unauthorized"  # 401; not kept
    REFUSE = "refuse"  # 400 about this message; not kept
    HANG = "hang"  # nothing for hang_seconds, then 504; not kept
    HANG_AFTER = "hang_after"  # kept, then nothing for hang_seconds, then 202
    CUT = "cut"  # kept, then the connection closes without an answer
    RESET = "reset"  # the connection is reset; not kept


KEEPING = frozenset({Fault.ERROR_AFTER, Fault.HANG_AFTER, Fault.CUT})


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How many sends fail. ``rates`` are shares of all tries and sum to at most 1."""

    seed: int = 0
    rates: Mapping[Fault, float] = field(default_factory=dict)
    only_first: int | None = None  # only this many first tries of a message can fail; None: any try
    hang_seconds: float = 30
    retry_after: int | None = None  # seconds; a throttled answer carries Retry-After too
    reset_after: int = 2  # seconds until X-RateLimit-Reset, where retry_after does not say

    @property
    def pause(self) -> int:
        """For how many seconds a throttled sender is put off."""
        return self.reset_after if self.retry_after is None else self.retry_after


_NUMBERS: Mapping[str, tuple[type, ...]] = {
    "seed": (int,),
    "only_first": (int, NoneType),
    "hang_seconds": (int, float),
    "retry_after": (int, NoneType),
    "reset_after": (int,),
}


def read_plan(wanted: object) -> Plan:
    """The plan in a JSON object whose keys are the fields of Plan. Raises FaultPlanError."""
    if not isinstance(wanted, dict) or not wanted.keys() <= Plan.__dataclass_fields__.keys():
        raise FaultPlanError(f"faults are an object of {', '.join(Plan.__dataclass_fields__)}")
    for name, types in _NUMBERS.items():
        if not isinstance(wanted.get(name, 0), types):
            raise FaultPlanError(f"{name}: {wanted[name]!r} is no such number")
    try:
        rates = {Fault(name): float(rate) for name, rate in wanted.get("rates", {}).items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise FaultPlanError(f"rates: {error}") from error
    if min(rates.values(), default=0) < 0 or sum(rates.values()) > 1 + 1e-9:
        raise FaultPlanError("rates: each is at least 0, and together they are at most 1")
    return Plan(**{**wanted, "rates": rates})


def drawn(plan: Plan, key: str, nth: int) -> Fault | None:
    """The fault of the ``nth`` try (from 1) of the message ``key``: the same for the same plan, always."""
    if plan.only_first is not None and nth > plan.only_first:
        return None
    return picked(Fault, plan.rates, share_of(f"{plan.seed}:{nth}:{key}"))


def share_of(text: str) -> float:
    """A number from 0 up to 1 that stands for a text: as good as drawn, and always the same."""
    digest = hashlib.sha256(text.encode(errors="replace")).digest()
    return int.from_bytes(digest[:8]) / 2**64


def picked(kinds: Iterable[Kind], rates: Mapping[Kind, float], share: float) -> Kind | None:
    """The kind in whose part of the whole ``share`` lies, the kinds side by side by their rates; None beyond them."""
    rated = [kind for kind in kinds if kind in rates]
    bounds = accumulate(rates[kind] for kind in rated)
    return next((kind for kind, bound in zip(rated, bounds, strict=True) if share < bound), None)


class Faults:
    """The plan in force, the faults ordered for the next sends, and the sends that hang."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._ordered: deque[Fault] = deque()
        self._tries: Counter[str] = Counter()
        self.plan = Plan()
        self.hanging = 0

    def use(self, plan: Plan) -> None:
        """Let ``plan`` decide from now on. Tries are counted anew, what hangs is released, orders are dropped."""
        with self._lock:
            self._ended.set()
            self._ended = threading.Event()
            self._ordered.clear()
            self._tries.clear()
            self.plan = plan

    def order(self, fault: Fault, times: int) -> None:
        """Let the next ``times`` sends fail in this way, whatever the plan says."""
        with self._lock:
            self._ordered.extend([fault] * times)

    def meet(self, key: str) -> Fault | None:
        """The fault of this try of ``key``, which is counted as one."""
        with self._lock:
            self._tries[key] += 1
            return self._ordered.popleft() if self._ordered else drawn(self.plan, key, self._tries[key])

    def hang(self) -> None:
        """Block for the plan's hang_seconds, or until the faults change or the server stops."""
        with self._lock:
            ended, seconds = self._ended, self.plan.hang_seconds
            self.hanging += 1
        ended.wait(seconds)
        with self._lock:
            self.hanging -= 1
