"""The scene's digests and reports: who gets which, when they are due, and the deliveries that must come of it.

All are due once, some minutes before the demo starts, on the clocks of several zones.
"""

import random
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from ledgermail.ledger import ids
from ledgermail.planning.schedules import last_due, occasion, parse

DAILY, WEEKLY, REPORT = "daily-digest", "weekly-digest", "shipment-digest"
TOPICS = ("school-42", "school_7", "dépôt-ö")
SHARES = {DAILY: 0.6, WEEKLY: 0.4, REPORT: 0.3}  # of the users
OWN_SCHEDULE = 0.3  # of them, who have a schedule in their own zone; the others have the mailing's
BEFORE_START = timedelta(minutes=3)
SECRET = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="  # noqa: S105 # of every customer of the demo

User = dict[str, Any]


def default_schedules(now: datetime) -> dict[str, str]:
    """The schedules to declare for the mailings, so that each was due once, some minutes before `now`."""
    due = now - BEFORE_START
    daily = f"{due.minute} {due.hour} * *"
    return {DAILY: f"{daily} * UTC", WEEKLY: f"{daily} {due.isoweekday() % 7} UTC", REPORT: f"{daily} * UTC"}


def subscribe(users: Mapping[str, User], now: datetime, chance: random.Random, webhook: str) -> dict[str, set[str]]:
    """Give some users digests and reports, by changing their documents; the ids that they are owed, by mailing."""
    owed: dict[str, set[str]] = {name: set() for name in SHARES}
    for user_id, user in users.items():
        for name, share in SHARES.items():
            if chance.random() < share:
                owed[name] |= {ids.run_delivery_id(user_id, about) for about in _subscribe(user, name, now, chance)}
        if REPORT in user["mailings"] and chance.random() < 0.5:
            user |= {"webhook_url": webhook, "webhook_secret": SECRET}
    return owed


def _subscribe(user: User, name: str, now: datetime, chance: random.Random) -> list[str]:
    """Subscribe a user to a mailing, and return what the deliveries are about."""
    text = default_schedules(now)[name]
    preferences: dict[str, Any] = {"active": True}
    if chance.random() < OWN_SCHEDULE:
        text = preferences["schedule"] = _in_zone(text, user["timezone"], now - BEFORE_START)
    schedule = parse(text)
    due = occasion(schedule, last_due(schedule, now))
    user["mailings"][name] = preferences
    if name != REPORT:
        return [ids.run_key(name, due)]
    preferences["topics"] = chance.sample(TOPICS, chance.randint(1, 2))
    return [ids.run_key(name, due, topic) for topic in preferences["topics"]]


def _in_zone(text: str, zone: str, due: datetime) -> str:
    """A schedule that is due at the same instant, by the clock of a zone."""
    local = due.astimezone(ZoneInfo(zone))
    weekly = text.split()[4] != "*"
    return f"{local.minute} {local.hour} * * {local.isoweekday() % 7 if weekly else '*'} {zone}"


def reports(now: datetime, chance: random.Random) -> dict[str, Mapping[str, Any]]:
    """Documents by path: two versions a topic, of which the newest is today's."""
    made: dict[str, Mapping[str, Any]] = {}
    for topic in TOPICS:
        for days in (1, 0):
            at = now - timedelta(days=days, hours=1)
            rows = [_row(number, chance) for number in range(chance.randint(3, 40))]
            made[f"reports/{topic}/versions/{at.date()}"] = {"published_at": at, "rows": rows}
    return made


def _row(number: int, chance: random.Random) -> dict[str, Any]:
    return {
        "shipment": f"SH-{number:04d}",
        "status": chance.choice(["In transit", "Delayed", "=HYPERLINK(1)", "Delivered"]),
        "destination": chance.choice(["Gdańsk", "Zürich", "São Paulo", "東京"]),
        "carrier": chance.choice(["Nordlicht", "R&D <b>Freight</b>"]),
        "expected_on": "2026-12-24",
    }
