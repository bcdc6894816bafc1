"""The request to SendGrid: whatever names and texts come in, it is one that SendGrid takes."""

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from emulator.inbox.validation import problems, sender_problem
from ledgermail.delivering.addresses import usable_address
from ledgermail.delivering.content import Rendered, one_line, render
from ledgermail.delivering.eligibility import Recipient
from ledgermail.delivering.message import Message, message_id, safe_name
from ledgermail.ledger import ids
from ledgermail.ledger.delivery import Delivery
from ledgermail.providers.message_sendgrid import payload
from tests.samples import LINK, a_delivery, a_mailing, a_user, about, settings

CONTENT = Rendered("A job", "<p>A job</p>", "A job")


def request(
    *,
    address: str = "u1@example.com",
    name: str = "Ada",
    content: Rendered = CONTENT,
    delivery_id: str = "u1_j1",
    **changes: str,
) -> dict[str, Any]:
    """The request as SendGrid reads it."""
    message = Message(delivery_id, "job-alert", Recipient(address, name), content, LINK)
    read: dict[str, Any] = json.loads(json.dumps(payload(message, settings(**changes))))
    return read


def mail_of(delivery: Delivery, **user: object) -> Rendered:
    assert delivery.content is not None
    return render(a_mailing(), delivery, delivery.content, a_user(**user), unsubscribe_url=LINK)


def refusals(body: dict[str, Any]) -> list[object]:
    return [*problems(body), *filter(None, [sender_problem(body, frozenset({"example.com"}))])]  # type: ignore[arg-type]


def test_a_mail_is_from_us_to_one_recipient_text_before_html() -> None:
    body = request(sender_name="Job Alerts", reply_to="help@example.com")
    assert body["from"] == {"email": "alerts@example.com", "name": "Job Alerts"}
    assert body["reply_to"] == {"email": "help@example.com"}
    (envelope,) = body["personalizations"]
    assert envelope["to"] == [{"email": "u1@example.com", "name": "Ada"}]
    assert body["content"] == [{"type": "text/plain", "value": "A job"}, {"type": "text/html", "value": "<p>A job</p>"}]
    assert body["subject"] == "A job"
    assert refusals(body) == []


def test_the_delivery_id_travels_as_text_and_no_address_does() -> None:
    body = request(delivery_id=ids.delivery_id("7", "42"))
    assert body["custom_args"] == {"delivery_id": "7_42", "mailing": "job-alert"}


def test_the_message_id_is_the_same_for_every_attempt_and_another_for_another_delivery() -> None:
    assert request()["headers"]["Message-ID"] == message_id("u1_j1", "alerts@example.com")
    assert request()["headers"] == request()["headers"]
    assert request(delivery_id="u1_j2")["headers"]["Message-ID"] != message_id("u1_j1", "alerts@example.com")
    assert message_id("u1_j1", "alerts@example.com").endswith("@example.com>")


def test_a_mail_names_its_delivery() -> None:
    assert request()["headers"]["X-Ledgermail-Delivery"] == "u1_j1"


def test_a_mailbox_is_told_once_how_to_unsubscribe_by_one_post() -> None:
    names = Counter(name.lower() for name in request()["headers"])
    assert (names["list-unsubscribe"], names["list-unsubscribe-post"]) == (1, 1)
    assert request()["headers"]["List-Unsubscribe"] == f"<{LINK}>"
    assert request()["headers"]["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"


def test_sendgrid_adds_no_link_of_its_own_and_learns_no_token() -> None:
    """Whatever the account's settings are: with its subscription tracking there would be a second List-Unsubscribe."""
    assert request()["tracking_settings"] == {
        "click_tracking": {"enable": False, "enable_text": False},
        "subscription_tracking": {"enable": False},
    }
    assert refusals(request()) == []


@pytest.mark.parametrize("archive", ["U1@Example.COM", "u1@example.com"])
def test_an_archive_that_is_the_recipient_is_not_named_twice(archive: str) -> None:
    body = request(archive=archive)
    assert "bcc" not in body["personalizations"][0]
    assert refusals(body) == []


def test_an_archive_gets_a_blind_copy() -> None:
    body = request(archive="archive@example.com")
    assert body["personalizations"][0]["bcc"] == [{"email": "archive@example.com"}]
    assert refusals(body) == []


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("O'Neil & Söhne", "O'Neil & Söhne"),
        ("Lovelace, Ada", "Lovelace Ada"),
        ('Ada "The Count" Lovelace', "Ada The Count Lovelace"),
        ("Ada; Charles", "Ada Charles"),
        ("Ada\r\nBcc: all@example.com", "Ada Bcc: all@example.com"),
        ("Ada <ada@example.com>", "Ada ada@example.com"),
        ("\x00\x1b[31mAda\u2028", "[31mAda"),
        ("Зоя", "Зоя"),
        (" ,;\n ", None),
        ("", None),
    ],
)
def test_a_name_is_shown_as_one_line_that_sendgrid_takes(name: str, shown: str | None) -> None:
    body = request(name=name, sender_name=name.strip() and name)
    assert [body["personalizations"][0]["to"][0].get("name"), body["from"].get("name")] == [shown, shown]
    assert refusals(body) == []


@examples(max_examples=60, deadline=None)
@given(title=st.text().filter(one_line), name=st.text(), company=st.text())
def test_whatever_the_words_sendgrid_takes_the_request(title: str, name: str, company: str) -> None:
    content = mail_of(about(title=title, company=company), name=name)
    assert refusals(request(name=name, content=content)) == []


@given(name=st.text())
def test_a_safe_name_has_nothing_that_ends_a_name(name: str) -> None:
    assert not set(safe_name(name)) & set(';,<>"\r\n')


@given(delivery_id=st.builds(ids.delivery_id, st.text(min_size=1), st.text(min_size=1)))
def test_any_delivery_id_fits(delivery_id: str) -> None:
    body = request(delivery_id=delivery_id)
    assert body["custom_args"]["delivery_id"] == delivery_id
    assert refusals(body) == []


@pytest.mark.parametrize("address", ["zoe@xn--mnchen-3ya.example", "a+b_c.d@sub.example.com", "x@example.co.uk"])
def test_an_address_that_we_take_sendgrid_takes_too(address: str) -> None:
    assert usable_address(address) == address
    assert refusals(request(address=address)) == []


def test_no_text_of_a_delivery_is_in_what_sendgrid_stores_of_it() -> None:
    stored = json.dumps(request(content=mail_of(a_delivery()))["custom_args"])
    assert "@" not in stored
    assert "Data Engineer" not in stored
