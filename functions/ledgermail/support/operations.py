"""What operators do: each act goes through the same transitions as everything else, and is on record with who asked for it."""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from google.cloud import firestore

from ledgermail.clock import Clock
from ledgermail.delivering.gate import Gates
from ledgermail.delivering.tasks import Tasks, wake_of
from ledgermail.events.suppressions import Suppressions
from ledgermail.ledger import ids, overrides
from ledgermail.ledger.delivery import Delivery
from ledgermail.ledger.ledger import Ledger
from ledgermail.ledger.policy import Policy
from ledgermail.log import log
from ledgermail.mailing import Mailing
from ledgermail.support.audits import Audits, Entry

Override = Callable[..., Delivery]


@dataclass(frozen=True, kw_only=True)
class Operations:
    """What operators' acts work with. `by` is who asks, `note` why; every act raises LedgerUnavailable, and InvalidId for what
    can be no delivery's or user's id.
    """

    ledger: Ledger
    gates: Gates
    tasks: Tasks
    suppressions: Suppressions
    audits: Audits
    mailings: Mapping[str, Mailing]
    clock: Clock

    def retry(self, delivery_id: str, *, by: str, note: str = "") -> Delivery:
        """Have a delivery that ended without a mail tried again. Raises WrongStatus, and InvalidDocument when there is none."""
        opened = self._override("retry", overrides.reopen, delivery_id, by, note)
        self.tasks.wake([wake_of(opened)])  # one that could not be created is made by the sweep
        return opened

    def cancel(self, delivery_id: str, *, by: str, note: str = "") -> Delivery:
        """Call off what is pending. Raises WrongStatus, and InvalidDocument when there is none."""
        return self._override("cancel", overrides.cancel, delivery_id, by, note)

    def settle(self, delivery_id: str, *, by: str, note: str = "") -> Delivery:
        """Vouch for a mail of which nobody knew whether it was sent. Raises WrongStatus and InvalidDocument as `cancel`."""
        return self._override("settle", overrides.vouch, delivery_id, by, note)

    def pause(self, *, by: str, note: str = "") -> bool:
        """Hold all mail back; whether that was news. Instances notice within five seconds."""
        return self._pause(True, by, note)

    def resume(self, *, by: str, note: str = "") -> bool:
        """Let mail go out again; whether that was news."""
        return self._pause(False, by, note)

    def lift(self, user_id: str, *, by: str, note: str = "") -> Mapping[str, Any] | None:
        """End a user's suppression; what it said, or None when there was none."""
        now = self.clock.now()
        entry = _entry("lift", now, by, note, user_id=user_id, before="suppressed", after="not suppressed")
        lifted = self.suppressions.lift(user_id, by=by, now=now, audit=lambda batch: self.audits.add(batch, entry))
        log("operator.acted", action="lift", news=lifted is not None)
        return lifted

    def _override(self, action: str, verb: Override, delivery_id: str, by: str, note: str) -> Delivery:
        ids.user_of(delivery_id)
        now, audit_id = self.clock.now(), uuid.uuid4().hex

        def transition(delivery: Delivery) -> Delivery:
            mailing = self.mailings.get(delivery.mailing)
            return verb(delivery, now=now, policy=mailing.policy if mailing else Policy())

        def audited(batch: firestore.WriteBatch, before: Delivery, after: Delivery) -> None:
            about = {"delivery_id": delivery_id, "user_id": before.user_id}
            statuses = {"before": str(before.status), "after": str(after.status)}
            self.audits.add(batch, _entry(action, now, by, note, id=audit_id, **about, **statuses))

        changed = self.ledger.change(delivery_id, transition, beside=audited).delivery
        log("operator.acted", action=action, news=True, **changed.log_fields())
        return changed

    def _pause(self, paused: bool, by: str, note: str) -> bool:
        action, after = ("pause", "paused") if paused else ("resume", "running")
        entry = _entry(action, self.clock.now(), by, note, after=after)
        news = self.gates.pause(paused, lambda batch: self.audits.add(batch, entry))
        log("operator.acted", action=action, news=news)
        return news


def _entry(action: str, now: datetime, by: str, note: str, **fields: str) -> Entry:
    named: dict[str, Any] = {"id": uuid.uuid4().hex, **fields}
    return Entry(at=now, who=by, action=action, note=note, **named)
