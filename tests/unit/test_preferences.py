"""What a wish changes in a user's document: only what it names, once, and never what a bounce or a complaint has stopped."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledgermail.events import suppression
from ledgermail.planning.schedules import parse
from ledgermail.preferences.chosen import wants
from ledgermail.preferences.preferences import GONE, UNDO, Wish, changed, changes, choices, zone_of
from tests.samples import NOW, a_user
from tests.unit.digests import SHIPPED

LATER = NOW + timedelta(days=3)
ON, OFF = {"active": True}, {"active": False}
MAILINGS = {"job-alert": ON, "weekly-digest": {**ON, "schedule": "0 8 * * 1 UTC"}, "daily-digest": OFF}
USER = a_user(mailings=MAILINGS)
TOKYO = parse("0 18 * * * Asia/Tokyo")


def made(wish: Wish, user: Mapping[str, Any] = USER, now: datetime = NOW) -> dict[tuple[str, ...], Any]:
    return dict(changes(user, SHIPPED, wish, now).fields)


def test_turning_off_says_so_and_when() -> None:
    off = Wish(active={"job-alert": False})
    where = ("mailings", "job-alert")
    assert made(off) == {(*where, "active"): False, (*where, "since"): NOW}
    assert changes(USER, SHIPPED, off, NOW).told == ("Job alert is off.",)


def test_turning_on_starts_then() -> None:
    where = ("mailings", "daily-digest")
    started = {(*where, "active"): True, (*where, "since"): NOW, (*where, "resumed_at"): NOW}
    assert made(Wish(active={"daily-digest": True})) == started


@pytest.mark.parametrize(("after", "starts_anew"), [(timedelta(), False), (UNDO, False), (2 * UNDO, True)])
def test_a_slip_that_is_undone_at_once_loses_nothing(after: timedelta, starts_anew: bool) -> None:
    off = changed(USER, changes(USER, SHIPPED, Wish(active={"weekly-digest": False}), NOW))
    on = made(Wish(active={"weekly-digest": True}), off, NOW + after)
    assert (("mailings", "weekly-digest", "resumed_at") in on) is starts_anew


@pytest.mark.parametrize("before", [{}, {"active": None}])
def test_what_was_never_on_is_no_slip_that_is_undone(before: dict[str, Any]) -> None:
    """An application may write when it last changed something else of these."""
    user = a_user(mailings={"weekly-digest": {**before, "schedule": "0 8 * * 1 UTC", "since": NOW}})
    on = made(Wish(active={"weekly-digest": True}), user, NOW + timedelta(minutes=5))
    assert on["mailings", "weekly-digest", "resumed_at"] == NOW + timedelta(minutes=5)


def test_who_first_chooses_a_schedule_and_then_comes_back_gets_what_comes_and_not_what_came() -> None:
    """It was off for long: the schedule that was chosen meanwhile is no slip that is undone."""
    before = a_user(mailings={"weekly-digest": {"active": False, "since": NOW - timedelta(days=180)}})
    chosen = changed(before, changes(before, SHIPPED, Wish(schedules={"weekly-digest": TOKYO}), NOW))
    on = made(Wish(active={"weekly-digest": True}), chosen, NOW + timedelta(minutes=5))
    assert on["mailings", "weekly-digest", "resumed_at"] == NOW + timedelta(minutes=5)


def test_what_stands_there_already_is_not_written() -> None:
    same = Wish(
        active={"job-alert": True, "daily-digest": False},
        schedules={"weekly-digest": parse("0 8 * * MON"), "shipment-digest": parse("0 7 * * *")},
        zone="UTC",
    )
    assert changes(USER, SHIPPED, same, NOW) == changes(USER, SHIPPED, Wish(), NOW)
    assert made(same) == {}


def test_a_schedule_and_a_zone_are_written_as_planning_reads_them() -> None:
    wish = Wish(schedules={"weekly-digest": TOKYO}, zone="Asia/Tokyo")
    where = ("mailings", "weekly-digest")
    assert made(wish) == {
        (*where, "schedule"): "0 18 * * * Asia/Tokyo",
        (*where, "since"): NOW,
        ("timezone",): "Asia/Tokyo",
    }
    told = ("Weekly digest comes every day at 18:00 (Tokyo time).", "Your time zone is that of Tokyo.")
    assert changes(USER, SHIPPED, wish, NOW).told == told


@pytest.mark.parametrize("reason", ["bounce", "invalid", "spam_report", "by-us", ""])
def test_only_what_the_person_has_stopped_can_the_person_lift(reason: str) -> None:
    user = USER | {"suppressed": {"reason": reason, "at": NOW}}
    for wish in (Wish(active=dict.fromkeys(SHIPPED, True)), Wish(active=dict.fromkeys(SHIPPED, False))):
        assert not {path[0] for path in made(wish, user)} & {"suppressed", "suppression_lifted"}


def test_who_comes_back_gets_what_they_ask_for_and_nothing_else() -> None:
    user = USER | {"suppressed": {"reason": "unsubscribe", "at": NOW}}
    assert [choice.active for choice in choices(user, SHIPPED)] == [False] * len(SHIPPED)
    after = changed(user, changes(user, SHIPPED, Wish(active={"weekly-digest": True}), LATER))
    assert suppression.applies(after) is None
    assert after["suppression_lifted"] == {"at": LATER, "by": "user"}
    assert [name for name in SHIPPED if wants(after, name)] == ["weekly-digest"]
    assert after["mailings"]["weekly-digest"]["resumed_at"] == LATER


@pytest.mark.parametrize(
    ("user", "zone"),
    [
        ({"timezone": "Asia/Tokyo"}, "Asia/Tokyo"),
        ({}, "UTC"),
        ({"timezone": "Mars/Base"}, "UTC"),
        ({"timezone": 5, "mailings": {"weekly-digest": {"schedule": "0 8 * * 1 Europe/Berlin"}}}, "Europe/Berlin"),
        ({"mailings": {"weekly-digest": {"schedule": "8 o'clock"}}}, "UTC"),
    ],
)
def test_a_person_lives_where_the_document_or_a_schedule_of_theirs_says(user: dict[str, Any], zone: str) -> None:
    assert zone_of(user, SHIPPED) == zone


def test_a_schedule_that_is_none_and_one_of_an_alert_are_not_shown() -> None:
    user = a_user(mailings={"weekly-digest": {"schedule": "8 o'clock"}, "job-alert": {"schedule": "0 8 * * *"}})
    shown = {choice.mailing.name: choice.schedule for choice in choices(user, SHIPPED)}
    assert (shown["weekly-digest"], shown["job-alert"]) == (SHIPPED["weekly-digest"].schedule, None)


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=9) | st.just(NOW),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=9,
)
PREFERENCES = st.dictionaries(
    st.sampled_from([*SHIPPED, "other"]),
    ANYTHING | st.fixed_dictionaries({"active": ANYTHING, "schedule": ANYTHING, "since": ANYTHING}),
)
USERS = st.fixed_dictionaries(
    {"mailings": ANYTHING | PREFERENCES, "timezone": ANYTHING, "email": ANYTHING},
    optional={"suppressed": ANYTHING | st.fixed_dictionaries({"reason": ANYTHING | st.just("unsubscribe")})},
)
WISHES = st.builds(
    Wish,
    active=st.dictionaries(st.sampled_from([*SHIPPED, "gone"]), st.booleans()),
    schedules=st.dictionaries(st.sampled_from(["weekly-digest", "daily-digest"]), st.just(TOKYO)),
    zone=st.none() | st.just("Asia/Tokyo"),  # the page has one zone for all of its schedules
)


@given(user=USERS, wish=WISHES)
def test_whatever_stands_there_a_wish_is_granted_once_and_touches_nothing_else(
    user: dict[str, Any], wish: Wish
) -> None:
    first = changes(user, SHIPPED, wish, NOW)
    after = changed(user, first)
    assert changes(after, SHIPPED, wish, LATER).fields == {}
    assert all(wants(after, name) is on for name, on in wish.active.items())
    shown = {choice.mailing.name: choice for choice in choices(after, SHIPPED)}
    assert all(shown[name].schedule == schedule for name, schedule in wish.schedules.items())
    untouched = {"email": 0, "mailings": 0, "timezone": 0, "suppressed": 0, "suppression_lifted": 0}
    assert (after | untouched, after["email"]) == (user | untouched, user["email"])


def test_a_field_that_is_gone_is_gone() -> None:
    user = USER | {"suppressed": {"reason": "unsubscribe", "at": NOW}}
    made = changes(user, SHIPPED, Wish(active={"job-alert": True}), NOW)
    assert made.fields["suppressed",] is GONE
    assert "suppressed" not in changed(user, made)
    assert "suppressed" in user  # what was read is not changed
