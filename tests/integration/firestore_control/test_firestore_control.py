"""Meter, faults, clock, reset and index check of the embedded Firestore, through the real client."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from http.client import HTTPConnection
from typing import Any
from uuid import uuid4

import pytest
from google.api_core.exceptions import (
    Aborted,
    AlreadyExists,
    DeadlineExceeded,
    FailedPrecondition,
    InternalServerError,
    NotFound,
)
from google.cloud.firestore import Client
from google.cloud.firestore_v1.base_query import FieldFilter

from emulator.firestore import Firestore, start
from emulator.firestore.meter import Count

INDEXES = {
    "indexes": [
        {
            "collectionGroup": "c",
            "queryScope": "COLLECTION",
            "fields": [{"fieldPath": "a", "order": "ASCENDING"}, {"fieldPath": "b", "order": order}],
        }
        for order in ("ASCENDING", "DESCENDING")
    ]
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firestore]:
    path = tmp_path_factory.mktemp("indexes") / "firestore.indexes.json"
    path.write_text(json.dumps(INDEXES))
    with start("embedded", indexes=path) as firestore:
        yield firestore


@pytest.fixture
def project(server: Firestore) -> Iterator[str]:
    yield f"p-{uuid4().hex}"
    server.clear_faults()


@pytest.fixture
def client(server: Firestore, project: str) -> Client:
    return server.client(project)


def test_writes_and_deletes_are_metered_by_collection(server: Firestore, project: str, client: Client) -> None:
    client.document("c/1").set({"a": 1})
    batch = client.batch()
    batch.set(client.document("c/2"), {})
    batch.update(client.document("c/1"), {"a": 2})
    batch.delete(client.document("e/1"))
    batch.commit()
    assert server.usage(project).counts == (Count("Commit", "c", 0, 3, 0), Count("Commit", "e", 0, 0, 1))


def test_what_is_refused_is_free(server: Firestore, project: str, client: Client) -> None:
    client.document("c/1").create({})
    server.reset_usage(project)
    with pytest.raises(AlreadyExists):
        client.document("c/1").create({})
    with pytest.raises(NotFound):
        client.document("c/2").update({"a": 1})
    assert server.usage(project).counts == ()


@pytest.mark.parametrize(
    ("documents", "ask", "reads"),
    [
        (0, lambda c: c.document("c/1").get(), 1),
        (0, lambda c: list(c.collection("c").stream()), 1),
        (3, lambda c: list(c.collection("c").stream()), 3),
        (3, lambda c: list(c.collection("c").limit(2).stream()), 2),
        (3, lambda c: list(c.collection("c").offset(2).stream()), 3),
        (3, lambda c: c.collection("c").count().get(), 1),
        (1001, lambda c: c.collection("c").count().get(), 2),
        (0, lambda c: c.collection("c").count().get(), 1),
        (2, lambda c: list(c.get_all([c.document(f"c/{n}") for n in range(4)])), 4),
    ],
)
def test_reads_are_billed_as_production_does(
    server: Firestore, project: str, client: Client, documents: int, ask: Callable[[Client], Any], reads: int
) -> None:
    batch = client.batch()
    for number in range(documents):
        batch.set(client.document(f"c/{number}"), {})
    batch.commit()
    server.reset_usage(project)
    ask(client)
    assert server.usage(project).reads == reads


def test_usage_of_one_project_is_not_anothers(server: Firestore, project: str, client: Client) -> None:
    client.document("c/1").set({})
    assert server.usage(f"{project}-other").writes == 0
    assert server.usage().writes >= 1


def test_a_fault_before_leaves_nothing_behind(server: Firestore, project: str, client: Client) -> None:
    server.fail("Commit", code="ABORTED", project=project)
    with pytest.raises(Aborted):
        client.document("c/1").set({})
    assert not client.document("c/1").get().exists
    client.document("c/1").set({})


def test_a_fault_after_is_an_answer_that_was_lost(server: Firestore, project: str, client: Client) -> None:
    server.fail("Commit", code="INTERNAL", when="after", project=project)
    with pytest.raises(InternalServerError):
        client.document("c/1").set({"a": 1})
    assert client.document("c/1").get().to_dict() == {"a": 1}


def test_the_clients_own_repetition_of_a_lost_create_finds_its_own_work(
    server: Firestore, project: str, client: Client
) -> None:
    server.fail("Commit", code="UNAVAILABLE", when="after", project=project)
    with pytest.raises(AlreadyExists):
        client.document("c/1").create({})


def test_a_hang_lasts_until_the_caller_gives_up(server: Firestore, project: str, client: Client) -> None:
    server.fail("Commit", code="HANG", project=project)
    with pytest.raises(DeadlineExceeded):
        client.document("c/1").set({}, timeout=0.3)
    client.document("c/1").set({})


def test_latency_alone_changes_no_answer(server: Firestore, project: str, client: Client) -> None:
    server.fail("Commit", code="OK", delay=0.05, project=project)
    client.document("c/1").set({})
    assert client.document("c/1").get().exists


def test_a_fault_can_be_kept_to_one_collection(server: Firestore, project: str, client: Client) -> None:
    server.fail("Commit", code="ABORTED", project=project, collection="e")
    client.document("c/1").set({})
    with pytest.raises(Aborted):
        client.document("e/1").set({})


def test_reads_can_fail_too(server: Firestore, project: str, client: Client) -> None:
    server.fail("RunQuery", code="ABORTED", project=project)
    with pytest.raises(Aborted):
        list(client.collection("c").stream(retry=None))


def test_the_clock_moves_on_and_commits_with_it(server: Firestore, client: Client) -> None:
    before: Any = client.document("c/1").set({}).update_time
    server.advance(timedelta(days=1))
    after: Any = client.document("c/2").set({}).update_time
    assert after - before >= timedelta(days=1)


def test_a_query_without_its_index_fails_by_naming_it(client: Client) -> None:
    query: Any = client.collection("c").where(filter=FieldFilter("a", "==", 1)).order_by("d")
    with pytest.raises(FailedPrecondition, match='"fieldPath": "d", "order": "ASCENDING"'):
        list(query.stream())
    with pytest.raises(FailedPrecondition, match='"fieldPath": "d", "order": "ASCENDING"'):
        query.count().get()
    with pytest.raises(FailedPrecondition, match='"fieldPath": "d"'):
        query.sum("d").get()


def test_an_index_is_unused_until_a_query_is_served_by_it(server: Firestore, client: Client) -> None:
    upwards, downwards = INDEXES["indexes"]
    assert downwards in server.unused_indexes()
    list(client.collection("c").where(filter=FieldFilter("a", "==", 1)).order_by("b", direction="DESCENDING").stream())
    assert downwards not in server.unused_indexes()
    assert upwards in server.unused_indexes()


@pytest.mark.parametrize(
    ("method", "path", "body", "named"),
    [
        ("POST", "/faults", '{"rpc": "Commit", "code": "NO"}', "code"),
        ("POST", "/faults", "{}", "rpc"),
        ("POST", "/faults", "{", "body"),
        ("POST", "/faults", "[]", "body"),
        ("POST", "/clock", "{}", "advance_seconds"),
        ("POST", "/clock", '{"advance_seconds": -1}', "advance_seconds"),
        ("POST", "/clock", '{"advance_seconds": 1e300}', "advance_seconds"),
        ("DELETE", "/documents", None, "project"),
        ("GET", "/nowhere", None, "path"),
    ],
)
def test_a_wrong_request_is_refused_by_naming_the_field(
    server: Firestore, method: str, path: str, body: str | None, named: str
) -> None:
    assert server._control
    connection = HTTPConnection(server._control)
    connection.request(method, path, body)
    response = connection.getresponse()
    answer = json.loads(response.read())
    connection.close()
    assert response.status == 400
    assert answer["error"].startswith(f"{named}: ")
