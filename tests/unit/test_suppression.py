"""Who must not be mailed: the strongest and earliest reason, in any order, until it is lifted or the address is another."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledgermail.events.suppression import Cause, Reason, applies, suppressed_by
from tests.samples import NOW, a_user

HERE = "u1@example.com"


def cause(reason: str = Reason.BOUNCE, minute: int = 0, event: str = "e1", address: str = HERE) -> Cause:
    return Cause(reason, NOW + timedelta(minutes=minute), event, address)


def suppressed(*causes: Cause, **user: Any) -> dict[str, Any]:
    """A user's document after these."""
    document = a_user(**user)
    written = suppressed_by(document, causes)
    return document if written is None else document | {"suppressed": written}


def test_a_bounce_is_of_an_address_and_ends_with_it() -> None:
    user = suppressed(cause())
    assert applies(user) == "bounce"
    assert applies(user | {"email": "U1@Example.com"}) == "bounce"
    assert applies(user | {"email": "new@example.com"}) is None


@pytest.mark.parametrize(
    ("email", "told"),
    [("u1@münchen.example", "u1@xn--mnchen-3ya.example"), (" U1@example.com ", "u1@EXAMPLE.com"), ("nobody", "Nobody")],
)
def test_a_bounce_is_of_the_address_however_either_side_writes_it(email: str, told: str) -> None:
    """The provider got it in ASCII, and tells it so."""
    assert applies(suppressed(cause(address=told), email=email)) == "bounce"


@pytest.mark.parametrize("reason", [Reason.SPAM_REPORT, Reason.UNSUBSCRIBE])
def test_a_complaint_is_of_the_person_and_stays_with_another_address(reason: Reason) -> None:
    assert applies(suppressed(cause(reason)) | {"email": "new@example.com"}) == reason


def test_a_bounce_of_an_address_that_the_user_has_left_suppresses_nobody() -> None:
    assert suppressed_by(a_user(), [cause(address="old@example.com")]) is None


def test_a_bounce_of_the_new_address_takes_the_place_of_one_of_the_old() -> None:
    user = suppressed(cause(address="old@example.com"), email="old@example.com") | {"email": HERE}
    assert applies(user) is None
    assert applies(suppressed(cause(minute=5), **user)) == "bounce"


@pytest.mark.parametrize("at", ["2026-08-16T09:30:00Z", 5, None, {}])
def test_what_is_no_time_of_lifting_stands_in_no_events_way(at: object) -> None:
    user = a_user(suppression_lifted={"at": at, "by": "ada"})
    assert suppressed_by(user, [cause()]) == cause().document()


def test_copies_of_what_was_lifted_do_not_suppress_again_and_what_is_new_does() -> None:
    user = a_user(suppression_lifted={"at": NOW + timedelta(minutes=5), "by": "ada"})
    assert suppressed_by(user, [cause(minute=5)]) is None
    assert suppressed_by(user, [cause(minute=6)]) is not None


@pytest.mark.parametrize("known", [True, "yes", {"reason": "legal"}, {"at": NOW}, {"reason": "legal", "address": 7}])
def test_what_somebody_else_has_written_is_never_overwritten(known: Any) -> None:
    user = a_user(suppressed=known)
    assert applies(user) is not None
    assert suppressed_by(user, [cause(Reason.SPAM_REPORT)]) is None


def test_what_stands_there_already_is_not_written_again() -> None:
    assert suppressed_by(suppressed(cause()), [cause(), cause(minute=1)]) is None


@pytest.mark.parametrize("known", [None, False, {}, ""])
def test_nothing_written_is_no_suppression(known: Any) -> None:
    assert applies(a_user(suppressed=known)) is None


CAUSES = st.lists(
    st.builds(
        cause,
        st.sampled_from([str(reason) for reason in Reason]),
        st.integers(0, 3),
        st.sampled_from(["e1", "e2", ""]),
        st.sampled_from([HERE, HERE.upper(), "other@example.com"]),
    ),
    min_size=1,
    max_size=6,
)


@given(CAUSES.flatmap(lambda causes: st.tuples(st.just(causes), st.permutations([*causes, *causes]))))
def test_any_order_and_any_copies_of_causes_suppress_alike(orders: tuple[list[Cause], list[Cause]]) -> None:
    at_once = suppressed(*orders[0]).get("suppressed")
    one_by_one = a_user()
    for one in orders[1]:
        one_by_one = suppressed(one, **one_by_one)
    found = one_by_one.get("suppressed")
    assert as_one_address(found) == as_one_address(at_once)


def as_one_address(known: dict[str, Any] | None) -> dict[str, Any] | None:
    """However it was written."""
    return known and {**known, "address": str(known.get("address")).lower()}
