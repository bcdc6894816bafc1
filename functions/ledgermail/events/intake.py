"""Take a batch of provider events in: one change a delivery, however many events and copies, and who must not be mailed again.

All of it can be done twice: what fails half way is posted again as a whole, and leads to the same.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from ledgermail.clock import Clock
from ledgermail.delivering.addresses import same_address
from ledgermail.errors import InvalidId, LedgerUnavailable
from ledgermail.events.events import Batch, Event
from ledgermail.events.suppression import Cause
from ledgermail.events.suppressions import Suppressions
from ledgermail.ledger import evidence, ids
from ledgermail.ledger.delivery import Delivery, Stage
from ledgermail.ledger.ledger import Ledger, Transition
from ledgermail.ledger.policy import Policy
from ledgermail.mailing import Mailing

CHUNK = 100  # deliveries that are read in one call and changed in one commit


@dataclass(frozen=True, kw_only=True)
class Intake:
    """What taking events in works with."""

    ledger: Ledger
    suppressions: Suppressions
    mailings: Mapping[str, Mailing]
    clock: Clock
    archive: str  # who gets a blind copy of every mail, with our argument in its events; empty for nobody

    def take(self, batch: Batch) -> Counter[str]:
        """Write down what these events say, and count what became of them.

        Raises LedgerUnavailable: post them again. So it does, when all others are taken, for those of a delivery that a newer
        version wrote: they may be the only proof that there will ever be.
        """
        counts = Counter(batch.counts)
        counts["events"] = len(batch.events)
        by_delivery: dict[str, list[Event]] = defaultdict(list)
        for event in batch.events:
            if event.delivery_id is None:
                counts["unmatched"] += 1
            else:
                by_delivery[event.delivery_id].append(event)
        now = self.clock.now()
        changed = self._observe(by_delivery, now)
        found = {name: delivery for name, delivery in changed.items() if delivery is not None}
        counts["deliveries"] = len(found)
        counts["unknown_deliveries"] = len(by_delivery) - len(changed)
        proven = [delivery for delivery in found.values() if delivery.evidence_at == now]
        counts["proven"] = len(proven)  # taken, before the worker said so
        counts["doubts_settled"] = sum(delivery.doubted_at is not None for delivery in proven)
        counts["suppressed"] = self._suppress(batch.events, found)
        if len(found) < len(changed):
            raise LedgerUnavailable("events: are about deliveries that a newer version wrote")
        return counts

    def _observe(self, by_delivery: Mapping[str, Sequence[Event]], now: datetime) -> Mapping[str, Delivery | None]:
        """The deliveries that there are, changed; None for one that a newer version wrote."""
        changed, asked = dict[str, Delivery | None](), sorted(by_delivery)
        for first in range(0, len(asked), CHUNK):
            chunk = asked[first : first + CHUNK]
            changed |= self.ledger.change_all({name: self._transition(by_delivery[name], now) for name in chunk})
        return changed

    def _transition(self, events: Sequence[Event], now: datetime) -> Transition:
        def observe(delivery: Delivery) -> Delivery:
            about = [event for event in events if evidence.is_about(delivery, event.at)]
            if not about:
                return delivery
            latest_first = sorted(about, key=lambda event: event.at, reverse=True)
            seen = {event.kind: event.at for event in latest_first if not self._is_of_copy(event)}
            proof = min((Stage(at=event.at, reference=event.reference) for event in about), key=_order)
            mailing = self.mailings.get(delivery.mailing)
            policy, webhook = (mailing.policy, mailing.webhook) if mailing else (Policy(), False)
            return evidence.observe(delivery, seen=seen, proof=proof, webhook=webhook, now=now, policy=policy)

        return observe

    def _suppress(self, events: Iterable[Event], found: Mapping[str, Delivery]) -> int:
        """Suppress whom these events are about: by their delivery, and where they name none, by their address."""
        causes: dict[str, list[Cause]] = defaultdict(list)
        of_address: dict[str, list[Cause]] = defaultdict(list)
        for event in events:
            if event.cause is None:
                continue
            user_id = None if self._is_of_copy(event) else _user_of(event, found)
            if user_id is not None:
                causes[user_id].append(event.cause)
            elif event.email:
                of_address[event.email].append(event.cause)
        for email, known in of_address.items():
            for user_id in self.suppressions.of_address(email):
                causes[user_id] += known
        return sum(self.suppressions.apply(user_id, known) for user_id, known in causes.items())

    def _is_of_copy(self, event: Event) -> bool:
        """Whether it is about the archive's copy: that proves what the mail itself would, and says nothing of its recipient."""
        return bool(self.archive) and same_address(self.archive, event.email)


def _user_of(event: Event, found: Mapping[str, Delivery]) -> str | None:
    """Whom an event is about, as far as its delivery says: one that is pruned still says it by its id."""
    if event.delivery_id is None:
        return None
    user_id = found[event.delivery_id].user_id if event.delivery_id in found else ids.user_of(event.delivery_id)
    try:
        return user_id and ids.user_key(user_id)
    except InvalidId:
        return None


def _order(proof: Stage) -> tuple[datetime, str]:
    return proof.at, proof.reference
