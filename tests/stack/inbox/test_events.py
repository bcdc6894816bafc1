"""The local SendGrid's events as a receiver gets them: what happens to which mail, and the signature."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from sendgrid.helpers.eventwebhook import EventWebhook

from emulator import inbox
from emulator.inbox import RESEND_KEY, Inbox
from emulator.inbox.events.happening import DROP_REASONS
from emulator.inbox.events.webhook import SIGNATURE, TIMESTAMP
from emulator.inbox.faults import KEEPING, Fault
from tests.stack.inbox.payloads import payload
from tests.stack.receivers import Receiver, says

Event = dict[str, Any]


@pytest.fixture
def receiver(box: Inbox) -> Iterator[Receiver]:
    with Receiver(says("200 OK")) as receiver:
        box.events(f"http://127.0.0.1:{receiver.port}/events")
        yield receiver
        box.events()


def events(receiver: Receiver) -> list[Event]:
    return [event for heard in receiver.heard for event in json.loads(heard.body)]


def send(http: httpx.Client, to: str = "ann@mail.org", delivery_id: str = "u_j") -> None:
    body = payload(delivery_id)
    body["personalizations"][0]["to"][0]["email"] = to
    http.post("/v3/mail/send", json=body)


def told(box: Inbox, receiver: Receiver) -> list[str]:
    box.settled()
    return [event["event"] for event in events(receiver)]


def test_an_accepted_mail_is_processed_and_delivered(box: Inbox, http: httpx.Client, receiver: Receiver) -> None:
    before = int(box.advance(0).timestamp())
    send(http)
    assert told(box, receiver) == ["processed", "delivered"]
    [mail] = box.mails()
    for event in events(receiver):
        assert (event["email"], event["delivery_id"]) == ("ann@mail.org", "u_j")
        assert type(event["timestamp"]) is int
        assert before <= event["timestamp"] <= box.advance(0).timestamp()
        assert event["sg_message_id"].startswith(f"{mail['message_id']}.recvd-")
        assert event["smtp-id"] == "<u_j@example.com>"
    processed, delivered = events(receiver)
    assert processed["sg_event_id"] != delivered["sg_event_id"]
    assert delivered["response"] == "250 OK"


def test_sendgrids_own_helper_verifies_what_is_posted_and_nothing_else(
    box: Inbox, http: httpx.Client, receiver: Receiver
) -> None:
    send(http)
    box.emit("click", box.mails()[0]["id"], url="https://jobs.example/für")
    box.settled()
    verifier = EventWebhook(box.events_key)
    for heard in receiver.heard:
        signed = heard.headers[SIGNATURE], heard.headers[TIMESTAMP]
        assert verifier.verify_signature(heard.body.decode(), *signed)
        assert not verifier.verify_signature(heard.body.decode().strip(), *signed)  # the line break is signed, too
        assert not verifier.verify_signature(heard.body.decode(), signed[0], str(int(signed[1]) + 1))
        assert heard.headers["Content-Type"] == "application/json"


def test_each_server_has_a_key_of_its_own(box: Inbox) -> None:
    other = inbox.start()
    other.stop()
    assert EventWebhook(other.events_key).public_key != EventWebhook(box.events_key).public_key
    assert other.events_key != box.events_key


@pytest.mark.parametrize(
    ("name", "kinds", "says_of_the_last"),
    [
        ("deferred", ["processed", "deferred", "delivered"], {"response": "250 OK"}),
        ("bounce", ["processed", "bounce"], {"type": "bounce", "status": "5.1.1"}),
        ("Blocked+7", ["processed", "bounce"], {"type": "blocked"}),
        ("dropped", ["dropped"], {}),
        ("spamreport", ["processed", "delivered", "spamreport"], {}),
        ("open", ["processed", "delivered", "open"], {}),
        ("click", ["processed", "delivered", "open", "click"], {"url": "https://jobs.example/"}),
        ("unsubscribe", ["processed", "delivered", "unsubscribe"], {}),
        ("silent", [], {}),
        ("bouncer", ["processed", "delivered"], {}),
    ],
)
def test_an_address_decides_what_becomes_of_its_mail(
    box: Inbox, http: httpx.Client, receiver: Receiver, name: str, kinds: list[str], says_of_the_last: Event
) -> None:
    send(http, f"{name}@mail.org")
    assert told(box, receiver) == kinds
    assert says_of_the_last.items() <= ([*events(receiver), {}][len(kinds) - 1]).items()
    assert [event["body"] for event in box.happened(box.mails()[0]["id"])] == events(receiver)


def test_what_is_dropped_says_why(box: Inbox, http: httpx.Client, receiver: Receiver) -> None:
    box.events(f"http://127.0.0.1:{receiver.port}/", rates={"dropped": 1.0})
    for number in range(40):
        send(http, delivery_id=f"d{number}")
    box.settled()
    assert {event["reason"] for event in events(receiver)} == set(DROP_REASONS)


def test_rates_decide_for_everybody_else_and_the_same_seed_decides_the_same(
    box: Inbox, http: httpx.Client, receiver: Receiver
) -> None:
    drawn = []
    for _ in range(2):
        box.clear()
        receiver.heard.clear()
        box.events(f"http://127.0.0.1:{receiver.port}/", rates={"bounce": 0.5, "silent": 0.2}, seed=3)
        for number in range(30):
            send(http, delivery_id=f"d{number}")
        box.settled()
        drawn.append({event["delivery_id"]: event["event"] for event in events(receiver)})
    assert drawn[0] == drawn[1]
    assert set(drawn[0].values()) == {"bounce", "delivered"}
    assert len(drawn[0]) < 30


@pytest.mark.parametrize("fault", Fault)
def test_a_mail_that_was_kept_is_told_of_though_its_sender_was_told_otherwise(
    box: Inbox, http: httpx.Client, receiver: Receiver, fault: Fault
) -> None:
    box.faults(hang_seconds=0)
    box.fail_next(fault)
    try:
        send(http)
    except httpx.TransportError:
        assert fault in (Fault.CUT, Fault.RESET)
    assert told(box, receiver) == (["processed", "delivered"] if fault in KEEPING else [])


def test_every_recipient_has_events_a_blind_copy_too(box: Inbox, http: httpx.Client, receiver: Receiver) -> None:
    body = payload()
    body["personalizations"][0]["bcc"] = [{"email": "bounce@archive.example"}]
    http.post("/v3/mail/send", json=body)
    box.settled()
    assert [(event["email"], event["event"]) for event in events(receiver)] == [
        ("ann@mail.org", "processed"),
        ("ann@mail.org", "delivered"),
        ("bounce@archive.example", "processed"),
        ("bounce@archive.example", "bounce"),
    ]


def test_a_mail_that_another_provider_took_has_none(box: Inbox, receiver: Receiver) -> None:
    mail = {"from": "a@example.com", "to": "b@mail.org", "subject": "s", "text": "t"}
    headers = {"Authorization": f"Bearer {RESEND_KEY}"}
    httpx.post(f"{box.resend_url}/emails", json=mail, headers=headers, trust_env=False).raise_for_status()
    assert told(box, receiver) == []


def test_an_event_can_be_ordered_and_said_otherwise(box: Inbox, http: httpx.Client, receiver: Receiver) -> None:
    send(http, "silent@mail.org")
    mail_id = box.mails()[0]["id"]
    first = box.emit("bounce", mail_id)
    second = box.emit("bounce", mail_id, type="blocked", timestamp=5)
    strange = box.emit("account_status_change", type="compliance_suspend")
    box.settled()
    assert events(receiver) == [first, second, strange]
    assert (first["type"], second["type"], second["timestamp"]) == ("bounce", "blocked", 5)
    assert first["delivery_id"] == "u_j"
    assert first["sg_event_id"] != second["sg_event_id"]
    assert "delivery_id" not in strange


def test_without_an_address_nothing_happens(box: Inbox, http: httpx.Client) -> None:
    box.events()
    send(http)
    box.settled()
    assert box.happened(box.mails()[0]["id"]) == []
    with pytest.raises(httpx.HTTPStatusError):
        box.emit("open", box.mails()[0]["id"])


def test_a_server_can_be_started_with_the_address() -> None:
    with Receiver(says("200 OK")) as receiver:
        own = inbox.start(events_url=f"http://127.0.0.1:{receiver.port}/events")
        headers = {"Authorization": f"Bearer {inbox.DEFAULT_KEY}"}
        httpx.post(f"{own.url}/v3/mail/send", json=payload(), headers=headers, trust_env=False)
        own.settled()
        own.stop()
    assert [event["event"] for event in events(receiver)] == ["processed", "delivered"]
    assert receiver.heard[0].path == "/events"
