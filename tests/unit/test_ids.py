"""Identity: two obligations never share a document, and no id leaves its collection."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledgermail.errors import InvalidId
from ledgermail.ledger import ids

PART = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=300)


@given(PART, PART, PART, PART)
def test_ids_are_equal_only_for_the_same_user_and_job(user: str, job: str, other_user: str, other_job: str) -> None:
    same = ids.delivery_id(user, job) == ids.delivery_id(other_user, other_job)
    assert same == ((user, job) == (other_user, other_job))


def test_an_underscore_in_a_part_never_moves_the_border() -> None:
    assert ids.delivery_id("a_b", "c") != ids.delivery_id("a", "b_c")


@given(PART, PART)
def test_every_id_is_one_that_firestore_takes(user: str, job: str) -> None:
    made = ids.delivery_id(user, job)
    assert re.fullmatch(r"[A-Za-z0-9.%~-]+_[A-Za-z0-9.%~-]+", made)
    assert len(made.encode()) <= 1500


@pytest.mark.parametrize(
    ("job", "encoded"),
    [
        ("https://x.example/j?a=1", "https%3A%2F%2Fx.example%2Fj%3Fa%3D1"),
        ("a/b/c", "a%2Fb%2Fc"),
        ("..", ".."),
        ("__x__", "%5F%5Fx%5F%5F"),
        ("a%2Fb", "a%252Fb"),
        ("a~b", "a%7Eb"),
        ("nul\0", "nul%00"),
        ("🦉", "%F0%9F%A6%89"),
    ],
)
def test_what_would_leave_the_collection_is_encoded(job: str, encoded: str) -> None:
    assert ids.delivery_id("u", job) == f"u_{encoded}"


def test_a_long_part_is_cut_and_hashed_and_its_neighbours_stay_apart() -> None:
    first, second = ids.delivery_id("u", "x" * 1600), ids.delivery_id("u", "x" * 1601)
    assert first != second
    assert len(first) == len("u_") + 100 + len("~") + 64


@pytest.mark.parametrize("job", ["", "\ud800", "a\udfffb", 7, None])
def test_what_cannot_be_an_id_is_refused_by_name(job: object) -> None:
    with pytest.raises(InvalidId, match="job_id"):
        ids.delivery_id("u", job)  # type: ignore[arg-type]


@given(PART)
def test_the_user_is_read_back_out_of_the_id(user: str) -> None:
    read = ids.user_of(ids.delivery_id(user, "j"))
    assert read in (user, None)
    assert (read is None) == ("~" in ids.encode_part(user, "user_id"))


@pytest.mark.parametrize("user", ["a/b", ".", "..", "__x__", "", "x" * 1401, "ä" * 701])
def test_a_user_who_can_have_no_document_is_refused_by_name(user: str) -> None:
    with pytest.raises(InvalidId, match="user_id"):
        ids.user_key(user)


def test_a_run_key_keeps_its_parts_apart() -> None:
    assert ids.run_key("job-alert", "2026-08-16") == "job-alert:2026-08-16"
    assert ids.run_key("a", "b:c") != ids.run_key("a:b", "c")


@pytest.mark.parametrize("user", ["u", "Zoë@x/1", "x" * 2000])
def test_a_task_name_is_a_hash_first_and_new_for_each_generation(user: str) -> None:
    made = ids.delivery_id(user, "j")
    names = [ids.task_name(made, generation) for generation in (0, 1)]
    assert all(re.fullmatch(r"[0-9a-f]{32}-\d+", name) for name in names)
    assert names[0] != names[1]


@given(PART, st.integers(1, 64))
def test_a_shard_is_one_of_them(user: str, shards: int) -> None:
    assert 0 <= ids.shard_of(ids.delivery_id(user, "j"), shards) < shards
