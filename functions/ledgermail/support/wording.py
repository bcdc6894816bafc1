"""Words that people read: a time in somebody's zone, what a failure means, what a delivery is about."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import unquote
from zoneinfo import ZoneInfo

from ledgermail.events import suppression
from ledgermail.ledger.delivery import Delivery, Failure
from ledgermail.mailing import Mailing
from ledgermail.preferences.chosen import wants

# What each category of a failure says; {other} is who was asked.
FAILURES = {
    "rejected": "{other} refuses it for good",
    "throttled": "{other} asked to wait",
    "transient": "{other} could not be reached or was not ready",
    "ambiguous": "no usable answer came from {other}",
    "misconfigured": "{other} takes nothing from us: key, sender or address are wrong",
    "late": "the worker was too slow to begin",
    "lease_ended": "the worker gave no answer in time",
    "expired": "the last day for an attempt had passed",
    "nothing_to_say": "there was nothing to say",
    "cancelled": "an operator called it off",
    "content": "no mail could be made of it",
    "content_changed": "what it was about was changed after it had been fixed",
    "invalid": "its document could not be read",
    "no_user": "there was no such user any more",
    "suppressed": "the recipient must not be mailed",
    "unsubscribed": "the recipient had this mailing switched off",
    "no_usable_address": "the recipient had no address that mail can be sent to",
}
# What the reason of a suppression says.
SUPPRESSIONS = {
    "bounce": "mail to the address had bounced",
    "invalid": "the address is none",
    "unsubscribe": "they had unsubscribed with the provider",
    "spam_report": "they had reported our mail as spam",
}


def zone_of(name: object) -> ZoneInfo:
    """The time zone of this name; UTC where it is none."""
    try:
        return ZoneInfo(name if isinstance(name, str) else "UTC")
    except (LookupError, ValueError, OSError):  # unknown; no name at all; a folder of zones
        return ZoneInfo("UTC")


def when(at: datetime, zone: ZoneInfo) -> str:
    """A time as that zone's clock shows it, and the zone's name: ``Sun 16 Aug 2026, 11:30 Europe/Berlin``."""
    local = at.astimezone(zone)
    return f"{local:%a} {local.day} {local:%b %Y, %H:%M} {zone.key}"


def failure_in_words(failure: Failure | None, other: str = "the provider") -> str:
    """What went wrong, with the other side's code and words where there are some."""
    if failure is None:
        return "no reason is on record"
    words = FAILURES.get(failure.category, failure.category).format(other=other)
    if failure.category == "suppressed" and failure.detail:
        return f"{words}: {SUPPRESSIONS.get(failure.detail, failure.detail)}"
    shown = failure.category not in {"lease_ended", "late", "expired", "cancelled"}
    said = f"{failure.code} {failure.detail}".strip() if shown else ""
    return f"{words} ({said})" if said else words


def outlook(user: Mapping[str, Any] | None, mailing: str) -> str:
    """Why a mail to come will not be sent, as the user's document is now; empty where nothing speaks against it."""
    if user is None:
        return "as things are it will not be sent: there is no such user any more"
    reason = suppression.applies(user)
    if reason is not None:
        failure = Failure(category="suppressed", detail=reason)
        return f"as things are it will not be sent: {failure_in_words(failure)}"
    return "" if wants(user, mailing) else "as things are it will not be sent: they have this mailing switched off"


def about(delivery: Delivery, mailing: Mailing | None) -> str:
    """What a delivery is: ``"Daily digest" of 2026-08-16``, ``"Job alert" about acme-1``."""
    title = mailing.title if mailing else delivery.mailing
    if delivery.period_end is None:
        return f'"{title}" about {delivery.subject}'
    return f'"{title}" of {occasion_in_words(delivery.subject)}'


def occasion_in_words(subject: str) -> str:
    """The date of a run's deliveries, with the time or the topic if it has one, from what they are about."""
    _, day, *topic = (unquote(part) for part in subject.split(":"))
    return ", ".join([day.replace("T", " at "), *topic])
