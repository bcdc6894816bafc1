"""Names, ids and field paths: what is taken apart, and what is refused."""

import pytest
from google.cloud.firestore_v1.field_path import FieldPath
from hypothesis import given
from hypothesis import strategies as st

from emulator.firestore.paths import document_name, field_path, is_reserved, name_order, parent_database
from emulator.firestore.refusals import Refused
from tests.unit.firestore.firestore_messages import DATABASE, ROOT


def test_a_name_is_taken_apart() -> None:
    name = document_name(f"{ROOT}/users/u1/matches/m1")
    assert (name.database, name.collection_id, name.id) == (DATABASE, "matches", "m1")
    assert name.collection == f"{ROOT}/users/u1/matches"


@pytest.mark.parametrize(
    "id_", ["a", "a b", "x\n", "é" * 750, "a" * 1500, "__", "____", "__x", "x__", "__id7__", "__id-7__", "...", "~"]
)
def test_an_id_that_production_takes_is_taken(id_: str) -> None:
    assert document_name(f"{ROOT}/c/{id_}").id == id_


@pytest.mark.parametrize("id_", ["", ".", "..", "__x__", "__id__", "__a\nb__", "a" * 1501, "é" * 751])
def test_an_id_that_production_refuses_is_refused(id_: str) -> None:
    with pytest.raises(Refused):
        document_name(f"{ROOT}/c/{id_}")
    with pytest.raises(Refused):
        document_name(f"{ROOT}/{id_}/d")


@pytest.mark.parametrize(
    "name",
    [
        *("", "foo", "c/d", DATABASE, ROOT, f"{ROOT}/", f"{ROOT}/c", f"{ROOT}/c/d/", f"{ROOT}//d", f"{ROOT}x/c/d"),
        *(ROOT + "/c/d" * 101, "projects//databases/d/documents/a/b", "projects/p/databases/d/docs/a/b"),
    ],
)
def test_what_names_no_document_is_refused(name: str) -> None:
    with pytest.raises(Refused):
        document_name(name)


def test_a_document_may_lie_a_hundred_levels_deep() -> None:
    assert document_name(ROOT + "/c/d" * 100).id == "d"


def test_a_parent_is_a_document_or_the_root() -> None:
    assert parent_database(ROOT) == parent_database(f"{ROOT}/c/d") == DATABASE
    for wrong in (DATABASE, f"{ROOT}/c"):
        with pytest.raises(Refused):
            parent_database(wrong)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("a", ("a",)),
        ("a.b_1._c", ("a", "b_1", "_c")),
        ("`a.b`.c", ("a.b", "c")),
        (r"`a\`b\\c`", ("a`b\\c",)),
        ("__name__", ("__name__",)),
    ],
)
def test_a_field_path_is_taken_apart(text: str, path: tuple[str, ...]) -> None:
    assert field_path(text) == path


@pytest.mark.parametrize(
    "text", ["", ".", "a.", ".a", "a..b", "a b", "1a", "a-b", "`a", "`a`b", "``", "__x__", "a.__x__"]
)
def test_a_malformed_field_path_is_refused(text: str) -> None:
    with pytest.raises(Refused):
        field_path(text)


NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(lambda name: not is_reserved(name))


@given(st.lists(NAMES, min_size=1, max_size=3))
def test_what_the_client_writes_for_any_names_is_read_as_those_names(names: list[str]) -> None:
    assert field_path(FieldPath(*names).to_api_repr()) == tuple(names)


def test_numeric_ids_come_first_and_by_number() -> None:
    ids = ["__id-5__", "__id0__", "__id9__", "__id10__", "!", "0", "__a", "a"]
    names = [f"{ROOT}/c/{id_}" for id_ in ids]
    names.reverse()
    assert [name.rpartition("/")[2] for name in sorted(names, key=name_order)] == ids
