"""The doctor's look at the queues: whether they are there, run, retry as declared, and may be used."""

from datetime import timedelta

import pytest

from emulator.tasks import CloudTasks
from tests.integration.doctor.conftest import NOWHERE, Examine
from tests.integration.doctor.iam_server import without_view


def test_cloud_tasks_that_is_not_there_is_told_of_both_queues(
    examine: Examine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLOUD_TASKS_EMULATOR_HOST", NOWHERE)
    code, found = examine()
    assert (code, set(found)) == (1, {"queue deliver", "queue upkeep"})
    assert all(f"CLOUD_TASKS_EMULATOR_HOST names {NOWHERE}" in to_do for _, _, to_do in found.values())


def test_a_paused_queue_is_told_and_is_no_problem(examine: Examine, world: str, tasks_server: CloudTasks) -> None:
    with tasks_server.client() as client:
        client.pause_queue(name=f"projects/{world}/locations/europe-west1/queues/deliver")
    code, found = examine()
    assert (code, set(found), found["queue deliver"][0]) == (0, {"queue deliver"}, "warning")
    assert "`gcloud tasks queues resume deliver --location=europe-west1" in found["queue deliver"][2]


def test_a_queue_that_retries_otherwise_than_declared_is_named_with_the_difference(
    examine: Examine, world: str, tasks_server: CloudTasks
) -> None:
    name = f"projects/{world}/locations/europe-west1/queues/upkeep"
    retry = {"max_attempts": 100, "min_backoff": timedelta(seconds=5), "max_backoff": timedelta(hours=1)}
    with tasks_server.client() as client:
        client.update_queue(request={"queue": {"name": name, "retry_config": retry | {"max_doublings": 4}}})
    code, found = examine()
    assert (code, set(found)) == (1, {"queue upkeep"})
    assert found["queue upkeep"][1] == "max_attempts is 100, declared 3; max_backoff is 1:00:00, declared 0:01:00"


@pytest.mark.parametrize("may_create", [True, False])
def test_who_may_not_look_at_a_queue_is_told_whether_he_may_use_it(
    may_create: bool, examine: Examine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with without_view(may_create=may_create) as host:
        monkeypatch.setenv("CLOUD_TASKS_EMULATOR_HOST", host)
        code, found = examine()
    verdict, said, to_do = found["queue deliver"]
    assert set(found) == {"queue deliver", "queue upkeep"}
    if may_create:
        assert (code, verdict) == (0, "unseen")
        assert "roles/cloudtasks.viewer" in to_do
    else:
        assert (code, verdict) == (1, "problem")
        assert said.startswith("permission denied")
        assert "add-iam-policy-binding deliver --location=europe-west1" in to_do
