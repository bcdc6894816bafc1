"""Cloud Tasks on a file: queues, tasks and used names outlive a kill -9, and what was under way comes again."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from google.api_core.exceptions import AlreadyExists
from google.auth.transport import requests
from google.oauth2 import id_token

from emulator.tasks import CloudTasks, start
from tests.stack.tasks.http_target import PARENT, Target, add_task, until

QUEUE = f"{PARENT}/queues/kept"
BODY = b"\x00\xff{}\n"


class Kept:
    """The server, which may be killed, and its client."""

    def __init__(self, data: Path) -> None:
        self.cloud: CloudTasks = start([QUEUE], data=data, min_backoff=timedelta(hours=1))
        self.client = self.cloud.client()

    def kill(self) -> None:
        self.cloud.kill_and_restart()
        self.client.transport.close()  # type: ignore[no-untyped-call]
        self.client = self.cloud.client()

    def names(self) -> list[str]:
        return [task.name.rpartition("/")[2] for task in self.client.list_tasks(parent=QUEUE)]

    def stop(self) -> None:
        self.client.transport.close()  # type: ignore[no-untyped-call]
        self.cloud.stop()


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    """A server on a file."""
    made = Kept(tmp_path / "tasks.data")
    yield made
    made.stop()


def test_a_waiting_task_outlives_a_kill_and_comes_at_its_time(kept: Kept, target: Target) -> None:
    at = kept.cloud.advance(timedelta()) + timedelta(hours=1)
    created = add_task(kept.client, QUEUE, target.url, "later", schedule_time=at, request={"body": BODY})
    kept.kill()
    full = kept.client.get_task(request={"name": created.name, "response_view": "FULL"})
    assert full.http_request.body == BODY
    assert target.received == []
    kept.cloud.advance(timedelta(hours=1))
    (request,) = target.wait_for(1)
    assert request.headers["x-cloudtasks-taskname"] == "later"


def test_what_was_under_way_comes_again(kept: Kept, target: Target) -> None:
    target.open.clear()
    add_task(kept.client, QUEUE, target.url, "t1")
    target.wait_for(1)
    kept.kill()
    target.open.set()
    assert len(target.wait_for(2)) == 2
    until(lambda: kept.cloud.stats()["succeeded"] == 1)


def test_a_used_name_stays_used_over_a_kill_until_its_tombstone_ages(kept: Kept, target: Target) -> None:
    add_task(kept.client, QUEUE, target.url, "t1")
    until(lambda: kept.cloud.stats()["succeeded"] == 1)
    kept.kill()
    with pytest.raises(AlreadyExists, match="existed too recently"):
        add_task(kept.client, QUEUE, target.url, "t1")
    kept.cloud.advance(timedelta(hours=24))
    add_task(kept.client, QUEUE, target.url, "t1")
    assert len(target.wait_for(2)) == 2


def test_a_failed_task_keeps_its_count_and_its_pause_over_a_kill(kept: Kept, target: Target) -> None:
    target.answer_with(500)
    add_task(kept.client, QUEUE, target.url, "t1")
    until(lambda: kept.cloud.stats()["failed"] == 1)
    kept.kill()
    assert (kept.names(), len(target.received)) == (["t1"], 1)
    kept.cloud.advance(timedelta(hours=1))
    assert target.wait_for(2)[1].headers["x-cloudtasks-taskretrycount"] == "1"


def test_a_paused_queue_stays_paused_and_a_purged_one_empty(kept: Kept, target: Target) -> None:
    kept.client.pause_queue(name=QUEUE)
    add_task(kept.client, QUEUE, target.url, "gone")
    kept.client.purge_queue(name=QUEUE)
    add_task(kept.client, QUEUE, target.url, "waits")
    kept.kill()
    assert (kept.names(), target.received) == (["waits"], [])
    kept.client.resume_queue(name=QUEUE)
    target.wait_for(1)


def test_time_does_not_go_back_over_a_kill(kept: Kept) -> None:
    before = kept.cloud.advance(timedelta(days=2))
    kept.kill()
    kept.kill()
    assert kept.cloud.advance(timedelta()) > before


def test_tokens_are_good_by_the_certificates_from_before(kept: Kept, target: Target) -> None:
    url, token = kept.cloud.certs_url, {"service_account_email": "a@b.example", "audience": "us"}
    kept.kill()
    add_task(kept.client, QUEUE, target.url, "t1", request={"oidc_token": token})
    (request,) = target.wait_for(1)
    assert kept.cloud.certs_url == url
    bearer = request.headers["authorization"].removeprefix("Bearer ")
    assert id_token.verify_token(bearer, requests.Request(), audience="us", certs_url=url)["email"] == "a@b.example"


def test_half_a_line_is_none(tmp_path: Path, target: Target) -> None:
    """A server that died while it wrote had not answered yet."""
    data = tmp_path / "tasks.data"
    kept = Kept(data)
    kept.client.pause_queue(name=QUEUE)
    add_task(kept.client, QUEUE, target.url, "whole")
    add_task(kept.client, QUEUE, target.url, "half")
    kept.stop()
    data.write_bytes(data.read_bytes()[:-5])
    kept = Kept(data)
    assert kept.names() == ["whole"]
    add_task(kept.client, QUEUE, target.url, "half")
    kept.kill()
    assert kept.names() == ["half", "whole"]
    kept.stop()
