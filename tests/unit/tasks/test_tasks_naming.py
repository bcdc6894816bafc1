"""Names, and the words they are refused in (recorded from production)."""

import pytest

from emulator.tasks.naming import check_parent, check_queue_name, check_task_name, last_part, new_task_name, queue_of
from emulator.tasks.refusal import InvalidArgumentError

PARENT = "projects/demo/locations/us-central1"
QUEUE = f"{PARENT}/queues/mail"


@pytest.mark.parametrize("task_id", ["a", "A-z_09", "x" * 500])
def test_a_proper_task_name_is_taken(task_id: str) -> None:
    check_task_name(f"{QUEUE}/tasks/{task_id}", QUEUE)


@pytest.mark.parametrize("task_id", ["", "x" * 501, "a.b", "a b", "Zoë", "a/b", "a\n"])
def test_an_improper_task_id_is_refused(task_id: str) -> None:
    with pytest.raises(InvalidArgumentError, match="can contain only letters"):
        check_task_name(f"{QUEUE}/tasks/{task_id}", QUEUE)


@pytest.mark.parametrize("name", ["t", f"{QUEUE}/t", "projects/demo/tasks/t", f"{PARENT}/queues/a_b/tasks/t"])
def test_a_task_name_that_is_no_resource_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidArgumentError, match="Task name must be formatted"):
        check_task_name(name, QUEUE)


def test_a_task_name_of_another_queue_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="must be the same as the queue name in the named task"):
        check_task_name(f"{QUEUE}-other/tasks/t", QUEUE)


@pytest.mark.parametrize("queue_id", ["", "a_b", "a.b", "x" * 101])
def test_an_improper_queue_id_is_refused(queue_id: str) -> None:
    with pytest.raises(InvalidArgumentError, match="Queue name must be formatted"):
        check_queue_name(f"{PARENT}/queues/{queue_id}", PARENT)


def test_a_queue_of_another_parent_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="must begin with"):
        check_queue_name(QUEUE, "projects/other/locations/us-central1")


def test_a_parent_without_location_is_refused() -> None:
    with pytest.raises(InvalidArgumentError):
        check_parent("projects/demo")


def test_a_made_up_name_is_a_proper_name_of_its_queue_and_never_the_same() -> None:
    names = {new_task_name(QUEUE) for _ in range(100)}
    assert len(names) == 100
    for name in names:
        check_task_name(name, QUEUE)
        assert queue_of(name) == QUEUE
        assert name == f"{QUEUE}/tasks/{last_part(name)}"
