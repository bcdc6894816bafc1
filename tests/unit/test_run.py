"""A run, pure: what it is called, whose it is, what it is about, and what a page of its audience is owed."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledgermail.errors import InvalidId
from ledgermail.ledger import ids
from ledgermail.planning.audience import Cohort, Subscriber
from ledgermail.planning.run import Run, came, changed, members, plan_run_page, read_run, run_of
from ledgermail.planning.schedules import Due, last_due, parse
from tests.samples import NOW
from tests.unit.digests import DAILY, SHIPMENTS

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
SCHEDULE = parse("0 8 * * *")
DUE = last_due(SCHEDULE, NOW)


def a_run(schedule: str | None = None, topic: str | None = None, text: str = "0 8 * * *", now: datetime = NOW) -> Run:
    """The run of a daily digest that is open at `now`."""
    cohort = Cohort(mailing="daily-digest", schedule=schedule, topic=topic)
    return run_of(cohort, parse(text), last_due(parse(text), now), now=now)


def a_subscriber(user_id: str = "u1", **facts: Any) -> Subscriber:
    known: dict[str, Any] = {"created_at": NOW - 9 * DAY, "since": None, "schedule": None}
    return Subscriber(user_id=user_id, **(known | facts))


def test_a_run_is_of_the_period_that_ends_when_it_is_due() -> None:
    run = a_run()
    assert (run.period_start, run.period_end) == (NOW - timedelta(hours=25.5), NOW - timedelta(hours=1.5))
    assert (run.due_at, run.as_of) == (run.period_end, NOW)
    assert run.occasion == "daily-digest:2026-08-16"


def test_a_period_is_as_long_as_the_clock_makes_it() -> None:
    """In the night of 2026-10-25 clocks in Berlin go back by an hour."""
    after = a_run(text="0 8 * * * Europe/Berlin", now=datetime(2026, 10, 25, 9, tzinfo=UTC))
    assert after.period_end - after.period_start == 25 * HOUR


def test_a_run_is_about_the_local_date_and_about_the_time_where_there_are_several() -> None:
    friday_evening = datetime(2026, 8, 14, 19, tzinfo=UTC)
    assert a_run(text="0 5 * * 6 Australia/Brisbane", now=friday_evening).occasion == "daily-digest:2026-08-15"
    assert a_run(text="0 5,17 * * * UTC").occasion == "daily-digest:2026-08-16T05%3A00"


def test_a_report_is_about_its_topic_whatever_that_is_called() -> None:
    assert a_run(topic="a:b/ä").occasion == "daily-digest:2026-08-16:a%3Ab%2F%C3%A4"


TEXTS = st.none() | st.sampled_from(["default", "~default", "%7Edefault", "0 8 * * *", ":"]) | st.text(min_size=1)


@given(TEXTS, TEXTS)
def test_two_schedules_never_share_a_run(one: str | None, other: str | None) -> None:
    try:
        keys = {a_run(schedule).key for schedule in (one, other)}
    except InvalidId:  # a lone surrogate, which Firestore does not hold
        return
    assert len(keys) == len({one, other})
    assert all(len(key) < 400 and "/" not in key for key in keys)


def test_a_run_survives_its_document() -> None:
    for run in (a_run(), a_run("0 9 * * *", "topic"), replace(a_run(), version="v1")):
        assert read_run(run.document() | {"state": "planning", "intended": 7}) == run


@pytest.mark.parametrize(
    ("facts", "is_in"),
    [
        ({}, True),
        ({"created_at": NOW}, True),
        ({"created_at": NOW + timedelta(microseconds=1)}, False),
        ({"since": NOW}, True),
        ({"since": NOW + timedelta(microseconds=1)}, False),
        ({"schedule": "0 9 * * *"}, False),
        ({"schedule": ""}, True),
    ],
)
def test_who_came_or_changed_after_it_was_opened_is_not_in_nor_who_has_another_schedule(
    facts: dict[str, Any], is_in: bool
) -> None:
    assert bool(members(a_run(), [a_subscriber(**facts)])) is is_in


def test_whose_schedule_it_is_is_in() -> None:
    assert members(a_run("0 9 * * *"), [a_subscriber(schedule="0 9 * * *")])


BEFORE_LAST = a_run().period_start - DAY  # when the period before this one began
TICK = timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("since", "asked"), [(None, False), (BEFORE_LAST - TICK, False), (BEFORE_LAST, True), (NOW, True)]
)
def test_whose_preferences_changed_since_the_period_before_began_is_asked_where_their_last_ended(
    since: datetime | None, asked: bool
) -> None:
    assert bool(changed(a_run(), [a_subscriber(since=since)])) is asked


@pytest.mark.parametrize(("changed_at", "asked"), [(BEFORE_LAST - TICK, False), (BEFORE_LAST, True)])
def test_when_the_mailings_own_schedule_changed_all_are_asked(changed_at: datetime, asked: bool) -> None:
    run = run_of(Cohort(mailing="daily-digest", schedule=None, changed_at=changed_at), SCHEDULE, DUE, now=NOW)
    assert bool(changed(run, [a_subscriber()])) is asked


@pytest.mark.parametrize("resumed_at", [NOW - 9 * DAY, DUE.at - HOUR, NOW])
def test_a_report_is_owed_whole_whenever_it_was_turned_on(resumed_at: datetime) -> None:
    run = replace(a_run(topic="school"), mailing=SHIPMENTS.name, version="v1")
    (delivery,) = plan_run_page(SHIPMENTS, run, [a_subscriber(resumed_at=resumed_at)], {}, now=NOW, shards=4).deliveries
    assert (delivery.period_start, delivery.period_end) == (run.period_start, run.period_end)


def page(starts: dict[str, datetime], *user_ids: str, run: Run | None = None) -> Any:
    subscribers = [a_subscriber(user_id) for user_id in user_ids]
    return plan_run_page(DAILY, run or a_run(), subscribers, starts, now=NOW, shards=4)


def test_a_page_owes_each_member_what_the_run_is_about() -> None:
    run = replace(a_run(topic="school"), version="v1")
    (delivery,) = page({}, "u_1", run=run).deliveries
    assert delivery.id == "u%5F1_daily-digest:2026-08-16:school"
    assert (delivery.run_key, delivery.subject, delivery.due_at) == (run.key, run.occasion, run.due_at)
    assert (delivery.period_start, delivery.period_end) == (run.period_start, run.period_end)
    assert (delivery.topic, delivery.version, delivery.content) == ("school", "v1", None)
    assert (delivery.guarantee, delivery.wake_at) == (DAILY.guarantee, NOW + DAILY.policy.slack)
    assert delivery.shard == ids.shard_of(delivery.id, 4)


@pytest.mark.parametrize("hours", [-90, -1, 0, 23])
def test_who_changed_of_late_is_owed_from_where_the_last_digest_ended(hours: int) -> None:
    start = a_run().period_start + hours * HOUR
    first, second = page({"u1": start}, "u1", "u2").deliveries
    assert (first.period_start, second.period_start) == (start, a_run().period_start)
    assert first.period_end == second.period_end


@pytest.mark.parametrize("hours", [0, 1, 90])
def test_who_had_a_digest_of_all_that_by_another_schedule_is_owed_none(hours: int) -> None:
    covered = page({"u1": a_run().period_end + hours * HOUR}, "u1", "u2")
    assert [delivery.user_id for delivery in covered.deliveries] == ["u2"]
    assert covered.counts == {"covered": 1}


@pytest.mark.parametrize(
    ("facts", "own", "others"),
    [
        ({}, 9, 1),
        ({"created_at": NOW - HOUR}, 1, 1),
        ({"created_at": NOW - 91 * DAY}, 1, 1),
        ({"since": NOW - 5 * DAY}, 5, 1),
        ({"since": NOW - HOUR}, 1, 1),
        ({"since": NOW - HOUR, "resumed_at": NOW - 4 * DAY}, 4, 4),
        ({"resumed_at": NOW - 91 * DAY}, 1, 1),
    ],
)
def test_who_changed_before_a_first_digest_is_owed_from_when_they_came_if_none_can_have_been_pruned(
    facts: dict[str, Any], own: int, others: int
) -> None:
    """Where the mailing's own schedule was changed: own. A day is the run's own period."""
    run = a_run()
    for asked, days in ((replace(run, changed_after=None), own), (run, others)):
        start = came(DAILY, asked, a_subscriber(**facts))
        assert start == (NOW - days * DAY if days > 1 else run.period_start)


def test_a_report_that_nobody_has_published_yet_has_no_version() -> None:
    cohort = Cohort(mailing=SHIPMENTS.name, schedule=None, topic="school")
    run = run_of(cohort, SCHEDULE, Due(DUE.at, DUE.local), now=NOW)
    assert "version" not in run.document()
