"""A person's preferences in Firestore: read, and changed by a pure function as long as nobody was faster."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from google.cloud import firestore

from ledgermail.errors import LedgerUnavailable
from ledgermail.ledger import ids
from ledgermail.ledger.ledger import CHANGE_TRIES, USERS
from ledgermail.preferences.preferences import GONE, Changes, changed
from ledgermail.store import TROUBLE, Snapshot, call, ledger_errors, read_at

Change = Callable[[Mapping[str, Any], datetime], Changes]


@dataclass(frozen=True)
class Changed:
    """The user's document as it is now, and what we have changed of it."""

    user: Mapping[str, Any]
    made: Changes


class Preferences:
    """The preferences of users. Raises LedgerUnavailable, and InvalidId for what cannot be a user's id."""

    def __init__(self, client: firestore.Client) -> None:
        self._client = client
        self._users = client.collection(USERS)

    def read(self, user_id: str) -> Mapping[str, Any] | None:
        """A user's document, None when there is none; one read."""
        return self._read(user_id).to_dict()

    def change(self, user_id: str, change: Change) -> Changed | None:
        """Change a user's document by a function of it and of the time; None when there is no such user.

        One read, and one write where something changes. Of several who ask for the same at once one is told that it has
        changed something. A commit whose answer was lost is recognised by what stands there.
        """
        made = None
        for _ in range(CHANGE_TRIES):
            snapshot = self._read(user_id)
            user = snapshot.to_dict()
            if user is None:
                return None
            if made is not None and changed(user, made) == user:  # with our own time: nobody else has written that
                return Changed(user, made)
            made = change(user, read_at(snapshot))
            if not made.fields or self._write(snapshot, made):
                return Changed(changed(user, made), made)
        raise LedgerUnavailable(f"change: no commit of a user came through in {CHANGE_TRIES} tries")

    def _read(self, user_id: str) -> Snapshot:
        with ledger_errors("read a user"):
            return self._users.document(ids.user_key(user_id)).get(**call())

    def _write(self, snapshot: Snapshot, made: Changes) -> bool:
        """Whether it is known to be written; only the fields that change, so that the application's own stay as they are."""
        fields = {
            self._client.field_path(*path): firestore.DELETE_FIELD if value is GONE else value
            for path, value in made.fields.items()
        }
        option = self._client.write_option(last_update_time=snapshot.update_time)
        try:
            snapshot.reference.update(fields, option=option, **call())
        except TROUBLE:
            return False
        return True
