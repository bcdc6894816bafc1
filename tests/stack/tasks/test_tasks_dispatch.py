"""When tasks are dispatched, retried and given up, through the real client; time is moved, never waited for."""

from datetime import UTC, timedelta

import pytest
from google.cloud import tasks_v2

from emulator.tasks import CloudTasks
from tests.stack.tasks.http_target import MakeQueue, Target, add_task, until, wait_for_failures

Client = tasks_v2.CloudTasksClient
NONE = timedelta()


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def test_a_task_is_dispatched_at_its_schedule_time_and_not_before(
    client: Client, make_queue: MakeQueue, target: Target, cloud: CloudTasks
) -> None:
    queue, now = make_queue(), cloud.advance(NONE)
    add_task(client, queue, target.url + "/later", schedule_time=now + timedelta(hours=20))
    cloud.advance(timedelta(hours=19))
    add_task(client, queue, target.url + "/now")
    assert [request.path for request in target.wait_for(1)] == ["/work/now"]
    cloud.advance(timedelta(hours=1))
    assert [request.path for request in target.wait_for(2)] == ["/work/now", "/work/later"]


def test_a_failed_task_is_tried_again_after_the_backoff_from_its_failure(
    client: Client, make_queue: MakeQueue, target: Target, cloud: CloudTasks
) -> None:
    target.answer_with(500, 404, 302)
    name = add_task(client, make_queue(), target.url).name
    for attempt, wait in enumerate((10, 20, 40), start=1):
        wait_for_failures(cloud, attempt)
        before = cloud.advance(NONE)
        due_in = tasks_v2.Task.pb(client.get_task(name=name)).schedule_time.ToDatetime(tzinfo=UTC) - before
        assert seconds(wait - 5) < due_in <= seconds(wait)
        cloud.advance(seconds(wait))
        target.wait_for(attempt + 1)
    until(lambda: cloud.stats()["succeeded"] == 1)
    assert cloud.stats()["dispatched"] == 4


def test_a_failed_attempt_is_on_record(
    client: Client, make_queue: MakeQueue, target: Target, cloud: CloudTasks
) -> None:
    target.answer_with(503)
    name = add_task(client, make_queue(), target.url).name
    wait_for_failures(cloud, 1)
    task = client.get_task(name=name)
    assert (task.dispatch_count, task.response_count) == (1, 1)
    assert task.last_attempt.response_status.message == "UNAVAILABLE(14): HTTP status code 503"
    assert task.first_attempt.dispatch_time == task.last_attempt.dispatch_time


def test_a_task_is_dropped_only_when_attempts_and_duration_are_both_used_up(
    client: Client, make_queue: MakeQueue, target: Target, cloud: CloudTasks
) -> None:
    target.answer_with(500, 500, 500)
    queue = make_queue(max_attempts=2, max_retry_duration=timedelta(hours=1))
    add_task(client, queue, target.url)
    wait_for_failures(cloud, 1)
    cloud.advance(seconds(10))
    wait_for_failures(cloud, 2)
    assert cloud.stats()["live"][queue] == 1
    cloud.advance(timedelta(hours=1))
    wait_for_failures(cloud, 3)
    assert cloud.stats()["dropped"] == 1
    assert list(client.list_tasks(parent=queue)) == []


def test_a_task_without_duration_limit_is_dropped_after_its_attempts(
    client: Client, make_queue: MakeQueue, target: Target, cloud: CloudTasks
) -> None:
    target.answer_with(500)
    add_task(client, make_queue(max_attempts=1), target.url)
    until(lambda: cloud.stats()["dropped"] == 1)


def test_the_retry_settings_of_a_task_replace_those_of_its_queue(
    client: Client, make_queue: MakeQueue, target: Target, cloud: CloudTasks
) -> None:
    target.answer_with(500)
    add_task(client, make_queue(max_attempts=9), target.url, retry_config={"max_attempts": 1})
    until(lambda: cloud.stats()["dropped"] == 1)


def test_retry_after_postpones_the_next_attempt(
    client: Client, make_queue: MakeQueue, target: Target, cloud: CloudTasks
) -> None:
    target.answer_with((503, {"Retry-After": "3600"}))
    queue = make_queue()
    add_task(client, queue, target.url + "/held")
    wait_for_failures(cloud, 1)
    cloud.advance(timedelta(minutes=50))
    add_task(client, queue, target.url + "/other")
    assert [request.path for request in target.wait_for(2)] == ["/work/held", "/work/other"]
    cloud.advance(timedelta(minutes=10))
    assert target.wait_for(3)[2].path == "/work/held"


def test_a_refused_connection_is_a_failed_attempt(client: Client, make_queue: MakeQueue, cloud: CloudTasks) -> None:
    name = add_task(client, make_queue(), "http://127.0.0.1:1/nobody").name
    wait_for_failures(cloud, 1)
    task = client.get_task(name=name)
    assert (task.dispatch_count, task.response_count) == (1, 0)


def test_at_the_dispatch_deadline_the_task_is_tried_again_while_the_worker_still_runs(
    client: Client, make_queue: MakeQueue, target: Target, cloud: CloudTasks
) -> None:
    target.open.clear()
    add_task(client, make_queue(), target.url, dispatch_deadline=seconds(15))
    target.wait_for(1)
    cloud.advance(seconds(15))
    wait_for_failures(cloud, 1)
    cloud.advance(seconds(10))
    retry = target.wait_for(2)[1]
    assert target.most_at_once == 2
    assert retry.headers["x-cloudtasks-taskpreviousresponse"] == "504"
    assert retry.headers["x-cloudtasks-taskexecutioncount"] == "0"


def test_no_more_than_the_concurrent_dispatches_run_at_once(
    client: Client, make_queue: MakeQueue, target: Target, cloud: CloudTasks
) -> None:
    target.open.clear()
    queue = make_queue({"max_concurrent_dispatches": 3})
    for _ in range(12):
        add_task(client, queue, target.url)
    target.wait_for(3)
    assert cloud.stats()["dispatched"] == 3
    target.open.set()
    target.wait_for(12)
    assert target.most_at_once == 3


def test_a_slow_queue_dispatches_its_burst_and_then_by_its_rate(
    client: Client, make_queue: MakeQueue, target: Target, cloud: CloudTasks
) -> None:
    queue = make_queue({"max_dispatches_per_second": 0.01})
    burst = client.get_queue(name=queue).rate_limits.max_burst_size
    for _ in range(burst + 2):
        add_task(client, queue, target.url)
    target.wait_for(burst)
    assert cloud.stats()["dispatched"] == burst
    cloud.advance(seconds(100))
    target.wait_for(burst + 1)
    assert cloud.stats()["dispatched"] == burst + 1


@pytest.mark.parametrize("status", [429, 503])
def test_a_throttling_answer_slows_the_whole_queue(
    client: Client, make_queue: MakeQueue, target: Target, cloud: CloudTasks, status: int
) -> None:
    queue = make_queue({"max_dispatches_per_second": 0.01})
    target.answer_with(*[status] * 3)
    for number in range(3):
        add_task(client, queue, f"{target.url}/{number}", schedule_time=cloud.advance(NONE))
    wait_for_failures(cloud, 3)
    for _ in range(10):
        add_task(client, queue, target.url)
    until(lambda: cloud.stats()["live"][queue] == 12)
    assert cloud.stats()["dispatched"] == 4  # an eighth of the burst of ten is one


def test_a_paused_queue_takes_tasks_and_dispatches_none_until_resumed(
    client: Client, make_queue: MakeQueue, target: Target, cloud: CloudTasks
) -> None:
    queue, other = make_queue(), make_queue()
    assert client.pause_queue(name=queue).state == tasks_v2.Queue.State.PAUSED
    add_task(client, queue, target.url + "/paused")
    cloud.advance(timedelta(hours=1))
    add_task(client, other, target.url + "/other")
    assert [request.path for request in target.wait_for(1)] == ["/work/other"]
    assert client.resume_queue(name=queue).state == tasks_v2.Queue.State.RUNNING
    assert target.wait_for(2)[1].path == "/work/paused"


def test_a_purged_queue_forgets_its_tasks_and_serves_new_ones(
    client: Client, make_queue: MakeQueue, target: Target, cloud: CloudTasks
) -> None:
    queue = make_queue()
    client.pause_queue(name=queue)
    for number in range(5):
        add_task(client, queue, target.url, f"t{number}")
    assert "purge_time" in client.purge_queue(name=queue)
    assert list(client.list_tasks(parent=queue)) == []
    client.resume_queue(name=queue)
    add_task(client, queue, target.url + "/new")
    assert [request.path for request in target.wait_for(1)] == ["/work/new"]


def test_run_task_runs_in_a_paused_queue_before_the_schedule_time(
    client: Client, make_queue: MakeQueue, target: Target, cloud: CloudTasks
) -> None:
    queue = make_queue()
    client.pause_queue(name=queue)
    name = add_task(client, queue, target.url, schedule_time=cloud.advance(NONE) + timedelta(days=1)).name
    assert client.run_task(name=name).dispatch_count == 1
    until(lambda: cloud.stats()["succeeded"] == 1)
    client.resume_queue(name=queue)
    cloud.advance(timedelta(days=2))
    assert cloud.stats()["dispatched"] == len(target.wait_for(1)) == 1


def test_a_deleted_task_is_not_dispatched(
    client: Client, make_queue: MakeQueue, target: Target, cloud: CloudTasks
) -> None:
    queue, later = make_queue(), cloud.advance(NONE) + timedelta(hours=1)
    client.delete_task(name=add_task(client, queue, target.url + "/deleted", schedule_time=later).name)
    add_task(client, queue, target.url + "/kept", schedule_time=later)
    cloud.advance(timedelta(hours=1))
    assert [request.path for request in target.wait_for(1)] == ["/work/kept"]
