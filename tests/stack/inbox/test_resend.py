"""The local Resend over the wire: what it checks, its idempotency keys, and its failures."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from emulator.inbox import RESEND_KEY, Inbox
from emulator.inbox.faults import KEEPING, Fault

PATIENCE = 60  # seconds until a condition that should hold soon fails the test
DAY = 24 * 60 * 60
MET: dict[Fault, int | type[httpx.TransportError]] = {
    Fault.THROTTLE: 429,
    Fault.UNAVAILABLE: 503,
    Fault.SERVER_ERROR: 500,
    Fault.ERROR_AFTER: 500,
    Fault.BAD_GATEWAY: 502,
    Fault.UNAUTHORIZED: 401,
    Fault.REFUSE: 422,
    Fault.HANG: 504,
    Fault.HANG_AFTER: 200,
    Fault.CUT: httpx.RemoteProtocolError,
    Fault.RESET: httpx.ReadError,
}


@pytest.fixture
def resend(box: Inbox) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {RESEND_KEY}"}
    with httpx.Client(base_url=box.resend_url, headers=headers, timeout=20, trust_env=False) as client:
        yield client


def email(delivery_id: str = "u_j", **more: Any) -> dict[str, Any]:
    return {
        "from": "Jobs <jobs@example.com>",
        "to": ["Ann <ann@mail.org>"],
        "subject": "A job",
        "text": "text",
        "html": "<p>html</p>",
        "headers": {"X-Ledgermail-Delivery": delivery_id, "Message-ID": "<m@example.com>"},
        **more,
    }


def post(resend: httpx.Client, body: dict[str, Any] | None = None, key: str | None = "u_j") -> httpx.Response:
    headers = {} if key is None else {"Idempotency-Key": key}
    return resend.post("/emails", json=email() if body is None else body, headers=headers)


def test_a_mail_is_taken_and_kept_as_it_was_sent(box: Inbox, resend: httpx.Client) -> None:
    files = [{"filename": "rows.csv", "content": "YWJj", "content_type": "text/csv"}]
    tags = [{"name": "mailing", "value": "job-alert"}]
    answer = post(resend, email("u%20_j", bcc="archive@example.com", tags=tags, attachments=files))
    [mail] = box.mails()
    assert answer.json() == {"id": mail["message_id"]}
    assert (mail["provider"], mail["delivery_id"]) == ("resend", "u%20_j")
    assert (mail["from"], mail["to"]) == (
        {"email": "jobs@example.com", "name": "Jobs"},
        [{"email": "ann@mail.org", "name": "Ann"}],
    )
    assert (mail["bcc"], mail["cc"], mail["custom_args"]) == (
        [{"email": "archive@example.com"}],
        [],
        {"mailing": "job-alert"},
    )
    assert (mail["subject"], mail["text"], mail["html"]) == ("A job", "text", "<p>html</p>")
    assert mail["attachments"] == [{"name": "rows.csv", "type": "text/csv", "size": 3}]
    assert "u%20_j" in resend.get(f"/mails/{mail['id']}", params={"view": "headers"}).text


@pytest.mark.parametrize(
    ("change", "status", "name", "word"),
    [
        ({"from": None}, 422, "missing_required_field", "`from`"),
        ({"to": []}, 422, "missing_required_field", "`to`"),
        ({"subject": ""}, 422, "missing_required_field", "`subject`"),
        ({"text": None, "html": None}, 422, "missing_required_field", "`html` or `text`"),
        ({"to": "nobody"}, 422, "validation_error", "`to`"),
        ({"to": ["Ann <ann@mail.org>\r\nBcc: eve@mail.org"]}, 422, "validation_error", "`to`"),
        ({"to": [f"a{n}@mail.org" for n in range(51)]}, 422, "validation_error", "50"),
        ({"reply_to": "nobody"}, 422, "validation_error", "`reply_to`"),
        ({"headers": {"X-A": "1\r\nBcc: eve@mail.org"}}, 422, "validation_error", "`headers`"),
        ({"tags": [{"name": "a", "value": "u%20_j"}]}, 422, "validation_error", "`tags`"),
        ({"attachments": [{"filename": "a", "content": "?"}]}, 422, "validation_error", "base64"),
        ({"from": "jobs@elsewhere.example"}, 403, "validation_error", "elsewhere.example"),
    ],
)
def test_what_cannot_be_sent_is_refused_by_name(
    box: Inbox, resend: httpx.Client, change: dict[str, Any], status: int, name: str, word: str
) -> None:
    answer = post(resend, email(**change))
    assert (answer.status_code, answer.json()["statusCode"], answer.json()["name"]) == (status, status, name)
    assert word in answer.json()["message"]
    assert box.mails() == []
    assert post(resend).status_code == 200  # a refused request does not use up its key


@pytest.mark.parametrize(("given", "name"), [("", "missing_api_key"), ("Bearer re_other", "validation_error")])
def test_a_wrong_key_is_told_so(box: Inbox, resend: httpx.Client, given: str, name: str) -> None:
    answer = resend.post("/emails", json=email(), headers={"Authorization": given})
    assert (answer.status_code, answer.json()["name"]) == (401, name)
    assert box.stats()["by_status"] == {"401": 1}


def test_what_is_no_json_object_is_a_bad_request(resend: httpx.Client) -> None:
    assert resend.post("/emails", content=b"[").json()["statusCode"] == 400
    assert resend.post("/emails", json=[]).json()["statusCode"] == 400


def test_the_same_request_is_answered_the_same_and_mailed_once(box: Inbox, resend: httpx.Client) -> None:
    assert post(resend).json() == post(resend).json()
    assert (box.copies(), box.stats()["requests"]) == ({"u_j": 1}, 2)


def test_the_same_key_with_another_payload_is_a_conflict(box: Inbox, resend: httpx.Client) -> None:
    post(resend)
    answer = post(resend, email(subject="Another"))
    assert (answer.status_code, answer.json()["name"]) == (409, "invalid_idempotent_request")
    assert box.copies() == {"u_j": 1}


def test_without_a_key_every_request_is_a_mail(box: Inbox, resend: httpx.Client) -> None:
    assert post(resend, key=None).json() != post(resend, key=None).json()
    assert box.copies() == {"u_j": 2}


def test_a_key_is_known_for_a_day_by_the_servers_own_clock(box: Inbox, resend: httpx.Client) -> None:
    post(resend)
    box.advance(DAY - 60)
    post(resend)
    assert box.copies() == {"u_j": 1}
    box.advance(60)
    assert post(resend, email(subject="Tomorrow")).status_code == 200
    assert box.copies() == {"u_j": 2}


@pytest.mark.parametrize(("length", "status"), [(0, 400), (1, 200), (256, 200), (257, 400)])
def test_a_key_has_up_to_256_characters(resend: httpx.Client, length: int, status: int) -> None:
    assert post(resend, key="k" * length).status_code == status


def test_every_fault_is_tested() -> None:
    assert set(MET) == set(Fault)


@pytest.mark.parametrize("fault", Fault)
def test_a_try_that_was_kept_is_not_mailed_again_by_the_next_and_one_that_was_not_is(
    box: Inbox, resend: httpx.Client, fault: Fault
) -> None:
    box.faults(hang_seconds=0)
    box.fail_next(fault)
    try:
        met: int | type[httpx.TransportError] = post(resend).status_code
    except httpx.TransportError as error:
        met = type(error)
    assert met == MET[fault]
    assert len(box.mails()) == (fault in KEEPING)
    assert post(resend).json() == {"id": box.mails()[0]["message_id"]}
    assert box.copies() == {"u_j": 1}
    assert box.stats()["by_fault"] == {fault: 1}


def test_a_throttled_sender_is_told_in_seconds_when_to_come_back(box: Inbox, resend: httpx.Client) -> None:
    box.faults(reset_after=7)
    box.fail_next("throttle")
    answer = post(resend)
    assert answer.json()["name"] == "rate_limit_exceeded"
    assert (answer.headers["retry-after"], answer.headers["ratelimit-reset"]) == ("7", "7")


def test_a_request_whose_first_is_still_under_way_is_a_conflict(box: Inbox, resend: httpx.Client) -> None:
    box.faults(hang_seconds=3600)
    box.fail_next("hang")
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(post, resend)
        deadline, pause = time.monotonic() + PATIENCE, threading.Event()
        while box.stats()["hanging"] == 0:
            assert time.monotonic() < deadline, "it never hung"
            pause.wait(0.02)
        answer = post(resend)
        box.faults()
        assert first.result(PATIENCE).status_code == 504
    assert (answer.status_code, answer.json()["name"]) == (409, "concurrent_idempotent_requests")
    assert post(resend).status_code == 200
