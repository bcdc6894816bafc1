"""When the local Cloud Scheduler calls, with which headers, and how long it pauses: all without a clock."""

from datetime import UTC, datetime, timedelta

import pytest

from emulator.scheduler import Job, JobError, backoff, due, headers, next_due


def job(cron: str, url: str = "http://127.0.0.1:1/scan") -> Job:
    return Job(name="scan", cron=cron, url=url)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("cron", "after", "until", "expected"),
    [
        ("* * * * *", "2026-08-16T08:00:00", "2026-08-16T08:02:00", ["2026-08-16T08:01", "2026-08-16T08:02"]),
        ("* * * * *", "2026-08-16T08:00:30", "2026-08-16T08:00:59", []),
        ("*/5 * * * *", "2026-08-16T08:04:59", "2026-08-16T08:05:00", ["2026-08-16T08:05"]),
        ("0 8 * * 1", "2026-08-10T08:00", "2026-08-24T07:59", ["2026-08-17T08:00"]),
        ("0 8 * * 1 Europe/Berlin", "2026-08-16T00:00", "2026-08-18T00:00", ["2026-08-17T06:00"]),
        ("0 8 * * 1 UTC", "2026-08-16T00:00", "2026-08-18T00:00", ["2026-08-17T08:00"]),
        # Berlin's clocks skip 02:00-03:00 on 2026-03-29 and repeat it on 2026-10-25.
        ("30 2 * * * Europe/Berlin", "2026-03-28T12:00", "2026-03-29T12:00", ["2026-03-29T01:00"]),
        ("30 2 * * * Europe/Berlin", "2026-10-24T12:00", "2026-10-25T12:00", ["2026-10-25T00:30"]),
        ("0 0 29 2 *", "2026-03-01T00:00", "2028-03-01T00:00", ["2028-02-29T00:00"]),
    ],
)
def test_due_instants_lie_after_the_first_end_and_up_to_the_second(
    cron: str, after: str, until: str, expected: list[str]
) -> None:
    assert due(job(cron), at(after), at(until)) == [at(text) for text in expected]


def test_a_naive_time_is_refused() -> None:
    with pytest.raises(JobError, match="naive"):
        due(job("* * * * *"), datetime(2026, 8, 16), at("2026-08-17T00:00"))


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ("2026-08-16T08:00:30", "2026-08-16T08:05"),  # nothing missed: the next to come
        ("2026-08-16T08:05:00", "2026-08-16T08:05"),  # just due
        ("2026-08-16T08:07:00", "2026-08-16T08:05"),  # delayed by a long execution: late, under its nominal time
        ("2026-08-16T08:31:00", "2026-08-16T08:30"),  # six missed: one call
    ],
)
def test_missed_times_become_one_late_call(now: str, expected: str) -> None:
    assert next_due(job("*/5 * * * *"), at("2026-08-16T08:00"), at(now)) == at(expected)


@pytest.mark.parametrize(
    ("cron", "url"),
    [
        ("* * * *", "http://127.0.0.1/"),
        ("0 0 * * * *", "http://127.0.0.1/"),
        ("61 * * * *", "http://127.0.0.1/"),
        ("0 0 30 2 *", "http://127.0.0.1/"),
        ("0 8 * * 1 Europe/Atlantis", "http://127.0.0.1/"),
        ("0 8 * * 1 ../../etc/passwd", "http://127.0.0.1/"),
        ("", "http://127.0.0.1/"),
        ("* * * * *", "127.0.0.1/scan"),
    ],
)
def test_a_job_that_could_never_run_is_refused_by_name(cron: str, url: str) -> None:
    with pytest.raises(JobError, match="scan"):
        job(cron, url)


def test_an_attempt_carries_the_headers_of_cloud_scheduler() -> None:
    assert headers(job("* * * * *"), at("2026-08-16T08:00")) == {
        "Content-Type": "application/octet-stream",
        "User-Agent": "Google-Cloud-Scheduler",
        "X-CloudScheduler": "true",
        "X-CloudScheduler-JobName": "scan",
        "X-CloudScheduler-ScheduleTime": "2026-08-16T08:00:00Z",
    }


def test_a_job_sets_its_own_headers_but_not_the_services() -> None:
    mine = {"content-type": "application/json", "X-Key": "k", "user-agent": "me", "X-CloudScheduler-JobName": "forged"}
    sent = headers(Job(name="scan", cron="* * * * *", url="http://127.0.0.1/", headers=mine), at("2026-08-16T08:00"))
    assert sent["content-type"] == "application/json"
    assert sent["X-Key"] == "k"
    assert sent["X-CloudScheduler-JobName"] == "scan"
    assert not {"Content-Type", "user-agent"} & sent.keys()


def test_pauses_double_five_times() -> None:
    seconds = [backoff(job("* * * * *"), attempts).total_seconds() for attempts in range(1, 9)]
    assert seconds == [5, 10, 20, 40, 80, 160, 160, 160]


def test_no_pause_is_longer_than_an_hour() -> None:
    slow = Job(name="scan", cron="* * * * *", url="http://127.0.0.1/", min_backoff=timedelta(minutes=20))
    assert backoff(slow, 5) == timedelta(hours=1)
