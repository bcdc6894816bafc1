"""Writing and reading documents through the real client: preconditions, transforms, limits, error codes."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from google.api_core.exceptions import AlreadyExists, FailedPrecondition, GoogleAPICallError, InvalidArgument, NotFound
from google.cloud import firestore
from google.cloud.firestore import Client, GeoPoint
from google.cloud.firestore_v1.bulk_batch import BulkWriteBatch
from google.cloud.firestore_v1.vector import Vector

EVERYTHING = {
    "null": None,
    "bool": True,
    "int": -(2**63),
    "float": 1.5,
    "infinite": float("inf"),
    "time": datetime(2026, 3, 29, 1, 30, 0, 123456, tzinfo=UTC),
    "text": "Zoë \x00 \U0001f600",
    "bytes": b"\x00\xff",
    "point": GeoPoint(-90.0, 180.0),
    "array": [1, "a", None, {"in": [1]}],
    "map": {"a.b": {"`": 1}, "empty": {}},
    "vector": Vector([1.0, 2.0]),
    "none": [],
}


def test_every_kind_of_value_comes_back(client: Client) -> None:
    content = {**EVERYTHING, "reference": client.document("a/b")}
    client.document("c/d").set(content)
    assert client.document("c/d").get().to_dict() == content


def test_create_is_refused_where_there_is_a_document(client: Client) -> None:
    client.document("c/d").create({"a": 1})
    with pytest.raises(AlreadyExists, match=r"Document already exists: projects/.*/documents/c/d"):
        client.document("c/d").create({"a": 2})
    assert client.document("c/d").get().to_dict() == {"a": 1}


def test_update_is_refused_where_there_is_no_document(client: Client) -> None:
    with pytest.raises(NotFound, match=r"No document to update: projects/.*/documents/c/d"):
        client.document("c/d").update({"a": 1})


def test_a_write_under_a_last_update_time_is_a_compare_and_set(client: Client) -> None:
    ref = client.document("c/d")
    first = ref.set({"n": 1}).update_time
    second = ref.update({"n": 2}, option=client.write_option(last_update_time=first)).update_time
    for change in (lambda option: ref.update({"n": 3}, option=option), lambda option: ref.delete(option=option)):
        with pytest.raises(FailedPrecondition):
            change(client.write_option(last_update_time=first))
    assert ref.get().to_dict() == {"n": 2}
    ref.delete(option=client.write_option(last_update_time=second))
    assert not ref.get().exists
    with pytest.raises(FailedPrecondition):
        ref.delete(option=client.write_option(last_update_time=second))


def test_a_last_update_time_in_the_future_is_an_invalid_argument(client: Client) -> None:
    client.document("c/d").set({})
    option = client.write_option(last_update_time=datetime.now(UTC) + timedelta(hours=1))
    with pytest.raises(InvalidArgument):
        client.document("c/d").delete(option=option)


def test_delete_of_nothing_is_fine_unless_it_must_exist(client: Client) -> None:
    client.document("c/d").delete()
    with pytest.raises(NotFound):
        client.document("c/d").delete(option=client.write_option(exists=True))


def test_a_write_that_changes_nothing_keeps_the_update_time(client: Client) -> None:
    ref = client.document("c/d")
    first = ref.set({"a": float("nan"), "b": 1}).update_time
    assert ref.set({"b": 1, "a": float("nan")}).update_time == first
    ref.set({"b": 1.0, "a": float("nan")})
    changed = ref.get()
    assert changed.update_time > changed.create_time == first


def test_a_batch_is_applied_whole_or_not_at_all(client: Client) -> None:
    client.document("c/taken").set({})
    batch = client.batch()
    batch.set(client.document("c/new"), {"a": 1})
    batch.create(client.document("c/taken"), {})
    with pytest.raises(AlreadyExists):
        batch.commit()
    assert not client.document("c/new").get().exists


def test_all_writes_of_a_batch_have_one_time(client: Client) -> None:
    batch = client.batch()
    for number in range(600):
        batch.set(client.document(f"c/{number}"), {"at": firestore.SERVER_TIMESTAMP})
    times = {result.update_time for result in batch.commit()}
    assert times == {batch.commit_time}
    assert len({document.get("at") for document in client.collection("c").stream()}) == 1


def test_each_write_of_a_bulk_batch_has_its_own_fate(client: Client) -> None:
    client.document("c/b").set({})
    batch = BulkWriteBatch(client)
    for id_ in "abc":
        batch.create(client.document(f"c/{id_}"), {"n": 1})
    assert [status.code for status in batch.commit().status] == [0, 6, 0]
    assert {snapshot.id for snapshot in client.collection("c").stream()} == {"a", "b", "c"}


def test_merge_touches_only_what_it_names(client: Client) -> None:
    ref = client.document("c/d")
    ref.set({"m": {"a": 1, "b": 2}, "k": 1})
    ref.set({"m": {"a": 3}}, merge=True)
    ref.update({"m.c": 4, "k": firestore.DELETE_FIELD})
    assert ref.get().to_dict() == {"m": {"a": 3, "b": 2, "c": 4}}


def test_the_server_computes_what_the_client_cannot(client: Client) -> None:
    ref = client.document("c/d")
    ref.set({"n": 1, "max": 5, "min": 5, "list": [1, 2], "less": [1, 2, 1]})
    ref.update(
        {
            "n": firestore.Increment(2),
            "max": firestore.Maximum(7),
            "min": firestore.Minimum(7),
            "list": firestore.ArrayUnion([2, 3]),
            "less": firestore.ArrayRemove([1]),
            "at": firestore.SERVER_TIMESTAMP,
        }
    )
    held = ref.get().to_dict() or {}
    at = held.pop("at")
    assert held == {"n": 3, "max": 7, "min": 5, "list": [1, 2, 3], "less": [2]}
    assert at <= ref.get().update_time


def test_a_mask_reads_only_what_it_names(client: Client) -> None:
    client.document("c/d").set({"a": 1, "m": {"x": 2, "y": 3}})
    assert client.document("c/d").get(["m.x", "none"]).to_dict() == {"m": {"x": 2}}


def test_get_all_answers_for_what_is_missing_too(client: Client) -> None:
    client.document("c/a").set({})
    refs = [client.document(f"c/{id_}") for id_ in "aba"]
    assert {snapshot.id: snapshot.exists for snapshot in client.get_all(refs)} == {"a": True, "b": False}


def test_documents_that_only_have_something_below_them_are_listed(client: Client) -> None:
    client.document("c/real").set({})
    client.document("c/gone/deep/x/deeper/y").set({})
    assert [ref.id for ref in client.collection("c").list_documents()] == ["gone", "real"]
    assert [ref.id for ref in client.document("c/gone").collections()] == ["deep"]
    assert [ref.id for ref in client.collection("c").list_documents(page_size=1)] == ["gone", "real"]


def test_databases_of_one_project_are_apart(client: Client, server: Any) -> None:
    other = Client(project=client.project, credentials=client._credentials, database="other")
    other._emulator_host = server.host
    client.document("c/d").set({"a": 1})
    assert not other.document("c/d").get().exists


@pytest.mark.parametrize(
    "write",
    [
        lambda client: client.document("c/__x__").set({}),
        lambda client: client.document("c/..").set({}),
        lambda client: client.document("c/" + "a" * 1501).set({}),
        lambda client: client.document("__c__/d").set({}),
        lambda client: client.document("c/d").set({"__x__": 1}),
        lambda client: client.document("c/d").set({"a": [[1]]}),
        lambda client: client.document("c/d").set({"a": "x" * 1_048_576}),
        lambda client: client.document("c/d").set({str(n): "x" * 100_000 for n in range(11)}),
    ],
)
def test_what_breaks_a_limit_is_an_invalid_argument(client: Client, write: Callable[[Client], object]) -> None:
    with pytest.raises(InvalidArgument):
        write(client)


@pytest.mark.parametrize("mebibytes", [9, 11])
def test_a_request_holds_at_most_ten_mebibytes(client: Client, mebibytes: int) -> None:
    batch = client.batch()
    for number in range(mebibytes):
        batch.set(client.document(f"c/{number}"), {"a": "x" * 2**19, "b": "x" * (2**19 - 200)})
    if mebibytes > 10:
        with pytest.raises(InvalidArgument, match="payload size"):
            batch.commit(retry=None)
    else:
        batch.commit()
    assert len(list(client.collection("c").list_documents())) == (9 if mebibytes == 9 else 0)


def test_the_past_hour_can_be_read_and_no_more(client: Client) -> None:
    ref = client.document("c/d")
    ref.set({"n": 1})
    then = ref.get().update_time
    ref.set({"n": 2})
    ref.delete()
    assert ref.get(read_time=then).to_dict() == {"n": 1}
    assert [s.to_dict() for s in client.collection("c").stream(read_time=then)] == [{"n": 1}]
    assert not ref.get().exists
    assert not ref.get(read_time=then - timedelta(minutes=1)).exists
    for wrong in (datetime.now(UTC) - timedelta(hours=1, minutes=1), datetime.now(UTC) + timedelta(minutes=5)):
        with pytest.raises(GoogleAPICallError) as refused:
            ref.get(read_time=wrong)
        assert type(refused.value) in (FailedPrecondition, InvalidArgument)
