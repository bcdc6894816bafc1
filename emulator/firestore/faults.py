"""Makes chosen RPCs fail, hang or take their time, the same ones each time.

Google's own client repeats some calls by itself: Commit on UNAVAILABLE and RESOURCE_EXHAUSTED, BatchWrite also on
ABORTED, BeginTransaction and the reads on more, each for up to 60 s. A single fault of these codes is therefore seen
by the caller only as its consequence: ``when="after"`` lets the first Commit be applied and its repetition meet it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from threading import Lock
from types import UnionType
from typing import Any, Literal

ANY_RPC = "*"
HANG = "HANG"  # no answer at all, until the caller gives up
CODES = frozenset(
    {
        *("OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS"),
        *("PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED"),
        *("INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED", HANG),
    }
)

_TYPES: Mapping[str, type | UnionType] = {
    "rpc": str,
    "times": int | None,
    "skip": int,
    "when": str,
    "code": str,
    "delay": int | float,
    "project": str | None,
    "collection": str | None,
    "rate": int | float,
    "seed": int,
}


class InvalidFaultError(Exception):
    """The fault cannot be set up; the message begins with the name of the field."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What is to happen to which RPCs.

    ``rpc`` is the method's name ("Commit") or "*"; ``project`` and ``collection``, where given, narrow it down. The
    first ``skip`` matching attempts pass, the next ``times`` fail (None: all), each with probability ``rate`` drawn
    from ``seed``. The server waits ``delay`` seconds, then answers ``code``; OK stands for the delay alone. ``when``
    is "before" the request is applied or "after": applied, and the answer lost.
    """

    rpc: str
    times: int | None = 1
    skip: int = 0
    when: Literal["before", "after"] = "before"
    code: str = "UNAVAILABLE"
    delay: float = 0.0
    project: str | None = None
    collection: str | None = None
    rate: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Raise InvalidFaultError for a value out of its range."""
        checks = {
            "rpc": bool(self.rpc),
            "times": self.times is None or self.times >= 1,
            "skip": self.skip >= 0,
            "when": self.when in ("before", "after"),
            "code": self.code in CODES,
            "delay": self.delay >= 0,
            "rate": 0 <= self.rate <= 1,
        }
        for field, good in checks.items():
            if not good:
                raise InvalidFaultError(f"{field}: {getattr(self, field)!r} is not possible")

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Fault":
        """Read a fault from plain values. Raises InvalidFaultError, naming the field."""
        for field, value in data.items():
            if field not in _TYPES or not isinstance(value, _TYPES[field]):
                raise InvalidFaultError(f"{field}: {value!r} is not possible")
        if "rpc" not in data:
            raise InvalidFaultError("rpc: is missing")
        return cls(**data)

    def concerns(self, rpc: str, project: str, collections: frozenset[str]) -> bool:
        """Whether an RPC of this method, to this project, touching these collections is meant."""
        return (
            self.rpc in (ANY_RPC, rpc)
            and self.project in (None, project)
            and (self.collection is None or self.collection in collections)
        )


class _Armed:
    """A fault and how much of it is left."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self._skip = fault.skip
        self._left = fault.times
        self._random = Random(fault.seed)

    def strikes(self) -> bool:
        """Whether this matching attempt fails; each call is one attempt."""
        if self._left == 0:
            return False
        if self._skip:
            self._skip -= 1
            return False
        if self._random.random() >= self.fault.rate:
            return False
        if self._left is not None:
            self._left -= 1
        return True


class Faults:
    """The faults that are set up. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._armed: list[_Armed] = []

    def add(self, fault: Fault) -> None:
        """Set a fault up, after those already there."""
        with self._lock:
            self._armed.append(_Armed(fault))

    def clear(self) -> None:
        """Take every fault away."""
        with self._lock:
            self._armed.clear()

    def match(self, rpc: str, project: str, collections: frozenset[str]) -> Fault | None:
        """Return what is to happen to this attempt, None for nothing. Call it once for each attempt."""
        with self._lock:
            concerned = (armed for armed in self._armed if armed.fault.concerns(rpc, project, collections))
            return next((armed.fault for armed in concerned if armed.strikes()), None)
