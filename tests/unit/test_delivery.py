"""A delivery as written down: what is read back is what was written, and nothing else passes for a delivery."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledgermail.errors import InvalidDocument, NewerSchema
from ledgermail.ledger.delivery import (
    DETAIL_CHARS,
    REQUIRED,
    SCHEMA_VERSION,
    TERMINAL,
    UNFINISHED,
    Delivery,
    Failure,
    Stage,
    Status,
    from_document,
    to_document,
)
from tests.samples import LEASE, NOW, a_delivery

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.binary(max_size=5)
    | st.just(NOW),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
FIELDS = sorted(to_document(a_delivery(Status.IN_FLIGHT, events={"open": NOW})) | {"last_error": {}, "stages": {}})


def document(**changes: Any) -> dict[str, Any]:
    return to_document(a_delivery()) | changes


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in document().items() if key != name}


@pytest.mark.parametrize("status", list(Status))
def test_what_is_written_is_read_back(status: Status) -> None:
    delivery = a_delivery(
        status,
        last_error=Failure(category="transient", code="503"),
        stages={"email": Stage(at=NOW, reference="m1")},
        events={"delivered": NOW},
    )
    assert from_document(delivery.id, to_document(delivery)) == delivery


def test_nothing_that_is_unset_is_written_so_that_the_upkeep_sees_only_its_own() -> None:
    assert not [name for status in Status for name, value in to_document(a_delivery(status)).items() if value is None]
    assert all("wake_at" not in to_document(a_delivery(status)) for status in TERMINAL)
    assert all("prune_at" not in to_document(a_delivery(status)) for status in UNFINISHED)


def test_how_long_it_is_owed_is_on_record_while_it_is_unfinished() -> None:
    assert to_document(a_delivery(Status.IN_FLIGHT))["unfinished_since"] == NOW
    assert "unfinished_since" not in to_document(a_delivery(Status.ACCEPTED))


def test_a_field_that_is_not_known_is_passed_over() -> None:
    assert from_document("u1_j1", document(colour="blue")) == from_document("u1_j1", document())


@pytest.mark.parametrize("version", [SCHEMA_VERSION + 1, 99])
def test_a_newer_document_is_not_ours_to_read(version: int) -> None:
    with pytest.raises(NewerSchema):
        from_document("u1_j1", {"schema_version": version})


@pytest.mark.parametrize("version", [None, 0, -1, "1", 0.5, [1], {}])
def test_an_unknown_version_is_named(version: object) -> None:
    with pytest.raises(InvalidDocument, match=r"^schema_version: "):
        from_document("u1_j1", document(schema_version=version))


@pytest.mark.parametrize("name", [*REQUIRED, "status", "guarantee"])
def test_a_missing_field_is_named(name: str) -> None:
    with pytest.raises(InvalidDocument, match=f"^{name}: is missing"):
        from_document("u1_j1", without(name))


@pytest.mark.parametrize("name", [*REQUIRED, "status", "guarantee"])
@pytest.mark.parametrize("value", [None, [], {}, 1.5, b"x"])
def test_a_field_of_another_kind_is_named(name: str, value: object) -> None:
    with pytest.raises(InvalidDocument, match=f"^{name}: "):
        from_document("u1_j1", document(**{name: value}))


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("wake_at", {"wake_at": None}),
        ("wake_at", {"status": "accepted", "settled_at": NOW, "prune_at": NOW}),
        ("settled_at", {"settled_at": NOW}),
        ("prune_at", {"prune_at": NOW}),
        ("lease_expires_at", {"lease_expires_at": NOW}),
        ("lease_expires_at", {"status": "in_flight", "claim_id": "c1"}),
        ("claim_id", {"status": "in_flight", "lease_expires_at": NOW + LEASE}),
        ("due_at", {"due_at": NOW.replace(tzinfo=None)}),
        ("next_attempt_at", {"next_attempt_at": NOW.replace(tzinfo=None)}),
    ],
)
def test_a_document_that_contradicts_itself_is_refused_by_name(name: str, changes: dict[str, object]) -> None:
    with pytest.raises(InvalidDocument, match=f"^{name}: "):
        from_document("u1_j1", document(**changes))


@pytest.mark.parametrize("name", ["due_at", "created_at", "wake_at"])
def test_a_time_without_a_zone_is_refused(name: str) -> None:
    with pytest.raises(InvalidDocument):
        from_document("u1_j1", document(**{name: NOW.replace(tzinfo=None)}))


@given(name=st.sampled_from(FIELDS), value=VALUES)
def test_whatever_a_field_holds_the_document_is_read_or_refused_but_nothing_breaks(name: str, value: object) -> None:
    try:
        delivery = from_document("u1_j1", document(**{name: value}))
    except (InvalidDocument, NewerSchema):
        return
    assert isinstance(delivery, Delivery)
    assert to_document(delivery)["status"] == delivery.status


def test_a_providers_words_are_cut_to_what_support_needs() -> None:
    assert len(Failure(category="rejected", detail="x" * 10_000).detail) == DETAIL_CHARS


def test_a_delivery_names_itself_in_the_log_without_saying_whose_it_is() -> None:
    assert set(a_delivery().log_fields()) == {"delivery_id", "mailing", "run_key", "status", "attempt", "generation"}
