"""What the ledger's file says, commit by commit: the identity is checked after each, and doubts are counted as they arise."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

from emulator.firestore import journal
from emulator.firestore.messages import Message
from emulator.firestore.paths import DocumentName
from ledgermail.ledger.delivery import UNFINISHED, Guarantee
from ledgermail.ledger.ledger import DELIVERIES
from ledgermail.ledger.transitions import EMAIL, WEBHOOK
from ledgermail.planning.book import RUNS
from ledgermail.planning.run import State

DOUBTS = frozenset({"ambiguous", "lease_ended"})  # what an attempt ends as whose answer nobody knows
FINAL = frozenset({"accepted"})  # once so, always so, until it is pruned


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A delivery as its last commit left it, and what had happened to it by then."""

    mailing: str
    guarantee: str
    run_key: str
    status: str
    sent: bool  # the mail is on record
    told: bool = False  # the customer's webhook is
    proven: bool = False  # by evidence: something other than its own claim's answer
    doubts: int = 0
    pruned: bool = False


@dataclass(frozen=True)
class Account:
    """A run's own account."""

    state: str
    intended: int
    pruned: int


@dataclass
class History:
    """The ledger as of the last commit, and what was wrong after any."""

    deliveries: dict[str, Seen] = field(default_factory=dict)
    commits: int = 0
    broken: list[str] = field(default_factory=list)
    _runs: dict[str, Account] = field(default_factory=dict)
    _counts: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def committed(self, changes: journal.Changes) -> None:
        """Take one commit in, and check the identity of every run that it touches."""
        self.commits += 1
        touched = set()
        for name, document in changes.items():
            if name.collection_id == DELIVERIES:
                touched |= self._delivery(name, document)
            elif name.collection_id == RUNS:
                self._run(name, document)
                touched.add(name.id)
        self.broken += [problem for run_key in touched if (problem := self._problem(run_key))]

    @property
    def unfinished(self) -> int:
        """How many deliveries have not ended."""
        return sum(counts[status] for counts in self._counts.values() for status in UNFINISHED)

    @property
    def planning(self) -> int:
        """How many runs are not planned to their end."""
        return sum(account.state == State.PLANNING for account in self._runs.values())

    def _delivery(self, name: DocumentName, document: Message | None) -> set[str]:
        before = self.deliveries.get(name.id)
        if before is not None and not before.pruned:
            self._counts[before.run_key][before.status] -= 1
        if document is None:
            assert before is not None
            self.deliveries[name.id] = replace(before, pruned=True)
            return {before.run_key}
        now = self.deliveries[name.id] = _seen(document.fields, before)
        self._counts[now.run_key][now.status] += 1
        if before is not None and before.status in FINAL and now.status != before.status:
            self.broken.append(f"{name.id}: {before.status} became {now.status}")
        return {now.run_key}

    def _run(self, name: DocumentName, document: Message | None) -> None:
        if document is None:
            del self._runs[name.id]
            return
        fields = document.fields
        counts = {key: fields[key].integer_value if key in fields else 0 for key in ("intended", "pruned")}
        self._runs[name.id] = Account(fields["state"].string_value if "state" in fields else "", **counts)

    def _problem(self, run_key: str) -> str | None:
        there = self._counts[run_key].total()
        run = self._runs.get(run_key, Account("", 0, 0))
        if run.state == State.PLANNING or run.intended == there + run.pruned:
            return None
        return f"{run_key}: {run.intended} intended, {there} there, {run.pruned} pruned"


def _seen(fields: Mapping[str, Any], before: Seen | None) -> Seen:
    status = fields["status"].string_value
    stages = fields["stages"].map_value.fields if "stages" in fields else {}
    sent = EMAIL in stages
    doubts = before.doubts if before else 0
    if before is not None and before.status == "in_flight" != status and not sent:
        doubts += _category(fields) in DOUBTS
    return Seen(
        mailing=fields["mailing"].string_value,
        guarantee=fields["guarantee"].string_value,
        run_key=fields["run_key"].string_value,
        status=status,
        sent=sent,
        told=WEBHOOK in stages,
        proven="evidence_at" in fields,
        doubts=doubts,
    )


def _category(fields: Mapping[str, Any]) -> str:
    error = fields["last_error"].map_value.fields if "last_error" in fields else {}
    return str(error["category"].string_value) if "category" in error else ""


class Watch:
    """Reads on in the file, in a thread of its own, until it is stopped."""

    def __init__(self, path: Path) -> None:
        self.history = History()
        self.lock = Lock()  # around every look at the history while this runs
        self._path = path
        self._at = 0
        self._stopped = Event()
        self._thread = Thread(target=self._run, name="watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Read to the end and stop."""
        self._stopped.set()
        self._thread.join()
        self._read_on()

    def _run(self) -> None:
        while not self._stopped.wait(0.2):
            self._read_on()

    def _read_on(self) -> None:
        """Anew from where we stand: a server that was killed may have left half a frame there, and another cut it off."""
        with self._path.open("rb") as file:
            file.seek(self._at)
            for entry in journal.read(file):
                if isinstance(entry, journal.Committed):
                    with self.lock:
                        self.history.committed(entry.changes)
            self._at = file.tell()


def allowed(seen: Seen) -> int:
    """How many mails of this delivery may have reached the provider: one, and at_least_once one more for each doubt."""
    return 1 + (seen.doubts if seen.guarantee == Guarantee.AT_LEAST_ONCE else 0)
