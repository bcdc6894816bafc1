"""What a person has chosen to get, and what a new choice changes in the user's document. Pure.

A mailing that is turned on starts then (`resumed_at`): whoever comes back after half a year wants what comes, not what came.
`since` says when these preferences were changed while it was on, or it was turned off, and is what planning looks at.
"""

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from ledgermail.events import suppression
from ledgermail.events.suppression import Reason
from ledgermail.mailing import Mailing
from ledgermail.planning.schedules import Schedule, is_zone, parsed
from ledgermail.preferences.chosen import preferences_of, wants
from ledgermail.preferences.schedule_words import UTC, in_words, place_of

UNDO = timedelta(hours=1)  # who turns a mailing on again so soon has undone a slip, and misses nothing
BY_USER = "user"  # who lifted a suppression

Path = tuple[str, ...]
User = Mapping[str, Any]
Mailings = Mapping[str, Mailing]


class Gone(Enum):
    """The value of a field that is to be deleted."""

    GONE = "gone"


GONE = Gone.GONE


@dataclass(frozen=True)
class Choice:
    """What comes of one mailing to a person as things stand; an alert has no schedule."""

    mailing: Mailing
    active: bool
    schedule: Schedule | None


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What a person asks for; whatever is not named stays as it is."""

    active: Mapping[str, bool] = field(default_factory=dict)
    schedules: Mapping[str, Schedule] = field(default_factory=dict)
    zone: str | None = None


@dataclass(frozen=True)
class Changes:
    """The fields to write, by path, and what the person is told; both empty where nothing changes."""

    fields: Mapping[Path, Any]
    told: tuple[str, ...]


def choices(user: User, mailings: Mailings) -> list[Choice]:
    """Every mailing that there is. Who has unsubscribed from everything at their provider gets none, whatever else stands."""
    stopped = has_stopped(user)
    return [
        Choice(mailing, wants(user, mailing.name) and not stopped, _schedule(user, mailing))
        for mailing in mailings.values()
    ]


def zone_of(user: User, mailings: Mailings) -> str:
    """The zone that a person lives in: as the document says, else that of a schedule of their own, else UTC."""
    zone = user.get("timezone")
    if isinstance(zone, str) and is_zone(zone):
        return zone
    own = (
        _schedule(user, mailing) for mailing in mailings.values() if preferences_of(user, mailing.name).get("schedule")
    )
    return next((schedule.zone for schedule in own if schedule is not None), UTC)


def has_stopped(user: User) -> bool:
    """Whether mail is held back because the person unsubscribed from all of it; they alone may take that back here."""
    return suppression.applies(user) == Reason.UNSUBSCRIBE


def changes(user: User, mailings: Mailings, wish: Wish, now: datetime) -> Changes:
    """What a wish changes. Asked for a second time, it changes nothing.

    Mail that a bounce or a complaint has stopped stays so: the wish is written down for when that is lifted.
    """
    fields: dict[Path, Any] = {}
    told: list[str] = []
    lifted = has_stopped(user) and any(wish.active.values())
    active = dict.fromkeys(mailings, False) if lifted else {}
    if lifted:
        fields |= {("suppressed",): GONE, ("suppression_lifted",): {"at": now, "by": BY_USER}}
    for name, on in (active | dict(wish.active)).items():
        if on and (lifted or not wants(user, name)):
            fields |= _preference(name, active=True, since=now) | _resumed(user, name, now)
            told.append(f"{_title(name, mailings)} is on.")
        elif not on and wants(user, name):
            fields |= _preference(name, active=False, since=now)
            told.append(f"{_title(name, mailings)} is off.")
    for name, schedule in wish.schedules.items():
        if schedule != _schedule(user, mailings[name]):
            fields |= _preference(name, schedule=str(schedule))
            if wants(user, name):  # while it is off, `since` says when it was turned off
                fields |= _preference(name, since=now)
            told.append(f"{mailings[name].title} comes {in_words(schedule)}.")
    if wish.zone is not None and wish.zone != zone_of(user, mailings):
        fields["timezone",] = wish.zone
        told.append(f"Your time zone is that of {place_of(wish.zone)}.")
    return Changes(fields, tuple(told))


def changed(user: User, made: Changes) -> dict[str, Any]:
    """The user's document after these changes."""
    after = deepcopy(dict(user))
    for path, value in made.fields.items():
        within = after
        for name in path[:-1]:
            if not isinstance(within.get(name), dict):
                within[name] = {}
            within = within[name]
        if value is GONE:
            within.pop(path[-1], None)
        else:
            within[path[-1]] = value
    return after


def _resumed(user: User, name: str, now: datetime) -> dict[Path, Any]:
    """When a mailing that is turned on starts: now, unless it had been turned off only just now."""
    own = preferences_of(user, name)
    since = own.get("since")
    undone = own.get("active") is False and isinstance(since, datetime) and now - since <= UNDO
    return {} if undone else _preference(name, resumed_at=now)


def _preference(name: str, **values: Any) -> dict[Path, Any]:
    return {("mailings", name, key): value for key, value in values.items()}


def _title(name: str, mailings: Mailings) -> str:
    return mailings[name].title if name in mailings else name


def _schedule(user: User, mailing: Mailing) -> Schedule | None:
    """The person's own, if it is one; else the mailing's. An alert has none, whatever the document says."""
    return mailing.schedule and parsed(preferences_of(user, mailing.name).get("schedule"), mailing.schedule)
