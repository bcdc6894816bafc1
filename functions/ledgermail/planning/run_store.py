"""Runs under planning, in Firestore: opened once, planned in parts that each have a cursor of their own, then closed.

`runs/{key}` is created with its first page of deliveries in one commit: for a small audience that is all. A large one has
`parts`, id ranges that are planned side by side, each page one commit with its part's cursor as the fence. The part that
finishes last adds up what was intended.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter

from ledgermail.planning.audience import Cohort
from ledgermail.planning.book import RUNS
from ledgermail.planning.commit import Added, Fence, add_page
from ledgermail.planning.page import DUPLICATES, Page
from ledgermail.planning.run import Run, State, read_run
from ledgermail.store import TROUBLE, Snapshot, call, ledger_errors

PARTS = "parts"


@dataclass(frozen=True, kw_only=True)
class Part:
    """One id range of a run's audience: users after `cursor` up to `upto` (empty: to the end) are still to be planned."""

    run: Run
    number: int
    cursor: str
    upto: str
    intended: int = 0
    duplicates: int = 0
    done: bool = False
    worked_at: datetime | None = None  # when its last page was planned
    written_at: datetime | None = None

    def with_page(self, page: Page) -> dict[str, Any]:
        """Its fields when this page has been added."""
        return {
            "cursor": self.cursor,
            "upto": self.upto,
            "intended": self.intended + len(page.deliveries),
            "duplicates": self.duplicates + page.counts[DUPLICATES],
            "done": self.done,
            "worked_at": self.worked_at,
        }


class RunStore:
    """The documents. Every method raises LedgerUnavailable."""

    def __init__(self, client: firestore.Client) -> None:
        self._client = client
        self._runs = client.collection(RUNS)

    def open(self, run: Run, page: Page, parts: Sequence[Part], token: str) -> Added:
        """Create a run with its first page, and its parts if it has any. Raises FenceLost when it exists already."""
        reference = self._runs.document(run.key)

        def fields(added: Page) -> dict[str, Any]:
            state = State.PLANNING if parts else State.PLANNED
            counts = {"intended": len(added.deliveries), **added.counts}
            # A run that owes nothing is emptied from the start: the pruner looks for this.
            emptied = {} if parts or added.deliveries else {"pruning_at": run.as_of}
            return run.document() | counts | emptied | {"state": state, "parts": len(parts), "parts_done": 0}

        def beside(batch: firestore.WriteBatch, _: Page) -> None:
            for part in parts:
                batch.create(reference.collection(PARTS).document(str(part.number)), part.with_page(Page()))

        fence = Fence(reference=reference, written_at=None, token=token, fields=fields)
        return add_page(self._client, fence, page, beside)

    def record_missed(self, run: Run) -> None:
        """Put on record that a run was never made; one that exists is left as it is."""
        missed = run.document() | {"state": State.MISSED, "intended": 0, "pruning_at": run.as_of}
        try:
            self._runs.document(run.key).create(missed, **call())
        except TROUBLE as error:
            with ledger_errors("record a missed run"):
                if not self._runs.document(run.key).get(**call()).exists:
                    raise error from None

    def version(self, run_key: str) -> str | None:
        """The report's version that a run froze; None where there is no such run. One read."""
        with ledger_errors("read a run"):
            document = self._runs.document(run_key).get(**call()).to_dict() or {}
        version: str | None = document.get("version")
        return version

    def part(self, run_key: str, number: int) -> Part | None:
        """Read a part and its run: two reads. None where there is no such part."""
        reference = self._runs.document(run_key)
        with ledger_errors("read a part"):
            found = {s.id: s for s in self._client.get_all([reference, self._part(reference, number)], **call())}
        run, part = found[run_key].to_dict(), found[str(number)]
        return _read_part(read_run(run), part) if run is not None and part.exists else None

    def add_page(self, part: Part, page: Page, token: str) -> tuple[Part, Page]:
        """Commit a page of a part with the part as it shall be; its last page also says so on the run.

        Returns the part, and the page without what had existed. Raises FenceLost.
        """
        run = self._runs.document(part.run.key)

        def beside(batch: firestore.WriteBatch, _: Page) -> None:
            if part.done:
                batch.update(run, {"parts_done": firestore.Increment(1)})

        fence = Fence(
            reference=self._part(run, part.number), written_at=part.written_at, token=token, fields=part.with_page
        )
        added = add_page(self._client, fence, page, beside)
        counts = {name: part.with_page(added.page)[name] for name in ("intended", "duplicates")}
        return replace(part, written_at=added.written_at, **counts), added.page

    def close(self, run_key: str) -> bool:
        """Add up a run whose parts are all done, say that it is planned, and drop the parts; whether it is planned."""
        with ledger_errors("read a run"):
            run = self._runs.document(run_key).get(**call())
        document = run.to_dict() or {}
        if document.get("state") != State.PLANNING or document["parts_done"] < document["parts"]:
            return document.get("state") == State.PLANNED
        parts = self._parts(run)
        total: dict[str, Any] = {
            "state": State.PLANNED,
            "intended": document["intended"] + sum(part.intended for part in parts),
            DUPLICATES: document.get(DUPLICATES, 0) + sum(part.duplicates for part in parts),
        }
        if not total["intended"]:
            total["pruning_at"] = document["as_of"]
        batch = self._client.batch()
        batch.update(run.reference, total, option=self._client.write_option(last_update_time=run.update_time))
        for part in parts:
            batch.delete(self._part(run.reference, part.number))
        try:
            batch.commit(**call())
        except TROUBLE as error:  # the part that ended at the same time may have closed it
            with ledger_errors("close a run"):
                if (run.reference.get(**call()).to_dict() or {}).get("state") != State.PLANNED:
                    raise error from None
        return True

    def unplanned(self) -> list[tuple[str, list[Part]]]:
        """The runs that are still being planned, by key, with their parts."""
        with ledger_errors("read unplanned runs"):
            return [(run.id, self._parts(run)) for run in self._planning().stream(**call())]

    def is_planning(self, cohort: Cohort) -> bool:
        """Whether a run of this cohort is still being planned; a read each that is, of any."""
        with ledger_errors("read unplanned runs"):
            planning = [read_run(run.to_dict() or {}).cohort for run in self._planning().stream(**call())]
        return any((other.mailing, other.name) == (cohort.mailing, cohort.name) for other in planning)

    def _planning(self) -> firestore.Query:
        return self._runs.where(filter=FieldFilter("state", "==", State.PLANNING))

    def _parts(self, run: Snapshot) -> list[Part]:
        about = read_run(run.to_dict() or {})
        return [_read_part(about, part) for part in run.reference.collection(PARTS).stream(**call())]

    def _part(self, run: firestore.DocumentReference, number: int) -> firestore.DocumentReference:
        part: firestore.DocumentReference = run.collection(PARTS).document(str(number))
        return part


def _read_part(run: Run, snapshot: Snapshot) -> Part:
    document = snapshot.to_dict() or {}
    document.pop("token", None)
    return Part(run=run, number=int(snapshot.id), written_at=snapshot.update_time, **document)
