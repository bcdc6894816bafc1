"""May this delivery be tried now, and to which address? Asked right before the claim, of the documents just read."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ledgermail.delivering.addresses import usable_address
from ledgermail.events import suppression
from ledgermail.ledger.delivery import Delivery, Failure, Status
from ledgermail.ledger.transitions import EMAIL, is_due, is_over
from ledgermail.mailing import Mailing
from ledgermail.preferences.chosen import wants


@dataclass(frozen=True)
class Leave:
    """Not ours to touch now: finished, held by another, or not due yet."""

    reason: str


@dataclass(frozen=True)
class Expire:
    """Its last day has passed."""


@dataclass(frozen=True)
class Suppress:
    """The recipient may not or does not want to get it."""

    failure: Failure


@dataclass(frozen=True)
class Notify:
    """Its mail is on record as accepted; only the webhook is owed."""


@dataclass(frozen=True)
class Recipient:
    """It may go, to this address (ASCII, as the provider takes it)."""

    address: str
    name: str


Verdict = Leave | Expire | Suppress | Notify | Recipient


def judge(delivery: Delivery, user: Mapping[str, Any] | None, mailing: Mailing, now: datetime) -> Verdict:
    """What may happen to this delivery, for this user as the document says at `now`."""
    if delivery.status is not Status.PENDING:
        return Leave("held" if delivery.status is Status.IN_FLIGHT else "finished")
    if not is_due(delivery, now):
        return Leave("not_due")
    if is_over(delivery, now, mailing.policy):
        return Expire()
    if EMAIL in delivery.stages:
        return Notify()
    return _recipient(user, mailing.name)


def _recipient(user: Mapping[str, Any] | None, mailing: str) -> Suppress | Recipient:
    if user is None:
        return _suppress("no_user")
    reason = suppression.applies(user)
    if reason is not None:
        return _suppress("suppressed", reason)
    if not wants(user, mailing):
        return _suppress("unsubscribed")
    address = usable_address(user.get("email"))
    if address is None:
        return _suppress("no_usable_address")
    name = user.get("name")
    return Recipient(address, name if isinstance(name, str) else "")


def _suppress(category: str, detail: str = "") -> Suppress:
    return Suppress(Failure(category=category, detail=detail))
