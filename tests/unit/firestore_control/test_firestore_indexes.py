"""Which queries an index file serves: the real client's queries against written-out files."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from google.auth.credentials import AnonymousCredentials
from google.cloud.firestore import Client
from google.cloud.firestore_v1.base_query import And, FieldFilter, Or

from emulator.firestore.indexes import Indexes, MissingIndex
from tests.unit.firestore_control.entries import A_B, ASC, DESC, HAS, composite, override

PARENT = "projects/p/databases/(default)/documents"
DB = Client(project="p", credentials=AnonymousCredentials())  # type: ignore[no-untyped-call]
C = DB.collection("c")
G = DB.collection_group("c")


def f(field: str, op: str, value: Any = 1) -> FieldFilter:
    return FieldFilter(field, op, value)


@pytest.fixture
def load(tmp_path: Path) -> Callable[..., Indexes]:
    def written(*entries: dict[str, Any]) -> Indexes:
        path = tmp_path / "firestore.indexes.json"
        overrides = [entry for entry in entries if "fields" not in entry]
        path.write_text(json.dumps({"indexes": [e for e in entries if "fields" in e], "fieldOverrides": overrides}))
        return Indexes.load(path)

    return written


def check(indexes: Indexes, query: Any, *aggregated: str) -> None:
    indexes.check(query._to_protobuf()._pb, PARENT, aggregated)


A_BDESC = composite(("a", ASC), ("b", DESC))
B_A = composite(("b", ASC), ("a", ASC))

SERVED = {
    "a whole collection": ((), C.limit(9)),
    "a whole collection group": ((), G.limit(9)),
    "by name": ((), C.order_by("__name__")),
    "a range of names": ((), C.where(filter=f("__name__", ">", C.document("x")))),
    "an equality": ((), C.where(filter=f("a", "=="))),
    "is null": ((), C.where(filter=f("a", "==", None))),
    "a range": ((), C.where(filter=f("a", ">"))),
    "not equal": ((), C.where(filter=f("a", "!="))),
    "not in": ((), C.where(filter=f("a", "not-in", [1, 2]))),
    "an order": ((), C.order_by("a")),
    "an order downwards": ((), C.order_by("a", direction=DESC)),
    "a range and its order downwards": ((), C.where(filter=f("a", ">")).order_by("a", direction=DESC)),
    "an order, then by name the same way": ((), C.order_by("a").order_by("__name__")),
    "both ways down": ((), C.order_by("a", direction=DESC).order_by("__name__", direction=DESC)),
    "an array's member": ((), C.where(filter=f("a", "array_contains"))),
    "an array's members": ((), C.where(filter=f("a", "array_contains_any", [1, 2]))),
    "in": ((), C.where(filter=f("a", "in", [1, 2]))),
    "two equalities, merged": ((), C.where(filter=f("a", "==")).where(filter=f("b", "=="))),
    "an equality and a member, merged": ((), C.where(filter=f("a", "==")).where(filter=f("b", "array_contains"))),
    "in and an equality, merged": ((), C.where(filter=f("a", "in", [1, 2])).where(filter=f("b", "=="))),
    "an equality and a range of names": (
        (),
        C.where(filter=f("a", "==")).where(filter=f("__name__", ">", C.document("x"))),
    ),
    "a name and an equality": ((), C.where(filter=f("__name__", "==", C.document("x"))).where(filter=f("a", "=="))),
    "an equality ordered by itself": ((), C.where(filter=f("a", "==")).order_by("a", direction=DESC)),
    "or of equalities": ((), C.where(filter=Or([f("a", "=="), f("b", "==")]))),
    "or of ands of equalities": ((), C.where(filter=Or([And([f("a", "=="), f("b", "==")]), f("c", "==")]))),
    "a nested field": ((), C.where(filter=f("m.x", "=="))),
    "equality, order": ((A_B,), C.where(filter=f("a", "==")).order_by("b")),
    "equality, range": ((A_B,), C.where(filter=f("a", "==")).where(filter=f("b", ">"))),
    "in, order": ((A_B,), C.where(filter=f("a", "in", [1, 2])).order_by("b")),
    "equality, order downwards": ((A_BDESC,), C.where(filter=f("a", "==")).order_by("b", direction=DESC)),
    "an equality the other way round in the file": (
        (composite(("a", DESC), ("b", ASC)),),
        C.where(filter=f("a", "==")).order_by("b"),
    ),
    "equalities in any order": (
        (composite(("b", ASC), ("a", ASC), ("d", ASC)),),
        C.where(filter=f("a", "==")).where(filter=f("b", "==")).order_by("d"),
    ),
    "two composites merged": (
        (composite(("a", ASC), ("d", ASC)), composite(("b", ASC), ("d", ASC))),
        C.where(filter=f("a", "==")).where(filter=f("b", "==")).order_by("d"),
    ),
    "two orders": ((A_BDESC,), C.order_by("a").order_by("b", direction=DESC)),
    "two ranges": ((A_B,), C.where(filter=f("b", ">")).where(filter=f("a", ">"))),
    "a range on a, ordered by b": ((B_A,), C.where(filter=f("a", ">")).order_by("b")),
    "a member, then an order": (
        (composite(("t", HAS), ("a", DESC)),),
        C.where(filter=f("t", "array_contains")).order_by("a", direction=DESC),
    ),
    "a name written out": (
        (composite(("a", ASC), ("b", DESC), ("__name__", DESC)),),
        C.where(filter=f("a", "==")).order_by("b", direction=DESC),
    ),
    "a name against the order": (
        (composite(("a", ASC), ("__name__", DESC)),),
        C.order_by("a").order_by("__name__", direction=DESC),
    ),
    "names downwards": ((composite(("__name__", DESC)),), C.order_by("__name__", direction=DESC)),
    "a group's composite": (
        (composite(("a", ASC), ("b", ASC), scope="COLLECTION_GROUP"),),
        G.where(filter=f("a", "==")).order_by("b"),
    ),
    "a group's single field": ((override("a", ASC, scope="COLLECTION_GROUP"),), G.where(filter=f("a", "=="))),
    "exempted fields with a composite": (
        (override("a"), override("b"), A_B),
        C.where(filter=f("a", "==")).order_by("b"),
    ),
    "exempted fields, equalities, a composite": (
        (override("a"), A_B),
        C.where(filter=f("a", "==")).where(filter=f("b", "==")),
    ),
    "a field taken out of an exempted map": ((override("m"), override("m.x", ASC)), C.where(filter=f("m.x", "=="))),
    "or, each side its own index": (
        (A_B, composite(("d", ASC), ("b", ASC))),
        C.where(filter=Or([f("a", "=="), f("d", "==")])).order_by("b"),
    ),
}

REFUSED = {
    "equality, order": ((), C.where(filter=f("a", "==")).order_by("b"), [A_B]),
    "equality, range": ((), C.where(filter=f("a", "==")).where(filter=f("b", ">")), [A_B]),
    "in, range": ((), C.where(filter=f("a", "in", [1, 2])).where(filter=f("b", "<")), [A_B]),
    "the index only upwards": ((A_B,), C.where(filter=f("a", "==")).order_by("b", direction=DESC), [A_BDESC]),
    "the index of another order": ((A_B,), C.order_by("b").order_by("a"), [B_A]),
    "an index with a field too many": (
        (composite(("a", ASC), ("b", ASC), ("d", ASC)),),
        C.where(filter=f("a", "==")).order_by("b"),
        [A_B],
    ),
    "another collection's index": (
        ({**A_B, "collectionGroup": "other"},),
        C.where(filter=f("a", "==")).order_by("b"),
        [A_B],
    ),
    "two ranges": ((), C.where(filter=f("b", ">")).where(filter=f("a", ">")), [A_B]),
    "two orders": ((), C.order_by("a").order_by("b", direction=DESC), [A_BDESC]),
    "a member, then an order": (
        (),
        C.where(filter=f("t", "array_contains")).order_by("a", direction=DESC),
        [composite(("t", HAS), ("a", DESC))],
    ),
    "names downwards": ((), C.order_by("__name__", direction=DESC), [composite(("__name__", DESC))]),
    "a name against the order": (
        (),
        C.order_by("a").order_by("__name__", direction=DESC),
        [composite(("a", ASC), ("__name__", DESC))],
    ),
    "an equality, names downwards": (
        (),
        C.where(filter=f("a", "==")).order_by("__name__", direction=DESC),
        [composite(("a", ASC), ("__name__", DESC))],
    ),
    "a group by one field": (
        (),
        G.where(filter=f("a", ">")),
        [
            {
                **override("a"),
                "indexes": [
                    {"order": ASC, "queryScope": "COLLECTION"},
                    {"order": DESC, "queryScope": "COLLECTION"},
                    {"arrayConfig": HAS, "queryScope": "COLLECTION"},
                    {"order": ASC, "queryScope": "COLLECTION_GROUP"},
                ],
            }
        ],
    ),
    "a group with the collection's composite": (
        (A_B,),
        G.where(filter=f("a", "==")).order_by("b"),
        [composite(("a", ASC), ("b", ASC), scope="COLLECTION_GROUP")],
    ),
    "a collection with the group's composite": (
        (composite(("a", ASC), ("b", ASC), scope="COLLECTION_GROUP"),),
        C.where(filter=f("a", "==")).order_by("b"),
        [A_B],
    ),
    "an exempted equality": ((override("a"),), C.where(filter=f("a", "==")), [override("a", ASC)]),
    "an exempted range": ((override("a"),), C.where(filter=f("a", ">")), [override("a", ASC)]),
    "an exempted order": ((override("a", ASC),), C.order_by("a", direction=DESC), [override("a", ASC, DESC)]),
    "an exempted member": ((override("a", ASC),), C.where(filter=f("a", "array_contains")), [override("a", ASC, HAS)]),
    "an equality merged with an exempted one": (
        (override("b"),),
        C.where(filter=f("a", "==")).where(filter=f("b", "==")),
        [A_B],
    ),
    "inside an exempted map": ((override("m"),), C.where(filter=f("m.x", "==")), [override("m.x", ASC)]),
    "every field exempted": ((override("*"),), C.where(filter=f("a", "==")), [override("a", ASC)]),
    "or with a range: the other side is ordered by it": ((), C.where(filter=Or([f("b", ">"), f("a", "==")])), [A_B]),
    "both sides of an or": (
        (),
        C.where(filter=Or([f("a", "=="), f("d", "==")])).order_by("b"),
        [A_B, composite(("d", ASC), ("b", ASC))],
    ),
    "only one side of an or": (
        (A_B,),
        C.where(filter=Or([f("a", "=="), f("d", "==")])).order_by("b"),
        [composite(("d", ASC), ("b", ASC))],
    ),
}


@pytest.mark.parametrize(("entries", "query"), SERVED.values(), ids=SERVED.keys())
def test_a_query_with_its_indexes_is_served(load: Callable[..., Indexes], entries: Any, query: Any) -> None:
    indexes = load(*entries)
    check(indexes, query)
    assert indexes.unused() == []


@pytest.mark.parametrize(("entries", "query", "named"), REFUSED.values(), ids=REFUSED.keys())
def test_a_query_without_its_index_is_refused_by_naming_it(
    load: Callable[..., Indexes], entries: Any, query: Any, named: list[Any]
) -> None:
    indexes = load(*entries)
    with pytest.raises(MissingIndex) as refusal:
        check(indexes, query)
    assert list(objects(str(refusal.value))) == named


@pytest.mark.parametrize(("entries", "query", "named"), REFUSED.values(), ids=REFUSED.keys())
def test_adding_the_named_entry_serves_the_query(
    load: Callable[..., Indexes], entries: Any, query: Any, named: list[Any]
) -> None:
    replaced = {entry["fieldPath"] for entry in named if "fieldPath" in entry}
    check(load(*(entry for entry in entries if entry.get("fieldPath") not in replaced), *named), query)


SUMS = {
    "a sum over everything": ((), C.limit(9), ["a"], []),
    "a sum of the field that is fixed": ((), C.where(filter=f("a", "==")), ["a"], []),
    "a sum of the field in range": ((), C.where(filter=f("a", ">")), ["a"], []),
    "a sum of another field": ((), C.where(filter=f("a", "==")), ["b"], [A_B]),
    "a sum of another field, indexed": ((A_B,), C.where(filter=f("a", "==")), ["b"], []),
    "a sum of another field, indexed downwards": ((A_BDESC,), C.where(filter=f("a", "==")), ["b"], []),
    "a sum of a field not in the index": (
        (A_B,),
        C.where(filter=f("a", "==")),
        ["d"],
        [composite(("a", ASC), ("d", ASC))],
    ),
    "sums of two fields": ((), C.limit(9), ["a", "b"], [A_B]),
    "a sum beside a range": ((), C.where(filter=f("a", ">")), ["b"], [A_B]),
    "a sum of an exempted field": ((override("a"),), C.limit(9), ["a"], [override("a", ASC)]),
    "a sum over a group": ((override("a", ASC, scope="COLLECTION_GROUP"),), G.limit(9), ["a"], []),
}


@pytest.mark.parametrize(("entries", "query", "fields", "missing"), SUMS.values(), ids=SUMS.keys())
def test_what_is_summed_must_be_in_the_index(
    load: Callable[..., Indexes], entries: Any, query: Any, fields: list[str], missing: list[Any]
) -> None:
    if not missing:
        check(load(*entries), query, *fields)
        return
    with pytest.raises(MissingIndex) as refusal:
        check(load(*entries), query, *fields)
    assert list(objects(str(refusal.value))) == missing


def test_an_index_that_served_nothing_is_reported(load: Callable[..., Indexes]) -> None:
    group = override("a", ASC, scope="COLLECTION_GROUP")
    indexes = load(A_B, A_BDESC, group)
    check(indexes, C.where(filter=f("a", "==")).order_by("b"))
    assert indexes.unused() == [A_BDESC, group]
    check(indexes, G.where(filter=f("a", "==")))
    assert indexes.unused() == [A_BDESC]


def test_a_composite_is_not_used_where_merging_single_fields_does(load: Callable[..., Indexes]) -> None:
    indexes = load(A_B)
    check(indexes, C.where(filter=f("a", "==")).where(filter=f("b", "==")))
    assert indexes.unused() == [A_B]


def objects(text: str) -> Iterator[Any]:
    """Yield the JSON objects written in a text."""
    while (start := text.find("{")) >= 0:
        value, length = json.JSONDecoder().raw_decode(text[start:])
        yield value
        text = text[start + length :]
