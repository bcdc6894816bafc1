"""Counts billable reads, writes and deletes, by project, by RPC and by collection."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from threading import Lock
from typing import Any


@dataclass(frozen=True)
class Count:
    """What one RPC method has cost in one collection."""

    rpc: str
    collection: str
    reads: int
    writes: int
    deletes: int


@dataclass(frozen=True)
class Usage:
    """Billable operations since the meter was last reset: in all, and by RPC and collection."""

    reads: int
    writes: int
    deletes: int
    counts: tuple[Count, ...]

    @classmethod
    def of(cls, counts: Iterable[Count]) -> "Usage":
        """Add the counts up."""
        kept = tuple(sorted(counts, key=lambda count: (count.rpc, count.collection)))
        return cls(sum(c.reads for c in kept), sum(c.writes for c in kept), sum(c.deletes for c in kept), kept)

    def to_json(self) -> dict[str, Any]:
        """Return this as plain values for JSON; ``from_json`` reads it."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Usage":
        """Read what ``to_json`` wrote."""
        return cls.of(Count(**count) for count in data["counts"])


class Meter:
    """The running counts. Any thread may use it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._counts: dict[tuple[str, str, str], list[int]] = defaultdict(lambda: [0, 0, 0])

    def count(
        self, project: str, rpc: str, collection: str, *, reads: int = 0, writes: int = 0, deletes: int = 0
    ) -> None:
        """Add operations. Without any nothing is noted: an RPC that failed is not billed."""
        if not (reads or writes or deletes):
            return
        with self._lock:
            held = self._counts[project, rpc, collection]
            held[:] = held[0] + reads, held[1] + writes, held[2] + deletes

    def snapshot(self, project: str | None = None) -> Usage:
        """Return what this project has used so far; without a project, what all have used together."""
        sums: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
        with self._lock:
            for (owner, rpc, collection), held in self._counts.items():
                if project in (None, owner):
                    sums[rpc, collection] = [a + b for a, b in zip(sums[rpc, collection], held, strict=True)]
        return Usage.of(Count(rpc, collection, *held) for (rpc, collection), held in sums.items())

    def reset(self, project: str | None = None) -> None:
        """Forget what this project has used; without a project, everything."""
        with self._lock:
            for key in [key for key in self._counts if project in (None, key[0])]:
                del self._counts[key]
