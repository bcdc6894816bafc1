"""Queries through the real client."""

from typing import Any

import pytest
from google.api_core.exceptions import InvalidArgument
from google.cloud import firestore
from google.cloud.firestore import And, Client, FieldFilter, Or
from google.cloud.firestore_v1.aggregation import AggregationQuery

ASCENDING, DESCENDING = firestore.Query.ASCENDING, firestore.Query.DESCENDING
PLACES: dict[str, dict[str, Any]] = {
    "berlin": {"pop": 3.7, "in": "de", "tags": ["capital", "river"], "at": {"lat": 52}},
    "bonn": {"pop": 0.3, "in": "de", "tags": ["river"], "at": {"lat": 50}},
    "lyon": {"pop": 0.5, "in": "fr", "tags": ["river", "hill"], "at": {"lat": 45}},
    "nice": {"pop": 0.3, "in": "fr", "tags": [], "at": None},
    "nowhere": {"in": None},
}


@pytest.fixture
def places(client: Client) -> firestore.CollectionReference:
    batch = client.batch()
    for name, place in PLACES.items():
        batch.set(client.document(f"places/{name}"), place)
    batch.commit()
    return client.collection("places")


def ids(query: Any) -> list[str]:
    return [snapshot.id for snapshot in query.stream()]


def test_filters_combine(places: firestore.CollectionReference) -> None:
    german, small = FieldFilter("in", "==", "de"), FieldFilter("pop", "<=", 0.5)
    hilly = FieldFilter("tags", "array_contains", "hill")
    assert ids(places.where(filter=german)) == ["berlin", "bonn"]
    assert ids(places.where(filter=small)) == ["bonn", "nice", "lyon"]
    assert ids(places.where(filter=german).where(filter=small)) == ["bonn"]
    assert ids(places.where(filter=Or([german, hilly]))) == ["berlin", "bonn", "lyon"]
    assert ids(places.where(filter=And([small, Or([german, hilly])]))) == ["bonn", "lyon"]
    assert ids(places.where(filter=FieldFilter("in", "in", ["fr", "it"]))) == ["lyon", "nice"]
    assert ids(places.where(filter=FieldFilter("in", "!=", "de"))) == ["lyon", "nice"]
    assert ids(places.where(filter=FieldFilter("in", "not-in", ["fr"]))) == ["berlin", "bonn"]
    assert ids(places.where(filter=FieldFilter("in", "==", None))) == ["nowhere"]
    assert ids(places.where(filter=FieldFilter("tags", "array_contains_any", ["hill", "capital"]))) == [
        "berlin",
        "lyon",
    ]
    assert ids(places.where(filter=FieldFilter("at.lat", ">", 45))) == ["bonn", "berlin"]


def test_what_lacks_the_ordered_field_is_not_found(places: firestore.CollectionReference) -> None:
    assert ids(places.order_by("pop")) == ["bonn", "nice", "lyon", "berlin"]
    assert ids(places.order_by("pop", direction=DESCENDING)) == ["berlin", "lyon", "nice", "bonn"]
    assert ids(places.order_by("pop").order_by("__name__", direction=DESCENDING)) == ["nice", "bonn", "lyon", "berlin"]


def test_cursors_start_and_end_where_they_say(places: firestore.CollectionReference) -> None:
    by_pop = places.order_by("pop")
    assert ids(by_pop.start_at({"pop": 0.5})) == ["lyon", "berlin"]
    assert ids(by_pop.start_after({"pop": 0.3}).end_at({"pop": 3.7})) == ["lyon", "berlin"]
    assert ids(by_pop.end_before({"pop": 0.5})) == ["bonn", "nice"]
    assert ids(by_pop.start_after(places.document("bonn").get())) == ["nice", "lyon", "berlin"]
    assert ids(places.order_by("__name__").start_after({"__name__": "bonn"})) == ["lyon", "nice", "nowhere"]


def test_limit_offset_and_select(places: firestore.CollectionReference) -> None:
    by_pop = places.order_by("pop")
    assert ids(by_pop.limit(2)) == ["bonn", "nice"]
    assert ids(by_pop.offset(1).limit(2)) == ["nice", "lyon"]
    assert [s.to_dict() for s in by_pop.select(["at.lat"]).limit(1).stream()] == [{"at": {"lat": 50}}]
    assert [s.id for s in by_pop.limit_to_last(2).get()] == ["lyon", "berlin"]


def test_names_can_be_filtered(places: firestore.CollectionReference) -> None:
    assert ids(places.where(filter=FieldFilter("__name__", ">=", places.document("lyon")))) == [
        "lyon",
        "nice",
        "nowhere",
    ]
    both = [places.document("bonn"), places.document("paris")]
    assert ids(places.where(filter=FieldFilter("__name__", "in", both))) == ["bonn"]


def test_a_collection_group_is_every_collection_of_that_name(client: Client) -> None:
    for path in ("a/x/items/1", "b/y/items/2", "items/3", "a/x/items/1/items/4", "b/y/things/5"):
        client.document(path).set({"n": int(path[-1])})
    assert ids(client.collection_group("items")) == ["1", "4", "2", "3"]
    group = client.collection_group("items").where(filter=FieldFilter("n", ">", 1)).order_by("n", direction=DESCENDING)
    assert ids(group.limit(2)) == ["4", "3"]


def test_everything_below_a_collection_can_be_deleted(client: Client) -> None:
    for path in ("c/A", "c/A/sub/1", "c/z/sub/2", "d/1"):
        client.document(path).set({})
    client.recursive_delete(client.collection("c"))
    assert [collection.id for collection in client.collections()] == ["d"]


def test_counts_sums_and_averages(places: firestore.CollectionReference) -> None:
    def numbers(query: Any) -> dict[str, Any]:
        return {result.alias: result.value for result in query.get()[0]}

    german: Any = AggregationQuery(places.where(filter=FieldFilter("in", "==", "de")))
    assert numbers(german.count("n").sum("pop", "sum").avg("pop", "avg")) == {"n": 2, "sum": 4.0, "avg": 2.0}
    everything: Any = AggregationQuery(places.limit(100))
    assert numbers(everything.count("n")) == {"n": 5}
    assert numbers(everything.sum("pop", "sum"))["n"] == 4  # only what has the field
    some: Any = AggregationQuery(places.limit(3))
    assert numbers(some.count("n")) == {"n": 3}


def test_a_query_that_production_refuses_is_refused(places: firestore.CollectionReference) -> None:
    for operator, values in (("in", list(range(31))), ("not-in", list(range(11))), ("in", [])):
        with pytest.raises(InvalidArgument):
            ids(places.where(filter=FieldFilter("pop", operator, values)))


def test_a_large_collection_is_paged_through_completely_while_it_changes(client: Client) -> None:
    refs = [client.document(f"c/{number:03}") for number in range(300)]
    batch = client.batch()
    for number, ref in enumerate(refs):
        batch.set(ref, {"shard": number % 2, "due": number // 7})
    batch.commit()
    query = client.collection("c").where(filter=FieldFilter("shard", "==", 1)).order_by("due").limit(40)
    seen: list[str] = []
    while page := list(query.stream()):
        seen += [snapshot.id for snapshot in page]
        page[0].reference.delete()
        query = query.start_after(page[-1])
    assert seen == [f"{number:03}" for number in range(1, 300, 2)]


def test_a_query_of_the_past_finds_what_there_was_then_in_a_collection_of_any_size(client: Client) -> None:
    many, batch = client.collection("many"), client.batch()
    for number in range(150):
        batch.create(many.document(f"{number:03}"), {"even": number % 2 == 0})
    batch.commit()
    then = many.document("000").get().update_time
    even = many.where(filter=FieldFilter("even", "==", True))
    before = [snapshot.id for snapshot in even.stream(read_time=then)]  # nothing has changed since
    many.document("000").delete()
    many.document("001").update({"even": True})
    assert [snapshot.id for snapshot in even.stream(read_time=then)] == before
    assert ids(even)[:2] == ["001", "002"]
    assert len(before) == 75
