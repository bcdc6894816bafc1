"""The submitted preferences: fields of a form in, a wish or what is wrong with which field out. Pure.

act     unsubscribe | subscribe (the mailing of the link) | stop (all) | save (what follows)
on      the name of a mailing that is to be on, as often as there are; the others are off
day:X   a key of DAYS, or "keep"; hour:X a key of HOURS, or "keep": when mailing X comes
zone    in which the days and hours are meant
"""

from collections.abc import Mapping, Sequence

from ledgermail.errors import InvalidForm
from ledgermail.planning.schedules import Schedule, is_zone
from ledgermail.preferences.links import Subscription
from ledgermail.preferences.preferences import Mailings, Wish
from ledgermail.preferences.schedule_words import DAYS, HOURS, Simple, schedule_of

Form = Mapping[str, Sequence[str]]
KEEP = "keep"  # the schedule as it is
ONE_CLICK = ("List-Unsubscribe", "One-Click")  # RFC 8058: the whole body of a mailbox's own POST


def is_one_click(form: Form) -> bool:
    """Whether this is the one POST that RFC 8058 describes, perhaps with the end of a line behind it."""
    name, value = ONE_CLICK
    return [said.strip() for said in form.get(name, ())] == [value]


def wish_of(form: Form, subscription: Subscription, mailings: Mailings) -> Wish:
    """What is asked for. Raises InvalidForm with what is wrong, by field."""
    match _one(form, "act"):
        case "unsubscribe":
            return Wish(active={subscription.mailing: False})
        case "subscribe" if subscription.mailing in mailings:
            return Wish(active={subscription.mailing: True})
        case "stop":
            return Wish(active=dict.fromkeys([*mailings, subscription.mailing], False))
        case "save":
            return _saved(form, mailings)
        case _:
            raise InvalidForm({"act": "must be one of the buttons of this page"})


def _saved(form: Form, mailings: Mailings) -> Wish:
    problems: dict[str, str] = {}
    wanted = form.get("on", ())
    for name in wanted:
        if name not in mailings:
            problems["on"] = "choose from the mails of this page"
    zone = _one(form, "zone")
    if not is_zone(zone):
        problems["zone"] = "choose a time zone from the list"
    schedules: dict[str, Schedule] = {}
    for name, mailing in mailings.items():
        if mailing.schedule is not None:
            schedule = _schedule(form, name, zone, problems)
            schedules |= {} if schedule is None else {name: schedule}
    if problems:
        raise InvalidForm(problems)
    return Wish(active={name: name in wanted for name in mailings}, schedules=schedules, zone=zone)


def _schedule(form: Form, name: str, zone: str, problems: dict[str, str]) -> Schedule | None:
    """The schedule that was chosen; None where it is to stay, or something is wrong with it."""
    day, hour = (_one(form, f"{part}:{name}") or KEEP for part in ("day", "hour"))
    if (day, hour) == (KEEP, KEEP):
        return None
    wrong = {}
    if day not in DAYS:
        wrong[f"day:{name}"] = "choose a day, too" if day == KEEP else "choose a day from the list"
    if hour not in HOURS:
        wrong[f"hour:{name}"] = "choose a time, too" if hour == KEEP else "choose a time from the list"
    problems |= wrong
    return None if wrong or not is_zone(zone) else schedule_of(Simple(day, hour), zone)


def _one(form: Form, name: str) -> str:
    """The value of a field that comes once, else nothing."""
    values = form.get(name, ())
    return values[0] if len(values) == 1 else ""
