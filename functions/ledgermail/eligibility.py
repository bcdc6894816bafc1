"""May this delivery be tried now, and to which address? Asked right before the claim, of the documents just read."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ledgermail import suppression
from ledgermail.delivery import Delivery, Failure, Status
from ledgermail.mailing import Mailing
from ledgermail.page import wants
from ledgermail.transitions import EMAIL, is_due, is_over

# Addresses in lower case that need no second look: what this takes, email_validator takes as it stands (a property test
# holds them together), but for the names below, which IANA has set aside.
PLAIN = re.compile(
    r"[a-z0-9_+-]{1,20}(\.[a-z0-9_+-]{1,20}){0,2}@([a-z0-9](-?[a-z0-9]){0,20}\.){1,3}[a-z]{2,24}", re.ASCII
)
SPECIAL = (".arpa", ".invalid", ".local", ".localhost", ".onion", ".test")


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


def usable_address(email: object) -> str | None:
    """The address as mail can carry it (its domain in ASCII), or None: missing, malformed, or with a non-ASCII local part,
    which SendGrid does not take. Nothing is looked up.
    """
    if not isinstance(email, str):
        return None
    if PLAIN.fullmatch(email) and not email.endswith(SPECIAL):
        return email
    from email_validator import EmailNotValidError, validate_email  # takes 5 % of a cold start to import

    try:
        return validate_email(email, check_deliverability=False).ascii_email
    except EmailNotValidError:
        return None
