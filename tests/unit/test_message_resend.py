"""The request to Resend: what the mail is, to whom, and under which key."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledgermail.delivering.attachment import Attachment
from ledgermail.delivering.content import Rendered
from ledgermail.ledger import ids
from ledgermail.providers.message_resend import KEY_CHARS, key_of, payload
from tests.samples import LINK, RENDERED, a_message, settings


def request(*, name: str = "Ada", content: Rendered = RENDERED, **changes: str) -> dict[str, Any]:
    """The request as Resend reads it."""
    made = payload(a_message(name=name, content=content), settings(**changes))
    read: dict[str, Any] = json.loads(json.dumps(made))
    return read


def test_a_mail_is_from_us_to_one_recipient_and_names_its_delivery() -> None:
    assert request(sender_name="Job Alerts", reply_to="help@example.com") == {
        "from": "Job Alerts <alerts@example.com>",
        "to": ["u1@example.com"],
        "reply_to": "help@example.com",
        "subject": "A job",
        "html": "<p>A job</p>",
        "text": "A job",
        "headers": {
            "X-Ledgermail-Delivery": "u1_j1",
            "List-Unsubscribe": f"<{LINK}>",
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        },
    }


def test_without_a_name_the_sender_is_the_address() -> None:
    assert request()["from"] == "alerts@example.com"


@given(name=st.text())
def test_whatever_a_recipient_is_called_the_address_is_one(name: str) -> None:
    assert request(name=name)["to"] == ["u1@example.com"]


def test_an_archive_gets_a_blind_copy_unless_it_is_the_recipient() -> None:
    assert request(archive="archive@example.com")["bcc"] == ["archive@example.com"]
    assert "bcc" not in request(archive="U1@Example.com")


def test_a_file_goes_with_it() -> None:
    content = Rendered("A job", "<p>A job</p>", "A job", Attachment("a.csv", b"a,b\r\n", ""))
    assert request(content=content)["attachments"] == [
        {"filename": "a.csv", "content": "YSxiDQo=", "content_type": "text/csv"}
    ]


def test_the_same_delivery_is_the_same_request_at_each_attempt() -> None:
    assert request() == request()


def test_the_key_is_the_delivery_id() -> None:
    assert key_of("u1_j1") == "u1_j1"
    assert key_of("a" * KEY_CHARS) == "a" * KEY_CHARS


@given(delivery_id=st.builds(ids.delivery_id, st.text(min_size=1, max_size=400), st.text(min_size=1, max_size=400)))
def test_any_delivery_has_a_key_that_resend_takes(delivery_id: str) -> None:
    key = key_of(delivery_id)
    assert 1 <= len(key) <= KEY_CHARS
    assert key.isascii()
    assert key.isprintable()


@pytest.mark.parametrize("length", [KEY_CHARS + 1, 600])
def test_two_long_ids_have_two_keys(length: int) -> None:
    assert key_of("a" * length) != key_of("a" * (length - 1) + "b")
