"""What writes make of a document, and which are refused."""

from typing import Any

import pytest
from google.cloud.firestore import GeoPoint
from google.cloud.firestore_v1._helpers import decode_dict
from google.cloud.firestore_v1.vector import Vector
from grpc import StatusCode

from emulator.firestore.clock import Clock
from emulator.firestore.limits import MAX_DOCUMENT_BYTES, document_size
from emulator.firestore.messages import FieldTransform, Message
from emulator.firestore.paths import document_name
from emulator.firestore.refusals import Refused
from emulator.firestore.store import Database
from emulator.firestore.writes import Commit, read_write
from tests.unit.firestore.firestore_messages import DATABASE, ROOT, document_of, value_of, write_of

CLOCK = Clock()
NAN = float("nan")


def written(before: dict[str, Any] | None, *writes: Message) -> Any:
    """Return what the writes, in one commit, make of the document c/d."""
    database, name = Database(DATABASE), document_name(f"{ROOT}/c/d")
    if before is not None:
        database.put({name: document_of("c/d", before)}, CLOCK.now())
    pending = Commit(database, CLOCK.now())
    pending.apply([read_write(write, DATABASE) for write in writes])
    database.put(pending.changes, pending.now)
    document = database.get(name)
    return None if document is None else decode_dict(document.fields, None)


def update(content: dict[str, Any], mask: list[str] | None = None, **transforms: Any) -> Message:
    write = write_of("c/d", content, mask)
    for kind, (field, operand) in transforms.items():
        write.update_transforms.append(transform(kind, field, operand))
    return write


def transform(kind: str, field: str, operand: Any) -> Message:
    message = FieldTransform(field_path=field)
    if kind == "set_to_server_value":
        message.set_to_server_value = operand
    elif isinstance(operand, list):
        getattr(message, kind).values.extend(value_of(item) for item in operand)
        getattr(message, kind).SetInParent()
    else:
        getattr(message, kind).CopyFrom(value_of(operand))
    return message


@pytest.mark.parametrize(
    ("before", "write", "after"),
    [
        ({"a": 1}, update({"b": 2}), {"b": 2}),
        (None, update({"b": 2}), {"b": 2}),
        ({"a": 1}, update({"b": 2, "c": 3}, ["b"]), {"a": 1, "b": 2}),
        ({"a": 1, "b": 2}, update({}, ["b"]), {"a": 1}),
        ({"a": 1}, update({"b": 2}, []), {"a": 1}),
        (None, update({"b": 2}, []), {}),
        ({"m": {"x": 1, "y": 2}}, update({"m": {"x": 3}}, ["m.x"]), {"m": {"x": 3, "y": 2}}),
        ({"m": {"x": 1, "y": 2}}, update({"m": {"x": 3}}, ["m"]), {"m": {"x": 3}}),
        ({"m": {"x": 1}}, update({}, ["m.x"]), {"m": {}}),
        ({"m": 1}, update({"m": {"x": {"y": 2}}}, ["m.x.y"]), {"m": {"x": {"y": 2}}}),
        ({"a": 1}, update({}, ["m.x.y"]), {"a": 1}),
        ({"a.b": 1, "a": {"b": 2}}, update({"a.b": 3}, ["`a.b`"]), {"a.b": 3, "a": {"b": 2}}),
    ],
    ids=str,
)
def test_a_mask_says_what_an_update_touches(before: dict[str, Any], write: Message, after: dict[str, Any]) -> None:
    assert written(before, write) == after


@pytest.mark.parametrize(
    ("held", "kind", "operand", "expected"),
    [
        (1, "increment", 2, 3),
        (1, "increment", 0.5, 1.5),
        ("s", "increment", 2, 2),
        (2**63 - 1, "increment", 1, 2**63 - 1),
        (-(2**63), "increment", -1, -(2**63)),
        (1, "maximum", 2, 2),
        (3, "maximum", 3.0, 3),
        ("s", "maximum", 2, 2),
        (1, "minimum", 2, 1),
        (2, "minimum", 1.5, 1.5),
        ([1, 2], "append_missing_elements", [2.0, 3, 3, None], [1, 2, 3, None]),
        (5, "append_missing_elements", [1], [1]),
        ([1, 2, 1, None], "remove_all_from_array", [1.0, None], [2]),
        (5, "remove_all_from_array", [1], []),
    ],
)
def test_a_transform_computes(held: Any, kind: str, operand: Any, expected: Any) -> None:
    after = written({"f": held}, update({}, [], **{kind: ("f", operand)}))
    assert after == {"f": expected}
    assert after
    assert type(after["f"]) is type(expected)


@pytest.mark.parametrize(("kind", "held", "operand"), [("maximum", NAN, 3), ("maximum", 3, NAN), ("minimum", NAN, 3)])
def test_nan_stays_nan(kind: str, held: float, operand: float) -> None:
    after = written({"f": held}, update({}, [], **{kind: ("f", operand)}))
    assert after
    assert after["f"] != after["f"]


def test_all_server_times_of_a_commit_are_one_and_in_milliseconds() -> None:
    after = written(
        None, update({"a": 1}, None, set_to_server_value=("t", 1)), update({}, [], set_to_server_value=("u.v", 1))
    )
    assert after
    assert after["t"] == after["u"]["v"]
    assert after["t"].microsecond % 1000 == 0


def test_writes_of_one_commit_see_each_other() -> None:
    delete = write_of("c/d", {})
    delete.delete = f"{ROOT}/c/d"
    again = update({"x": 3})
    again.current_document.exists = False
    assert written({"x": 1}, update({"x": 2}), delete, again) == {"x": 3}
    assert written(None, update({"n": 1}), update({}, [], increment=("n", 4))) == {"n": 5}


def nested(depth: int, inmost: Any = 1) -> Any:
    return {"a": nested(depth - 1, inmost)} if depth else inmost


NO_VECTORS: list[dict[str, Any]] = [
    {},
    {"value": "text"},
    {"value": []},
    {"value": [1]},
    {"value": ["text"]},
    {"value": [0.0] * 2049},
    {"value": [1.0], "more": 1},
]


@pytest.mark.parametrize(
    "content",
    [
        {"a": [[1]]},
        {"a": {"b": [[1]]}},
        {"__a__": 1},
        {"m": {"__a__": 1}},
        {"": 1},
        {"f" * 1501: 1},
        {"é" * 751: 1},
        {"a": nested(21)},
        {"a": "x" * 1_048_488},
        *({"a": {"__type__": "__vector__", **rest}} for rest in NO_VECTORS),
        {"a": [{"b": [Vector([1.0])]}, Vector([1.0])]},
    ],
    ids=lambda content: str(content)[:30],
)
def test_content_that_production_refuses_is_refused(content: dict[str, Any]) -> None:
    with pytest.raises(Refused) as refused:
        written(None, update(content))
    assert refused.value.code == StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize(
    "content",
    [
        {"f" * 1500: 1},
        {"a": nested(20)},
        {"a": nested(20, Vector([1.0]))},
        {"a": [{"b": [1]}]},
        {"a.b": 1, "a`b\\": 2},
        {"____": 1, "m": {"____": 2}},
        {"a": Vector([0.0] * 2048)},
    ],
    ids=lambda content: str(content)[:30],
)
def test_content_just_within_the_limits_is_taken(content: dict[str, Any]) -> None:
    assert written(None, update(content)) == content


@pytest.mark.parametrize(
    ("kind", "field", "operand"),
    [
        ("increment", "a", "text"),
        ("increment", "a..b", 1),
        ("set_to_server_value", "a", 0),
        ("increment", "", 1),
        ("increment", ".".join("a" * 21), 1),
        ("append_missing_elements", "a", [GeoPoint(91, 0)]),
        ("append_missing_elements", "a", [{"__b__": 1}]),
        ("append_missing_elements", "a.b", [nested(19)]),
        ("remove_all_from_array", "a", [{"__b__": 1}]),
    ],
)
def test_a_transform_that_production_refuses_is_refused(kind: str, field: str, operand: Any) -> None:
    with pytest.raises(Refused):
        written(None, update({}, [], **{kind: (field, operand)}))


@pytest.mark.parametrize("kind", ["append_missing_elements", "remove_all_from_array"])
def test_an_element_without_a_value_is_refused(kind: str) -> None:
    valueless = FieldTransform(field_path="a")
    getattr(valueless, kind).values.add()
    write = update({}, [])
    write.update_transforms.append(valueless)
    with pytest.raises(Refused, match="type unset"):
        written(None, write)


@pytest.mark.parametrize("mask", [["v.value"], ["v.value.x"], ["v.__type"]])
def test_what_a_vector_is_made_of_cannot_be_taken_from_it(mask: list[str]) -> None:
    assert written({"v": Vector([1.0])}, update({}, mask)) == {"v": Vector([1.0])}


def test_a_field_and_one_inside_it_are_not_both_transformed() -> None:
    with pytest.raises(Refused):
        written(None, update({}, [], increment=("a", 1), maximum=("a.b", 1)))


def test_a_write_of_another_database_is_refused() -> None:
    with pytest.raises(Refused):
        read_write(write_of("c/d", {}), "projects/other/databases/(default)")


def test_the_size_of_a_document_is_the_documented_one() -> None:
    """The example of the docs ("Storage size calculations"): a task in users/jeff/tasks/my_task_id, 147 bytes."""
    task = {"type": "Personal", "done": False, "priority": 1, "description": "Learn Cloud Firestore"}
    assert document_size(document_of("users/jeff/tasks/my_task_id", task)) == 147


@pytest.mark.parametrize("over", [0, 1])
def test_a_document_is_at_most_a_mebibyte(over: int) -> None:
    parts = {"a": "x" * 500_000, "b": ""}
    room = MAX_DOCUMENT_BYTES - document_size(document_of("c/d", parts))
    write = update({**parts, "b": "x" * (room + over)})
    if over:
        with pytest.raises(Refused, match="1,048,577 bytes"):
            written(None, write)
    else:
        assert written(None, write)
