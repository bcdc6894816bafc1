"""Which runs should exist: what the coordinator remembers, read back, and the due times after it."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledgermail.ledger.ids import encode_part
from ledgermail.planning.audience import OWN, Cohort, cohort_named
from ledgermail.planning.schedules import last_due
from ledgermail.status.expected import made, unplanned
from tests.integration.planning import DAILY, SHIPMENTS, at

TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30)
MINUTE = timedelta(minutes=1)


@given(schedule=st.none() | TEXT, topic=st.none() | TEXT)
def test_a_cohort_is_read_back_from_its_name_or_not_at_all(schedule: str | None, topic: str | None) -> None:
    cohort = Cohort(mailing="daily-digest", schedule=schedule, topic=topic)
    whole = not any("~" in encode_part(part, "part") for part in (schedule, topic) if part)
    assert cohort_named("daily-digest", cohort.name) == (cohort if whole else None)


def test_what_was_too_long_to_be_kept_whole_is_not_guessed_at() -> None:
    cohort = Cohort(mailing="daily-digest", schedule="ü" * 100, topic=None)
    assert cohort_named("daily-digest", cohort.name) is None
    assert list(unplanned(DAILY, {cohort.name: at(-9), OWN: at(0)}, at(0, 10))) == []


@pytest.mark.parametrize(
    ("until", "now", "keys"),
    [
        (at(0, 8), at(0, 23), []),
        (at(-1, 8), at(0, 8) + DAILY.promise, ["daily-digest:2100-08-16:~default"]),
        (at(-1, 8), at(0, 8) + DAILY.promise - MINUTE, []),
        (at(-3, 8), at(0, 7), ["daily-digest:2100-08-15:~default"]),  # the last one is enough to say so
        (at(0, 3), at(0, 7), []),  # known that far, and nothing was due since
    ],
)
def test_a_due_time_that_nothing_has_dealt_with_is_owed_a_run_once_it_is_overdue(
    until: datetime, now: datetime, keys: list[str]
) -> None:
    assert [owed.run.key for owed in unplanned(DAILY, {OWN: until}, now)] == keys


def test_without_any_memory_the_mailings_own_cohort_is_owed_its_run_and_a_report_is_not_known_to_have_readers() -> None:
    assert [owed.run.mailing for owed in unplanned(DAILY, {}, at(0, 12))] == ["daily-digest"]
    assert list(unplanned(SHIPMENTS, {}, at(0, 12))) == []


def test_only_a_due_time_that_was_dealt_with_has_a_run() -> None:
    assert DAILY.schedule is not None
    due = last_due(DAILY.schedule, at(0)).at
    assert [owed.run.due_at for owed in made(DAILY, {OWN: due}, at(-1, 0), at(0, 9))] == [due]
    assert list(made(DAILY, {OWN: due + MINUTE}, at(-1, 0), at(0, 9))) == []  # a cohort first seen then
    assert list(made(DAILY, {OWN: due}, due, at(0, 9))) == []  # before what is looked at
    assert list(made(DAILY, {}, at(-1, 0), at(0, 9))) == []
