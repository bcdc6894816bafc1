"""Whether mail may go out now: the pause and the breaker, one document that every instance reads at most every few seconds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from threading import Lock
from typing import Any

from google.cloud import firestore

from ledgermail.clock import Clock
from ledgermail.log import log
from ledgermail.store import Write, call, ledger_errors, nothing

KEPT_SECONDS = 5.0  # how old an instance's reading may be: one read in 5 s, however many deliveries
PAUSED_WAIT = timedelta(seconds=60)  # what a task is told to wait while an operator holds mail back
MISCONFIGURED_WAIT = timedelta(minutes=5)  # before one delivery tries the provider again


@dataclass(frozen=True)
class Gate:
    """One reading. Closed by an operator (paused) or by the provider's answers (the breaker, until a time)."""

    paused: bool = False
    open_until: datetime | None = None  # an open breaker lets nothing through
    reason: str = ""
    written_at: datetime | None = field(default=None, compare=False)  # when either was last set

    def is_open_until(self, until: datetime) -> bool:
        """Whether the breaker is open at least that long, or so nearly that it is not worth a write."""
        return self.open_until is not None and self.open_until >= until - timedelta(seconds=KEPT_SECONDS)

    def wait(self, now: datetime) -> timedelta | None:
        """How long to hold mail back; None when it may go out."""
        if self.paused:
            return PAUSED_WAIT
        if self.open_until is not None and now < self.open_until:
            return self.open_until - now
        return None


class Gates:
    """The gate in Firestore. Raises LedgerUnavailable when Firestore gives no usable answer."""

    def __init__(self, client: firestore.Client, clock: Clock) -> None:
        self._client = client
        self._reference = client.collection("state").document("gate")
        self._clock = clock
        self._lock = Lock()
        self._gate = Gate()
        self._read_at = float("-inf")

    def read(self) -> Gate:
        """The gate as it was at most five seconds ago."""
        with self._lock:
            if self._clock.monotonic() - self._read_at >= KEPT_SECONDS:
                self._gate = self.fetch()
                self._read_at = self._clock.monotonic()
            return self._gate

    def open_breaker(self, hold: timedelta, reason: str) -> None:
        """Hold all mail back for so long. Where the breaker is known to be open at least as long, nothing is written."""
        until = self._clock.now() + hold
        with self._lock:
            if self._gate.is_open_until(until):
                return
            # This instance holds back even if nothing can be written.
            self._gate = Gate(self._gate.paused, until, reason)
            known = self.fetch()
            if known.is_open_until(until):  # another was told to wait longer
                self._gate = known
                return
        log("breaker.opened", severity="WARNING", until=until.isoformat(), reason=reason)
        self._write({"breaker": {"open_until": until, "reason": reason}})

    def pause(self, paused: bool, audit: Write = nothing) -> bool:
        """Hold all mail back, or no longer; whether that was news. The audit is committed with it."""
        with self._lock:
            if self.fetch().paused == paused:
                return False
            batch = self._client.batch()
            batch.set(self._reference, {"paused": paused}, merge=True)
            audit(batch)
            with ledger_errors("write the gate"):
                batch.commit(**call())
            self._read_at = float("-inf")
        return True

    def fetch(self) -> Gate:
        """The gate as it is now; one read."""
        with ledger_errors("read the gate"):
            snapshot = self._reference.get(**call())
        document: Mapping[str, Any] = snapshot.to_dict() or {}
        breaker = document.get("breaker") or {}
        return Gate(
            document.get("paused") is True,
            breaker.get("open_until"),
            breaker.get("reason", ""),
            snapshot.update_time,
        )

    def _write(self, fields: dict[str, Any]) -> None:
        with ledger_errors("write the gate"):
            self._reference.set(fields, merge=True, **call())
