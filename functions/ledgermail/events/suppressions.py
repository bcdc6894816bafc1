"""The suppressions in Firestore: part of each user's document. Raises LedgerUnavailable when there is no usable answer."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter

from ledgermail.delivering.addresses import spellings
from ledgermail.errors import LedgerUnavailable
from ledgermail.events.suppression import Cause, suppressed_by
from ledgermail.ledger import ids
from ledgermail.ledger.ledger import CHANGE_TRIES, USERS
from ledgermail.store import TROUBLE, Write, call, ledger_errors, nothing

MOST_OF_ADDRESS = 10  # users that share one address

Change = Callable[[Mapping[str, Any]], dict[str, Any] | None]


class Suppressions:
    """Who must not be mailed any more."""

    def __init__(self, client: firestore.Client) -> None:
        self._client = client
        self._users = client.collection(USERS)

    def apply(self, user_id: str, causes: Iterable[Cause]) -> bool:
        """Suppress a user, if one of the causes counts; one read, and a write where it says something new."""
        known = tuple(causes)

        def suppress(user: Mapping[str, Any]) -> dict[str, Any] | None:
            suppressed = suppressed_by(user, known)
            return None if suppressed is None else {"suppressed": suppressed}

        return self._change(user_id, suppress) is not None

    def lift(self, user_id: str, *, by: str, now: datetime, audit: Write) -> Mapping[str, Any] | None:
        """End a user's suppression; what it said, or None when there was none. What happened until now does not count again."""

        def lift(user: Mapping[str, Any]) -> dict[str, Any] | None:
            if not user.get("suppressed"):
                return None
            return {"suppressed": firestore.DELETE_FIELD, "suppression_lifted": {"at": now, "by": by}}

        before = self._change(user_id, lift, audit)
        return None if before is None else before.get("suppressed")

    def of_address(self, email: str) -> list[str]:
        """The ids of the users with this address, as it stands or in small letters, however its domain is written.

        What is too long for any address, or is no text, is nobody's.
        """
        asked = sorted(filter(ids.can_be_asked_for, spellings(email)))
        if not asked:
            return []
        query = self._users.where(filter=FieldFilter("email", "in", asked))
        with ledger_errors("find an address"):
            found = query.select([]).limit(MOST_OF_ADDRESS).stream(**call())
            return [snapshot.id for snapshot in found]

    def newest(self, limit: int) -> list[tuple[str, Mapping[str, Any]]]:
        """The users who were suppressed last, by id, with what is written of it; as many reads as there are."""
        query = self._users.order_by("suppressed.at", direction=firestore.Query.DESCENDING).select(["suppressed"])
        with ledger_errors("list the suppressed"):
            found = query.limit(limit).stream(**call())
            return [(snapshot.id, (snapshot.to_dict() or {})["suppressed"]) for snapshot in found]

    def _change(self, user_id: str, change: Change, beside: Write = nothing) -> Mapping[str, Any] | None:
        """Change a user's document as long as nobody was faster; how it was before, or None when nothing changed."""
        reference, before = self._users.document(ids.user_key(user_id)), None
        for _ in range(CHANGE_TRIES):
            with ledger_errors("read a user"):
                snapshot = reference.get(**call())
            user = snapshot.to_dict()
            fields = None if user is None else change(user)
            if user is None or fields is None:
                return before  # a commit whose answer was lost has done it
            batch = self._client.batch()
            batch.update(reference, fields, option=self._client.write_option(last_update_time=snapshot.update_time))
            beside(batch)
            try:
                batch.commit(**call())
            except TROUBLE:
                before = user
                continue
            return user
        raise LedgerUnavailable(f"change a user: no commit came through in {CHANGE_TRIES} tries")
