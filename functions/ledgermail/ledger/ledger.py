"""The ledger: the only place where a delivery is read or changed."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter

from ledgermail.errors import InvalidDocument, LedgerUnavailable, NewerSchema
from ledgermail.ledger import ids
from ledgermail.ledger.delivery import (
    TERMINAL,
    Delivery,
    Document,
    Failure,
    Status,
    fields_of,
    from_document,
    without_none,
)
from ledgermail.ledger.policy import Policy
from ledgermail.log import log
from ledgermail.store import TROUBLE, Snapshot, call, ledger_errors, moment, read_at

DELIVERIES = "deliveries"
USERS = "users"
CHANGE_TRIES = 5  # each lost race means that somebody else got on; more than this many is not a race any more

Transition = Callable[[Delivery], Delivery]
Beside = Callable[[firestore.WriteBatch, Delivery, Delivery], None]  # before and after the change


def nothing_beside(_batch: firestore.WriteBatch, _before: Delivery, _after: Delivery) -> None:
    """What most changes commit besides themselves."""


@dataclass(frozen=True)
class Stored:
    """A delivery as Firestore had it: `written_at` is the precondition of the next change, `read_at` is now."""

    delivery: Delivery
    written_at: datetime
    read_at: datetime


@dataclass(frozen=True)
class Found:
    """A delivery's document and its user's, read together."""

    document: Snapshot
    user: Mapping[str, Any] | None

    @property
    def read_at(self) -> datetime:
        """When both were read, by Firestore's clock."""
        return read_at(self.document)


class Ledger:
    """Deliveries in Firestore. Every method raises LedgerUnavailable when Firestore gives no usable answer."""

    def __init__(self, client: firestore.Client) -> None:
        self._client = client
        self._deliveries = client.collection(DELIVERIES)
        self._users = client.collection(USERS)

    def find(self, delivery_id: str) -> Found:
        """Read a delivery and its user in one call, where the id still holds the user's; two reads in any case.

        The document may not exist. Raises InvalidId for an id of no user.
        """
        user_id = ids.user_of(delivery_id)
        delivery = self._deliveries.document(delivery_id)
        if user_id is not None:
            found, user = self._read(delivery, self._users.document(ids.user_key(user_id)))
            return Found(found, user.to_dict())
        (found,) = self._read(delivery)
        owner = (found.to_dict() or {}).get("user_id", "")
        return Found(found, self.user(owner) if owner else None)

    def user(self, user_id: str) -> Mapping[str, Any] | None:
        """Read one user's document; None when there is none. Raises InvalidId."""
        (snapshot,) = self._read(self._users.document(ids.user_key(user_id)))
        return snapshot.to_dict()

    def users(self, user_ids: list[str]) -> Mapping[str, Mapping[str, Any]]:
        """Read these users' documents in one call, one read each; those who do not exist are left out."""
        snapshots = self._read(*(self._users.document(ids.user_key(user_id)) for user_id in user_ids))
        documents = zip(user_ids, (snapshot.to_dict() for snapshot in snapshots), strict=True)
        return {user_id: document for user_id, document in documents if document is not None}

    def newest_of(self, user_id: str, limit: int) -> list[Delivery]:
        """A user's deliveries, the newest first; as many reads. Those that cannot be read as one are left out."""
        query = self._deliveries.where(filter=FieldFilter("user_id", "==", user_id))
        query = query.order_by("created_at", direction=firestore.Query.DESCENDING)
        with ledger_errors("read a user's deliveries"):
            return [found.delivery for found in readable(query.limit(limit).stream(**call())).values()]

    def newest_periods(self, user_id: str, mailing: str, limit: int) -> list[Delivery]:
        """A user's digests or reports of a mailing, the newest period first; as many reads, and one where there is none."""
        query = self._deliveries.where(filter=FieldFilter("user_id", "==", user_id))
        query = query.where(filter=FieldFilter("mailing", "==", mailing))
        query = query.order_by("period_end", direction=firestore.Query.DESCENDING)
        with ledger_errors("read a user's periods"):
            return [found.delivery for found in readable(query.limit(limit).stream(**call())).values()]

    def documents(self, delivery_ids: Iterable[str]) -> list[Snapshot]:
        """Read these in one call, one read each, in their order; those that do not exist say so."""
        return self._read(*(self._deliveries.document(delivery_id) for delivery_id in delivery_ids))

    def change(
        self,
        delivery_id: str,
        transition: Transition,
        known: Stored | None = None,
        beside: Beside = nothing_beside,
    ) -> Stored:
        """Change a delivery by a pure transition: read, apply, commit if nobody was faster, else again.

        `known` spares the first read. A transition that changes nothing writes nothing. A commit whose answer was lost is
        settled by the next round: the transition, applied to what we wrote ourselves, changes nothing. What `beside` adds
        is committed with it or not at all.

        Raises what the transition raises, InvalidDocument and NewerSchema.
        """
        for _ in range(CHANGE_TRIES):
            stored = known or self.read(delivery_id)
            known = None
            changed = transition(stored.delivery)
            if changed == stored.delivery:
                return stored
            batch = self._client.batch()
            beside(batch, stored.delivery, changed)
            written_at = self._write(delivery_id, _difference(stored.delivery, changed), stored.written_at, batch)
            if written_at is not None:
                return Stored(changed, written_at, stored.read_at)
        raise LedgerUnavailable(f"change: no commit of {delivery_id} came through in {CHANGE_TRIES} tries")

    def change_all(self, asked: Mapping[str, Transition]) -> Mapping[str, Delivery | None]:
        """Change several deliveries, each by its transition: one read of all, one commit of those that change.

        Where somebody was faster with one of them, or the commit's answer was lost, each is changed by itself. Those that
        do not exist, or cannot be read, are not in the result; what a newer version wrote is None there. Raises what the
        transitions raise.
        """
        snapshots = self.documents(asked)
        found = readable(snapshots)
        after = {delivery_id: asked[delivery_id](stored.delivery) for delivery_id, stored in found.items()}
        differing = sorted(name for name, stored in found.items() if after[name] != stored.delivery)
        batch = self._client.batch()
        for name in differing:
            option = self._client.write_option(last_update_time=found[name].written_at)
            batch.update(self._deliveries.document(name), _difference(found[name].delivery, after[name]), option=option)
        changed = {s.id: None for s in snapshots if s.id not in found and _is_newer(s)} | after
        if differing and not _committed(batch):
            for name in differing:
                try:
                    changed[name] = self.change(name, asked[name]).delivery
                except InvalidDocument:  # deleted, or made unreadable, since it was read
                    del changed[name]
                except NewerSchema:
                    changed[name] = None
        return changed

    def read(self, delivery_id: str) -> Stored:
        """Read one delivery. Raises InvalidDocument (also when there is none) and NewerSchema."""
        (snapshot,) = self._read(self._deliveries.document(delivery_id))
        return stored(snapshot)

    def set_aside(self, document: Snapshot, problem: InvalidDocument, policy: Policy) -> bool:
        """End a delivery that cannot be read as one: rejected, category `invalid`, with the field that is wrong.

        One that had ended keeps its status: what became of its mail is not made untrue by another field. False when it
        could not be written.
        """
        now, status = read_at(document), (document.to_dict() or {}).get("status")
        fields = {
            "status": status if isinstance(status, str) and status in TERMINAL else Status.REJECTED,
            "last_error": {
                "category": "invalid",
                "code": "",
                "detail": Failure(category="", detail=str(problem)).detail,
            },
            "settled_at": now,
            "prune_at": now + policy.retention,
            "wake_at": firestore.DELETE_FIELD,
            "unfinished_since": firestore.DELETE_FIELD,
            "lease_expires_at": firestore.DELETE_FIELD,
        }
        return self._write(document.id, fields, document.update_time) is not None

    def _write(
        self, delivery_id: str, fields: Document, written_at: datetime, batch: firestore.WriteBatch | None = None
    ) -> datetime | None:
        """Write under the precondition that nobody has since; None when that is not known to have worked."""
        batch = batch or self._client.batch()
        option = self._client.write_option(last_update_time=written_at)
        batch.update(self._deliveries.document(delivery_id), fields, option=option)
        return _committed(batch)

    def _read(self, *references: firestore.DocumentReference) -> list[Snapshot]:
        """Read documents in one call, in the order asked for."""
        with ledger_errors("read"):
            snapshots = {s.reference.path: s for s in self._client.get_all(list(references), **call())}
            return [snapshots[reference.path] for reference in references]


def readable(snapshots: Iterable[Snapshot]) -> dict[str, Stored]:
    """The deliveries by id, without what does not exist or cannot be read as one."""
    found = {}
    for snapshot in snapshots:
        try:
            found[snapshot.id] = stored(snapshot)
        except (InvalidDocument, NewerSchema) as problem:
            if snapshot.exists:
                log("delivery.not_read", severity="WARNING", delivery_id=snapshot.id, problem=str(problem))
    return found


def _is_newer(snapshot: Snapshot) -> bool:
    try:
        stored(snapshot)
    except NewerSchema:
        return True
    except InvalidDocument:
        return False
    return False


def _committed(batch: firestore.WriteBatch) -> datetime | None:
    """When a batch was committed, by its last write; None when it is not known to have been."""
    try:
        return moment(batch.commit(**call())[-1].update_time)
    except TROUBLE:
        return None


def stored(snapshot: Snapshot) -> Stored:
    """The delivery in a document. Raises InvalidDocument (also when there is no document) and NewerSchema."""
    document = snapshot.to_dict()
    if document is None:
        raise InvalidDocument("delivery: does not exist")
    return Stored(from_document(snapshot.id, document), snapshot.update_time, read_at(snapshot))


def _difference(before: Delivery, after: Delivery) -> Document:
    """The top-level fields to write; what only a newer version knows stays untouched."""
    old, new = fields_of(before), fields_of(after)
    changed = {name: value for name, value in new.items() if old[name] != value}
    written = without_none(changed)
    return written | {name: firestore.DELETE_FIELD for name in changed if name not in written}
