"""Who may be mailed now: asked of the documents as they stand right before the claim."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from email_validator import validate_email
from hypothesis import given
from hypothesis import strategies as st

from ledgermail.delivering.addresses import PLAIN, SPECIAL, usable_address
from ledgermail.delivering.eligibility import Expire, Leave, Recipient, Suppress, Verdict, judge
from ledgermail.ledger.delivery import TERMINAL, Status
from tests.samples import NOW, a_delivery, a_mailing, a_user

MAILING = a_mailing()
ANYTHING = (
    st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text()) | st.dictionaries(st.text(), st.text())
)


def verdict_of(user: Mapping[str, Any] | None) -> Verdict:
    return judge(a_delivery(), user, MAILING, NOW)


def suppressed_as(user: Mapping[str, Any] | None) -> str:
    verdict = verdict_of(user)
    assert isinstance(verdict, Suppress), verdict
    return verdict.failure.category


def test_a_user_who_wants_it_gets_it() -> None:
    assert verdict_of(a_user()) == Recipient("u1@example.com", "Ada")


@pytest.mark.parametrize("name", [None, 7, ["Ada"], {"first": "Ada"}])
def test_what_is_no_name_does_not_hold_the_mail_up(name: object) -> None:
    assert verdict_of(a_user(name=name)) == Recipient("u1@example.com", "")


@pytest.mark.parametrize("status", sorted(TERMINAL))
def test_what_is_finished_is_left_alone_whatever_the_user_wants(status: Status) -> None:
    assert judge(a_delivery(status), None, MAILING, NOW) == Leave("finished")


def test_what_another_holds_is_left_alone() -> None:
    assert judge(a_delivery(Status.IN_FLIGHT), a_user(), MAILING, NOW) == Leave("held")


@pytest.mark.parametrize(
    "changes", [{"due_at": NOW + timedelta(hours=1)}, {"next_attempt_at": NOW + timedelta(hours=1)}]
)
def test_what_is_not_due_is_left_alone(changes: dict[str, Any]) -> None:
    assert judge(a_delivery(**changes), a_user(), MAILING, NOW) == Leave("not_due")


def test_what_is_past_its_last_day_is_never_mailed() -> None:
    late = NOW + MAILING.policy.backoff.deadline
    assert judge(a_delivery(), a_user(), MAILING, late + timedelta(seconds=1)) == Expire()
    assert judge(a_delivery(), a_user(), MAILING, late) == Recipient("u1@example.com", "Ada")
    tried = a_delivery(first_attempt_at=NOW + timedelta(days=1))
    assert judge(tried, a_user(), MAILING, late + timedelta(hours=1)) == Recipient("u1@example.com", "Ada")


def test_a_user_who_is_gone_is_not_mailed() -> None:
    assert suppressed_as(None) == "no_user"


@pytest.mark.parametrize(
    "suppressed", [{"reason": "bounce", "at": NOW}, {"reason": None}, {"at": NOW}, "bounce", True, [1]]
)
def test_a_user_who_is_suppressed_in_whatever_way_it_is_written_is_not_mailed(suppressed: object) -> None:
    assert suppressed_as(a_user(suppressed=suppressed)) == "suppressed"


def test_why_a_user_is_suppressed_is_kept() -> None:
    verdict = verdict_of(a_user(suppressed={"reason": "bounce"}))
    assert isinstance(verdict, Suppress)
    assert verdict.failure.detail == "bounce"


@pytest.mark.parametrize(
    "mailings",
    [
        None,
        {},
        [],
        "job-alert",
        {"job-alert": None},
        {"job-alert": True},
        {"job-alert": {}},
        {"job-alert": {"active": False}},
        {"job-alert": {"active": "yes"}},
        {"job-alert": {"active": 1}},
        {"weekly-digest": {"active": True}},
    ],
)
def test_only_a_plain_yes_to_this_mailing_is_a_yes(mailings: object) -> None:
    assert suppressed_as(a_user(mailings=mailings)) == "unsubscribed"


@pytest.mark.parametrize(
    "email",
    [
        None,
        "",
        5,
        ["u1@example.com"],
        "u1",
        "u1@",
        "@example.com",
        "u1@localhost",
        "u1@nowhere.invalid",
        "u1@example.com, u2@example.com",
        "Ada <u1@example.com>",
        "u1@example.com\r\nBcc: all@example.com",
        "u1@exa mple.com",
        "u1@127.0.0.1",
        "u1@[127.0.0.1]",
        "zoë@example.com",
        "u1@" + "a" * 250 + ".com",
        "u1@-example.com",
        "u1..x@example.com",
        "u1@example.com\x00",
    ],
)
def test_an_address_that_mail_cannot_carry_is_not_tried(email: object) -> None:
    assert suppressed_as(a_user(email=email)) == "no_usable_address"


@pytest.mark.parametrize(
    ("email", "address"),
    [
        ("u1@münchen.example", "u1@xn--mnchen-3ya.example"),
        ("U1@Example.COM", "U1@example.com"),
        ("o'neil+jobs@example.com", "o'neil+jobs@example.com"),
    ],
)
def test_an_address_is_given_as_mail_carries_it(email: str, address: str) -> None:
    assert verdict_of(a_user(email=email)) == Recipient(address, "Ada")


@given(email=st.text() | st.emails() | st.builds(lambda a, b: f"{a}@{b}", st.text(min_size=1), st.text(min_size=1)))
def test_any_text_is_a_usable_address_or_none(email: str) -> None:
    address = usable_address(email)
    assert address is None or (address.isascii() and address.isprintable() and address.count("@") == 1)


@given(email=st.from_regex(PLAIN, fullmatch=True).filter(lambda email: not email.endswith(SPECIAL)))
def test_what_needs_no_second_look_is_an_address_as_it_stands(email: str) -> None:
    assert validate_email(email, check_deliverability=False).ascii_email == email


@given(name=ANYTHING, email=ANYTHING, mailings=ANYTHING, suppressed=ANYTHING)
def test_whatever_a_users_document_holds_there_is_a_verdict(
    name: object, email: object, mailings: object, suppressed: object
) -> None:
    verdict_of({"name": name, "email": email, "mailings": mailings, "suppressed": suppressed})
    verdict_of(a_user(name=name))
