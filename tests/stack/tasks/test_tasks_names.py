"""Names, tombstones and views, through the real client."""

from datetime import timedelta

import pytest
from google.api_core.exceptions import AlreadyExists, FailedPrecondition, InvalidArgument, NotFound
from google.cloud import tasks_v2
from google.protobuf.field_mask_pb2 import FieldMask

from emulator.tasks import CloudTasks
from tests.stack.tasks.http_target import PARENT, MakeQueue, Target, add_task, until

Client = tasks_v2.CloudTasksClient


def test_a_live_name_is_refused(client: Client, make_queue: MakeQueue, target: Target, cloud: CloudTasks) -> None:
    queue = make_queue()
    client.pause_queue(name=queue)
    add_task(client, queue, target.url, "t1")
    with pytest.raises(AlreadyExists, match="Requested entity already exists"):
        add_task(client, queue, target.url, "t1")
    assert cloud.stats()["duplicates_refused"] == 1


def test_a_used_name_is_refused_until_its_tombstone_ages(
    client: Client, make_queue: MakeQueue, target: Target, cloud: CloudTasks
) -> None:
    queue = make_queue()
    add_task(client, queue, target.url, "t1")
    until(lambda: cloud.stats()["succeeded"] == 1)
    cloud.advance(timedelta(hours=23, minutes=59))
    with pytest.raises(AlreadyExists, match="existed too recently"):
        add_task(client, queue, target.url, "t1")
    cloud.advance(timedelta(minutes=1))
    add_task(client, queue, target.url, "t1")
    assert len(target.wait_for(2)) == 2


def test_a_deleted_name_is_refused_too(client: Client, make_queue: MakeQueue, target: Target) -> None:
    queue = make_queue()
    client.pause_queue(name=queue)
    client.delete_task(name=add_task(client, queue, target.url, "t1").name)
    with pytest.raises(AlreadyExists, match="existed too recently"):
        add_task(client, queue, target.url, "t1")


def test_unnamed_tasks_never_meet(client: Client, make_queue: MakeQueue, target: Target) -> None:
    queue = make_queue()
    names = {add_task(client, queue, target.url).name for _ in range(20)}
    assert len(names) == 20
    assert all(name.startswith(f"{queue}/tasks/") for name in names)


def test_a_finished_task_is_not_found(client: Client, make_queue: MakeQueue, target: Target, cloud: CloudTasks) -> None:
    name = add_task(client, make_queue(), target.url, "t1").name
    until(lambda: cloud.stats()["succeeded"] == 1)
    for call in (client.get_task, client.delete_task, client.run_task):
        with pytest.raises(NotFound, match="existed recently"):
            call(name=name)


def test_what_was_never_there_is_not_found(client: Client, make_queue: MakeQueue) -> None:
    with pytest.raises(NotFound, match="Requested entity was not found"):
        client.get_task(name=f"{make_queue()}/tasks/t1")
    with pytest.raises(NotFound, match="Queue does not exist"):
        add_task(client, f"{PARENT}/queues/none", "http://127.0.0.1:1/")
    for call in (client.get_queue, client.pause_queue, client.resume_queue, client.purge_queue):
        with pytest.raises(NotFound, match="Queue does not exist"):
            call(name=f"{PARENT}/queues/none")


def test_the_basic_view_hides_the_body(client: Client, make_queue: MakeQueue, target: Target) -> None:
    queue = make_queue()
    client.pause_queue(name=queue)
    created = add_task(client, queue, target.url, "t1", request={"body": b"secret", "headers": {"X-Mine": "1"}})
    basic = client.get_task(name=created.name)
    full = client.get_task(request={"name": created.name, "response_view": "FULL"})
    assert created.http_request.body == basic.http_request.body == b""
    assert basic.http_request.headers["X-Mine"] == "1"
    assert full.http_request.body == b"secret"
    assert (basic.view, full.view) == (tasks_v2.Task.View.BASIC, tasks_v2.Task.View.FULL)
    assert [task.http_request.body for task in client.list_tasks(parent=queue)] == [b""]


def test_every_task_is_listed_once_over_pages(client: Client, make_queue: MakeQueue, target: Target) -> None:
    queue = make_queue()
    client.pause_queue(name=queue)
    names = {add_task(client, queue, target.url, f"t{n}").name for n in range(7)}
    pages = list(client.list_tasks(request={"parent": queue, "page_size": 3}).pages)
    assert [len(page.tasks) for page in pages] == [3, 3, 1]
    assert {task.name for page in pages for task in page.tasks} == names


def test_an_improper_task_is_refused_over_the_wire(client: Client, make_queue: MakeQueue) -> None:
    with pytest.raises(InvalidArgument, match=r"HttpRequest\.url is required"):
        add_task(client, make_queue(), "")


def test_only_the_masked_settings_of_a_queue_change(client: Client, make_queue: MakeQueue) -> None:
    queue = make_queue({"max_dispatches_per_second": 5}, max_attempts=7)
    client.pause_queue(name=queue)
    wanted = tasks_v2.Queue(name=queue, rate_limits={"max_concurrent_dispatches": 3}, retry_config={"max_attempts": 9})
    changed = client.update_queue(queue=wanted, update_mask=FieldMask(paths=["rate_limits.max_concurrent_dispatches"]))
    assert changed.rate_limits.max_concurrent_dispatches == 3
    assert (changed.rate_limits.max_dispatches_per_second, changed.retry_config.max_attempts) == (5, 7)
    assert client.get_queue(name=queue) == changed
    assert changed.state == tasks_v2.Queue.State.PAUSED
    with pytest.raises(InvalidArgument, match="update_mask"):
        client.update_queue(queue=wanted, update_mask=FieldMask(paths=["rate_limits.speed"]))


def test_without_a_mask_all_settings_are_replaced(client: Client, make_queue: MakeQueue) -> None:
    queue = make_queue({"max_dispatches_per_second": 5}, max_attempts=7)
    changed = client.update_queue(queue=tasks_v2.Queue(name=queue, rate_limits={"max_dispatches_per_second": 50}))
    assert (changed.rate_limits.max_dispatches_per_second, changed.retry_config.max_attempts) == (50, 100)


def test_updating_a_queue_that_is_not_there_creates_it(client: Client, cloud: CloudTasks) -> None:
    name = f"{PARENT}/queues/updated"
    assert client.update_queue(queue=tasks_v2.Queue({"name": name})).rate_limits.max_dispatches_per_second == 500
    assert name in {queue.name for queue in client.list_queues(parent=PARENT)}
    client.delete_queue(name=name)
    assert name not in {queue.name for queue in client.list_queues(parent=PARENT)}


def test_a_queue_name_is_taken_while_it_lives_and_for_days_after(
    client: Client, make_queue: MakeQueue, cloud: CloudTasks
) -> None:
    queue = make_queue()
    with pytest.raises(AlreadyExists, match="Queue already exists"):
        client.create_queue(parent=PARENT, queue=tasks_v2.Queue(name=queue))
    client.delete_queue(name=queue)
    with pytest.raises(NotFound, match="Requested entity was not found"):
        client.delete_queue(name=queue)
    with pytest.raises(FailedPrecondition, match="existed too recently"):
        client.create_queue(parent=PARENT, queue=tasks_v2.Queue(name=queue))
    cloud.advance(timedelta(days=3))
    client.create_queue(parent=PARENT, queue=tasks_v2.Queue(name=queue))
