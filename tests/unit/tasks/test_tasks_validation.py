"""What the service accepts, what it fills in, and what it refuses in production's words."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from google.cloud import tasks_v2

from emulator.tasks.refusal import InvalidArgumentError, UnimplementedError
from emulator.tasks.validation import DEFAULT_RETRY, accept_queue, accept_task, retry_policy

NOW = datetime(2026, 8, 17, 8, tzinfo=UTC)


def task(**fields: Any) -> Any:
    request = {"url": "http://127.0.0.1:1/x"} | fields.pop("http_request", {})
    return tasks_v2.Task.pb(tasks_v2.Task({"http_request": request} | fields))


def queue(**fields: Any) -> Any:
    return tasks_v2.Queue.pb(tasks_v2.Queue(fields))


def test_a_bare_task_gets_the_documented_defaults() -> None:
    message = task()
    accept_task(message, NOW)
    assert message.http_request.http_method == tasks_v2.HttpMethod.POST
    assert message.schedule_time.ToDatetime(tzinfo=UTC) == NOW
    assert message.dispatch_deadline.ToTimedelta() == timedelta(minutes=10)
    assert dict(message.http_request.headers) == {"User-Agent": "Google-Cloud-Tasks"}


def test_a_schedule_time_in_the_past_becomes_now() -> None:
    message = task(schedule_time=NOW - timedelta(days=400))
    accept_task(message, NOW)
    assert message.schedule_time.ToDatetime(tzinfo=UTC) == NOW


def test_headers_that_production_sets_itself_are_taken_away_from_the_client() -> None:
    theirs = {"X-CloudTasks-TaskName": "x", "x-google-foo": "x", "HOST": "x", "Content-Length": "9", "user-agent": "x"}
    message = task(http_request={"headers": theirs | {"Content-Type": "application/json", "X-Mine": "1"}})
    accept_task(message, NOW)
    assert dict(message.http_request.headers) == {
        "User-Agent": "Google-Cloud-Tasks",
        "Content-Type": "application/json",
        "X-Mine": "1",
    }


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"http_request": {"url": ""}}, "HttpRequest.url is required."),
        ({"http_request": {"url": "127.0.0.1/x"}}, "must start with 'http://' or 'https://'"),
        ({"http_request": {"http_method": "GET", "body": b"x"}}, "body is only allowed"),
        ({"http_request": {"body": b"x" * 1024 * 1024}}, "Task size too large"),
        ({"dispatch_deadline": timedelta(seconds=14)}, r"must be between \[15s, 30m\]"),
        ({"dispatch_deadline": timedelta(minutes=31)}, r"must be between \[15s, 30m\]"),
        ({"schedule_time": NOW + timedelta(days=30, seconds=1)}, "no more than 720h in the future"),
    ],
)
def test_a_task_that_production_refuses_is_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidArgumentError, match=words):
        accept_task(task(**fields), NOW)


def test_the_latest_schedule_time_and_the_outer_deadlines_are_taken() -> None:
    accept_task(task(schedule_time=NOW + timedelta(days=30), dispatch_deadline=timedelta(seconds=15)), NOW)
    accept_task(task(dispatch_deadline=timedelta(minutes=30)), NOW)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_a_body_is_taken_with_the_methods_that_have_one(method: str) -> None:
    accept_task(task(http_request={"http_method": method, "body": b"x"}), NOW)


def test_an_app_engine_task_is_refused_by_name() -> None:
    message = tasks_v2.Task.pb(tasks_v2.Task(app_engine_http_request={"relative_uri": "/x"}))
    with pytest.raises(UnimplementedError, match="App Engine"):
        accept_task(message, NOW)


def test_a_bare_queue_gets_the_defaults_of_a_new_queue() -> None:
    message = queue(name="q")
    accept_queue(message)
    limits = message.rate_limits
    assert (limits.max_dispatches_per_second, limits.max_burst_size, limits.max_concurrent_dispatches) == (
        500,
        100,
        1000,
    )
    assert retry_policy(message.retry_config) == DEFAULT_RETRY


def test_backoff_is_cut_to_whole_seconds_but_never_to_none() -> None:
    message = queue(retry_config={"min_backoff": timedelta(seconds=0.25), "max_backoff": timedelta(seconds=7.9)})
    accept_queue(message)
    policy = retry_policy(message.retry_config)
    assert (policy.min_backoff, policy.max_backoff) == (timedelta(seconds=0.25), timedelta(seconds=7))


@pytest.mark.parametrize(("given", "taken"), [(90.7, 90), (0.5, 0), (0, 0)])
def test_the_retry_duration_is_cut_to_whole_seconds(given: float, taken: float) -> None:
    message = queue(retry_config={"max_retry_duration": timedelta(seconds=given)})
    accept_queue(message)
    assert retry_policy(message.retry_config).max_retry_duration == timedelta(seconds=taken)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"rate_limits": {"max_dispatches_per_second": 501}}, "PerSecond must be less than or equal to 500"),
        ({"rate_limits": {"max_dispatches_per_second": -1}}, "maxDispatchesPerSecond cannot be negative"),
        ({"rate_limits": {"max_concurrent_dispatches": 5001}}, "must be less than or equal to 5000"),
        ({"rate_limits": {"max_concurrent_dispatches": -1}}, "maxConcurrentDispatches cannot be negative"),
        ({"retry_config": {"max_attempts": -2}}, "maxAttempts must be greater or equal to -1"),
        ({"retry_config": {"max_doublings": -1}}, "maxDoublings cannot be negative"),
        ({"retry_config": {"min_backoff": timedelta(seconds=-1)}}, "minBackoff cannot be negative"),
        ({"retry_config": {"min_backoff": timedelta(hours=2)}}, "minBackoff must be less than or equal"),
    ],
)  # fmt: skip
def test_a_queue_that_production_refuses_is_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidArgumentError, match=words):
        accept_queue(queue(**fields))


@pytest.mark.parametrize("field", ["http_target", "app_engine_routing_override"])
def test_a_queue_that_would_send_its_tasks_elsewhere_is_refused_and_not_taken_without_that(field: str) -> None:
    elsewhere = {"uri_override": {"host": "other.example.com"}} if field == "http_target" else {"service": "other"}
    with pytest.raises(UnimplementedError, match=field):
        accept_queue(queue(**{field: elsewhere}))
