"""What CreateTask, CreateQueue and UpdateQueue accept, and the defaults they fill in (docstrings and quotas page)."""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from google.cloud import tasks_v2

from emulator.tasks.rate import burst_size
from emulator.tasks.refusal import InvalidArgumentError, UnimplementedError
from emulator.tasks.retry_schedule import UNLIMITED_ATTEMPTS, RetryPolicy

USER_AGENT = "Google-Cloud-Tasks"
LARGEST_TASK = 1024 * 1024  # bytes
FURTHEST_SCHEDULE = timedelta(days=30)
DEADLINES = (timedelta(seconds=15), timedelta(minutes=30))
DEFAULT_DEADLINE = timedelta(minutes=10)

# Of a new queue.
DEFAULT_RATE = 500.0  # dispatches a second, also the largest
DEFAULT_CONCURRENT = 1000
LARGEST_CONCURRENT = 5000
DEFAULT_RETRY = RetryPolicy(100, timedelta(), timedelta(seconds=0.1), timedelta(hours=1), 16)

_PACIFIC = ZoneInfo("America/Los_Angeles")  # the zone of production's own message
_WITH_BODY = frozenset({tasks_v2.HttpMethod.POST, tasks_v2.HttpMethod.PUT, tasks_v2.HttpMethod.PATCH})
_REPLACED_PREFIXES = ("x-cloudtasks-", "x-google-", "x-appengine-")
_REPLACED_HEADERS = frozenset({"host", "content-length", "user-agent"})


def accept_task(task: Any, now: datetime) -> None:
    """Check a Task message of CreateTask and complete it in place: method, headers, schedule_time, deadline.

    Raises InvalidArgumentError in production's words (as recorded from it, where they are public).
    """
    if task.HasField("app_engine_http_request"):
        raise UnimplementedError("App Engine tasks are not served here.")
    if task.ByteSize() > LARGEST_TASK:
        raise InvalidArgumentError("Task size too large")
    _accept_request(task.http_request)
    _accept_deadline(task)
    _accept_schedule(task, now)
    if task.HasField("retry_config"):
        accept_retry(task.retry_config)


def accept_queue(queue: Any) -> None:
    """Check a Queue message and complete it in place with the defaults of a new queue.

    Raises InvalidArgumentError, and UnimplementedError for what would send its tasks elsewhere.
    """
    for field in ("http_target", "app_engine_routing_override"):
        if queue.HasField(field):
            raise UnimplementedError(f"Queue.{field} is not served here.")
    limits = queue.rate_limits
    rate, concurrent = limits.max_dispatches_per_second, limits.max_concurrent_dispatches
    _within("RateLimits.maxDispatchesPerSecond", rate, DEFAULT_RATE)
    _within("RateLimits.maxConcurrentDispatches", concurrent, LARGEST_CONCURRENT)
    limits.max_dispatches_per_second = rate or DEFAULT_RATE
    limits.max_concurrent_dispatches = concurrent or DEFAULT_CONCURRENT
    limits.max_burst_size = burst_size(limits.max_dispatches_per_second)
    accept_retry(queue.retry_config)


def accept_retry(config: Any) -> None:
    """Check a RetryConfig message and complete it in place. Raises InvalidArgumentError."""
    if config.max_attempts < UNLIMITED_ATTEMPTS:
        raise InvalidArgumentError("RetryConfig.maxAttempts must be greater or equal to -1.")
    if config.max_doublings < 0:
        raise InvalidArgumentError("RetryConfig.maxDoublings cannot be negative.")
    config.max_attempts = config.max_attempts or DEFAULT_RETRY.max_attempts
    config.max_doublings = config.max_doublings or DEFAULT_RETRY.max_doublings
    _accept_backoff(config, "min_backoff", "RetryConfig.minBackoff", DEFAULT_RETRY.min_backoff)
    _accept_backoff(config, "max_backoff", "RetryConfig.maxBackoff", DEFAULT_RETRY.max_backoff)
    if config.min_backoff.ToTimedelta() > config.max_backoff.ToTimedelta():
        raise InvalidArgumentError("RetryConfig.minBackoff must be less than or equal to RetryConfig.maxBackoff.")
    if config.max_retry_duration.ToTimedelta() < timedelta():
        raise InvalidArgumentError("RetryConfig.maxRetryDuration cannot be negative.")
    config.max_retry_duration.nanos = 0  # whole seconds, as documented; below one, that is no limit


def retry_policy(config: Any) -> RetryPolicy:
    """The policy that a completed RetryConfig message describes."""
    return RetryPolicy(
        config.max_attempts,
        config.max_retry_duration.ToTimedelta(),
        config.min_backoff.ToTimedelta(),
        config.max_backoff.ToTimedelta(),
        config.max_doublings,
    )


def _accept_request(request: Any) -> None:
    if not request.url:
        raise InvalidArgumentError("HttpRequest.url is required.")
    if not request.url.startswith(("http://", "https://")):
        raise InvalidArgumentError("HttpTarget.url must start with 'http://' or 'https://'.")
    request.http_method = request.http_method or tasks_v2.HttpMethod.POST
    if request.body and request.http_method not in _WITH_BODY:
        raise InvalidArgumentError("HttpRequest.body is only allowed when the method is POST, PUT or PATCH.")
    for name in [name for name in request.headers if _is_replaced(name.lower())]:
        del request.headers[name]
    request.headers["User-Agent"] = USER_AGENT


def _is_replaced(header: str) -> bool:
    return header in _REPLACED_HEADERS or header.startswith(_REPLACED_PREFIXES)


def _accept_deadline(task: Any) -> None:
    if not task.HasField("dispatch_deadline"):
        task.dispatch_deadline.FromTimedelta(DEFAULT_DEADLINE)
    shortest, longest = DEADLINES
    if not shortest <= task.dispatch_deadline.ToTimedelta() <= longest:
        raise InvalidArgumentError("Task.dispatchDeadline must be between [15s, 30m].")


def _accept_schedule(task: Any, now: datetime) -> None:
    wanted = task.schedule_time.ToDatetime(tzinfo=UTC)
    if wanted > now + FURTHEST_SCHEDULE:
        shown = wanted.astimezone(_PACIFIC).isoformat(timespec="seconds")
        raise InvalidArgumentError(
            f"The Task.scheduleTime, {shown}, is too far in the future. "
            "Schedule time must be no more than 720h in the future."
        )
    task.schedule_time.FromDatetime(max(wanted, now))


def _within(field: str, value: float, largest: float) -> None:
    if value < 0:
        raise InvalidArgumentError(f"{field} cannot be negative.")
    if value > largest:
        raise InvalidArgumentError(f"{field} must be less than or equal to {largest:g}.")


def _accept_backoff(config: Any, field: str, shown: str, default: timedelta) -> None:
    """Whole seconds, as documented; but below one second kept as given, for production's own default is 0.1 s."""
    duration = getattr(config, field)
    given = duration.ToTimedelta() if config.HasField(field) else default
    if given < timedelta():
        raise InvalidArgumentError(f"{shown} cannot be negative.")
    whole = timedelta(seconds=int(given.total_seconds()))
    duration.FromTimedelta(whole or given)
