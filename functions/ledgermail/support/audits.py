"""The audit: who asked for what, and when. Each entry is committed together with what it tells of, or not at all."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter

from ledgermail.store import call, ledger_errors

AUDITS = "audits"
SHOWN = 50  # entries that are read at once
NOTE_CHARS = 300


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One act of an operator: what it was done to, how that stood before and after, and why."""

    id: str
    at: datetime
    who: str
    action: str
    delivery_id: str = ""
    user_id: str = ""
    before: str = ""
    after: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "note", self.note[:NOTE_CHARS])


class Audits:
    """The entries in Firestore. Raises LedgerUnavailable when it gives no usable answer."""

    def __init__(self, client: firestore.Client) -> None:
        self._audits = client.collection(AUDITS)

    def add(self, batch: firestore.WriteBatch, entry: Entry) -> None:
        """Have an entry committed with the batch; the same one twice is refused by its id."""
        fields = {name: value for name, value in asdict(entry).items() if value and name != "id"}
        batch.create(self._audits.document(entry.id), fields)

    def newest(self, **about: str) -> list[Entry]:
        """The newest entries, about one delivery_id or one user_id if asked; the newest first."""
        query: firestore.Query = self._audits.order_by("at", direction=firestore.Query.DESCENDING)
        for name, value in about.items():
            query = query.where(filter=FieldFilter(name, "==", value))
        with ledger_errors("read the audit"):
            return [_entry(s.id, s.to_dict() or {}) for s in query.limit(SHOWN).stream(**call())]


def _entry(audit_id: str, document: Mapping[str, Any]) -> Entry:
    return Entry(id=audit_id, **document)
