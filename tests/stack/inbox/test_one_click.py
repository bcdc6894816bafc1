"""Unsubscribing by one click, as the server does it for a reader: what it posts, and what it shows."""

from collections.abc import Iterator
from email import message_from_bytes
from email.message import Message

import httpx
import pytest

from emulator.inbox import Inbox
from tests.stack.inbox.payloads import payload
from tests.stack.receivers import Receiver, says

ONE_CLICK = "List-Unsubscribe=One-Click"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver(says("200 OK", "Set-Cookie: a=b\r\n", "You get <b>no more</b>")) as receiver:
        yield receiver


def send(box: Inbox, http: httpx.Client, headers: dict[str, str]) -> str:
    """Send a mail with these headers; its id."""
    body = payload()
    body["headers"] = {**body.get("headers", {}), **headers}
    http.post("/v3/mail/send", json=body).raise_for_status()
    mail_id: str = box.mails()[0]["id"]
    return mail_id


def offer(receiver: Receiver, path: str = "/u?token=t") -> dict[str, str]:
    url = f"http://127.0.0.1:{receiver.port}{path}"
    return {"List-Unsubscribe": f"<mailto:u@example.com>, <{url}>", "List-Unsubscribe-Post": ONE_CLICK}


def form(receiver: Receiver) -> list[Message]:
    """The parts of the one form that was posted."""
    [heard] = receiver.heard
    kind = heard.headers["Content-Type"].encode()
    parts = message_from_bytes(b"Content-Type: " + kind + b"\r\n\r\n" + heard.body).get_payload()
    assert isinstance(parts, list)
    return [part for part in parts if isinstance(part, Message)]


def test_one_click_posts_the_one_field_as_a_form_and_nothing_else(
    box: Inbox, http: httpx.Client, receiver: Receiver
) -> None:
    mail_id = send(box, http, offer(receiver))
    assert box.unsubscribe(mail_id) == (200, "You get <b>no more</b>")
    [heard] = receiver.heard
    assert heard.path == "/u?token=t"
    assert heard.headers["Content-Type"].startswith("multipart/form-data")
    [part] = form(receiver)
    assert part["Content-Disposition"] == 'form-data; name="List-Unsubscribe"'
    assert part.get_payload() == "One-Click"
    assert not {"Cookie", "Authorization"} & set(heard.headers)


def test_a_second_click_brings_no_cookie_back(box: Inbox, http: httpx.Client, receiver: Receiver) -> None:
    mail_id = send(box, http, offer(receiver))
    box.unsubscribe(mail_id)
    box.unsubscribe(mail_id)
    assert [heard.headers.get("Cookie") for heard in receiver.heard] == [None, None]


def test_a_redirect_is_shown_and_not_followed(box: Inbox, http: httpx.Client) -> None:
    with Receiver(says("302 Found", "Location: /elsewhere\r\n")) as receiver:
        assert box.unsubscribe(send(box, http, offer(receiver)))[0] == 302
    assert len(receiver.heard) == 1


def test_no_answer_is_shown_as_none(box: Inbox, http: httpx.Client) -> None:
    with Receiver(lambda *_: None) as receiver:
        status, words = box.unsubscribe(send(box, http, offer(receiver)))
    assert (status, "RemoteProtocolError" in words) == (0, True)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"List-Unsubscribe": "<https://example.com/u>"},
        {"List-Unsubscribe-Post": ONE_CLICK},
        {"List-Unsubscribe": "<mailto:u@example.com>", "List-Unsubscribe-Post": ONE_CLICK},
        {"List-Unsubscribe": "<javascript:alert(1)>", "List-Unsubscribe-Post": ONE_CLICK},
        {"List-Unsubscribe": "https://example.com/u", "List-Unsubscribe-Post": ONE_CLICK},
    ],
)
def test_a_mail_that_does_not_offer_it_has_no_button(box: Inbox, http: httpx.Client, headers: dict[str, str]) -> None:
    mail_id = send(box, http, headers)
    assert "Unsubscribe</button>" not in http.get(f"/mails/{mail_id}").text
    assert http.post(f"/mails/{mail_id}").status_code == 404
    assert http.post(f"/api/mails/{mail_id}/unsubscribe").status_code == 400


def test_the_page_shows_the_answer_as_text(box: Inbox, http: httpx.Client, receiver: Receiver) -> None:
    page = http.post(f"/mails/{send(box, http, offer(receiver))}").text
    assert "Answered with <strong>200</strong>" in page
    assert "You get &lt;b&gt;no more&lt;/b&gt;" in page


def test_the_page_shows_what_happened_to_the_mail(box: Inbox, http: httpx.Client, receiver: Receiver) -> None:
    box.events(f"http://127.0.0.1:{receiver.port}/", copies=2)
    mail_id = send(box, http, {})
    box.emit("bounce", mail_id, reason="<script>alert(1)</script>")
    box.settled()
    page = http.get(f"/mails/{mail_id}").text
    assert page.index("processed") < page.index("delivered") < page.index("bounce")
    assert page.count("posted 2 times") == 3
    assert "&lt;script&gt;" in page
    assert "<script" not in page
    box.events()
