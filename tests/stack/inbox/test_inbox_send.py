"""The send address over the wire, with the real sendgrid library and with httpx."""

import json

import httpx
import pytest
from python_http_client.exceptions import BadRequestsError, ForbiddenError, UnauthorizedError  # type: ignore[import-untyped]
from sendgrid import SendGridAPIClient

from emulator import inbox
from emulator.inbox import Inbox
from tests.stack.inbox.payloads import mail, payload

SEND = "/v3/mail/send"
JSON = {"Content-Type": "application/json"}


def test_the_real_client_is_answered_202_with_a_message_id_and_no_body(box: Inbox) -> None:
    answer = SendGridAPIClient(inbox.DEFAULT_KEY, host=box.url).send(mail("u_j"))
    [kept] = box.mails()
    assert (answer.status_code, answer.body) == (202, b"")
    assert answer.headers["X-Message-Id"] == kept["message_id"]


def test_an_accepted_mail_is_kept_as_it_was_sent(box: Inbox, http: httpx.Client) -> None:
    sent = payload("u_j", subject="Привет, Zoë 🎉")
    assert http.post(SEND, json=sent).status_code == 202
    [listed] = box.mails(delivery_id="u_j")
    kept = box.mail(listed["id"])
    assert kept.pop("raw") == sent
    assert kept == listed
    assert (kept["subject"], kept["text"], kept["html"]) == ("Привет, Zoë 🎉", "text", "<p>html</p>")
    assert kept["from"] == {"email": "jobs@example.com", "name": "Jobs"}
    assert kept["to"] == [{"email": "ann@mail.org", "name": "Ann"}]
    assert kept["headers"] == {"Message-ID": "<u_j@example.com>"}
    assert (kept["custom_args"], kept["delivery_id"]) == ({"delivery_id": "u_j"}, "u_j")
    assert (kept["number"], kept["copy"]) == (1, 1)


def test_mails_are_listed_newest_first_and_by_recipient_or_delivery(box: Inbox, http: httpx.Client) -> None:
    for delivery_id in ("a", "b", "a"):
        http.post(SEND, json=payload(delivery_id))
    assert [kept["delivery_id"] for kept in box.mails()] == ["a", "b", "a"]
    assert [kept["copy"] for kept in box.mails(delivery_id="a")] == [2, 1]
    assert len(box.mails(to="ANN@mail.org")) == 3
    assert box.mails(to="bob@mail.org") == []


@pytest.mark.parametrize("key", ["", "SG.wrong", "Basic SG.local"])
def test_a_wrong_key_is_401(box: Inbox, key: str) -> None:
    with pytest.raises(UnauthorizedError) as caught:
        SendGridAPIClient(key, host=box.url).send(mail())
    assert caught.value.to_dict["errors"][0]["message"].startswith("The provided authorization grant is invalid")
    assert box.mails() == []


def test_no_key_is_401(box: Inbox) -> None:
    assert httpx.post(box.url + SEND, json=payload(), trust_env=False).status_code == 401


def test_an_unverified_sender_is_403(box: Inbox) -> None:
    message = mail()
    message.from_email = "jobs@else.org"
    with pytest.raises(ForbiddenError, match="403"):
        SendGridAPIClient(inbox.DEFAULT_KEY, host=box.url).send(message)
    assert box.mails() == []


def test_a_broken_rule_is_400_in_the_services_shape(box: Inbox) -> None:
    message = mail()
    message.add_cc("ANN@mail.org")
    with pytest.raises(BadRequestsError) as caught:
        SendGridAPIClient(inbox.DEFAULT_KEY, host=box.url).send(message)
    [error] = caught.value.to_dict["errors"]
    assert error.keys() == {"message", "field", "help"}
    assert error["field"] == "personalizations.0"
    assert "[ANN@mail.org] in the personalizations.0.cc field" in error["message"]
    assert box.mails() == []


@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"custom_args": {"a": 1}}'])
def test_what_cannot_be_decoded_is_a_400_without_a_field(http: httpx.Client, data: bytes) -> None:
    answer = http.post(SEND, content=data, headers=JSON)
    assert answer.status_code == 400
    assert answer.json() == {"errors": [{"message": "Bad Request", "field": None, "help": None}]}


def test_lone_surrogates_arrive_as_replacement_characters(box: Inbox, http: httpx.Client) -> None:
    sent = json.dumps(payload(subject="a\ud800b \U0001f389")).encode()
    assert http.post(SEND, content=sent, headers=JSON).status_code == 202
    assert box.mails()[0]["subject"] == "a\ufffdb \U0001f389"
    assert http.get("/").status_code == 200


def test_another_content_type_is_415(http: httpx.Client) -> None:
    answer = http.post(SEND, content=json.dumps(payload()), headers={"Content-Type": "text/plain"})
    assert answer.status_code == 415
    assert answer.json()["errors"][0]["message"] == "Content-Type should be application/json."


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "PATCH", "DELETE"])
def test_another_method_is_405(http: httpx.Client, method: str) -> None:
    assert http.request(method, SEND).status_code == 405


def test_more_than_30_megabytes_are_413_in_html(box: Inbox, http: httpx.Client) -> None:
    sent = payload(html="x" * 30 * 1024 * 1024)
    answer = http.post(SEND, json=sent)
    assert answer.status_code == 413
    assert answer.headers["Content-Type"].startswith("text/html")
    assert "413 Request Entity Too Large" in answer.text
    assert box.mails() == []


def test_sandbox_mode_is_200_and_keeps_nothing(box: Inbox, http: httpx.Client) -> None:
    sent = {**payload(), "mail_settings": {"sandbox_mode": {"enable": True}}}
    assert http.post(SEND, json=sent).status_code == 200
    assert box.mails() == []


def test_key_and_senders_are_arguments() -> None:
    own = inbox.start(key="SG.mine", verified=("jobs@else.org",))
    sender = SendGridAPIClient("SG.mine", host=own.url)
    message = mail()
    message.from_email = "Jobs@Else.org"
    assert sender.send(message).status_code == 202
    with pytest.raises(ForbiddenError):
        sender.send(mail())
    own.stop()
    assert own.server.process.returncode == 0
