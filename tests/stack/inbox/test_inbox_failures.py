"""Every fault as a sender meets it, and what is kept all the same."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from emulator import inbox
from emulator.inbox import Inbox
from emulator.inbox.faults import KEEPING, Fault
from tests.stack.inbox.payloads import payload

SEND = "/v3/mail/send"
PATIENCE = 60  # seconds until a condition that should hold soon fails the test

Outcome = int | type[httpx.TransportError]
MET: dict[Fault, Outcome] = {
    Fault.THROTTLE: 429,
    Fault.UNAVAILABLE: 503,
    Fault.SERVER_ERROR: 500,
    Fault.ERROR_AFTER: 500,
    Fault.BAD_GATEWAY: 502,
    Fault.UNAUTHORIZED: 401,
    Fault.REFUSE: 400,
    Fault.HANG: 504,
    Fault.HANG_AFTER: 202,
    Fault.CUT: httpx.RemoteProtocolError,
    Fault.RESET: httpx.ReadError,
}


def outcome(http: httpx.Client, delivery_id: str = "u_j") -> Outcome:
    try:
        return http.post(SEND, json=payload(delivery_id)).status_code
    except httpx.TransportError as error:
        return type(error)


def wait_until(condition: Callable[[], bool]) -> None:
    deadline, pause = time.monotonic() + PATIENCE, threading.Event()
    while not condition():
        assert time.monotonic() < deadline, "the condition never held"
        pause.wait(0.02)


def test_every_fault_is_tested() -> None:
    assert set(MET) == set(Fault)


@pytest.mark.parametrize("fault", Fault)
def test_a_fault_is_met_once_and_keeps_the_mail_only_where_it_says_so(
    box: Inbox, http: httpx.Client, fault: Fault
) -> None:
    box.faults(hang_seconds=0)
    box.fail_next(fault)
    assert outcome(http) == MET[fault]
    assert len(box.mails()) == (fault in KEEPING)
    assert outcome(http) == 202
    stats = box.stats()
    assert stats["by_fault"] == {fault: 1}
    assert stats["duplicates"] == (fault in KEEPING)
    answered = str(MET[fault]) if isinstance(MET[fault], int) else "none"
    assert stats["by_status"] == Counter([answered, "202"])


def test_a_throttled_sender_is_told_when_to_come_back(box: Inbox, http: httpx.Client) -> None:
    box.faults(retry_after=7)
    box.fail_next("throttle")
    before = int(box.advance(0).timestamp())
    answer = http.post(SEND, json=payload())
    assert answer.json() == {"errors": [{"message": "too many requests", "field": None, "help": None}]}
    assert answer.headers["X-RateLimit-Remaining"] == "0"
    assert int(answer.headers["X-RateLimit-Limit"]) > 0
    assert before + 7 <= int(answer.headers["X-RateLimit-Reset"]) <= box.advance(0).timestamp() + 7
    assert answer.headers["Retry-After"] == "7"


def test_the_rate_limit_resets_by_the_servers_own_clock_and_retry_after_is_optional(
    box: Inbox, http: httpx.Client
) -> None:
    box.fail_next("throttle")
    tomorrow = int(box.advance(86400).timestamp())
    answer = http.post(SEND, json=payload())
    assert int(answer.headers["X-RateLimit-Reset"]) >= tomorrow
    assert "Retry-After" not in answer.headers


def test_a_bad_gateway_has_no_body(box: Inbox, http: httpx.Client) -> None:
    box.fail_next("bad_gateway")
    assert http.post(SEND, json=payload()).content == b""


@pytest.mark.parametrize(("fault", "late"), [("hang", 504), ("hang_after", 202)])
def test_a_hang_outlasts_the_sender_and_ends_when_the_faults_do(
    box: Inbox, http: httpx.Client, fault: str, late: int
) -> None:
    box.faults(hang_seconds=3600)
    box.fail_next(fault, times=2)
    with pytest.raises(httpx.ReadTimeout):
        http.post(SEND, json=payload(), timeout=0.1)
    with ThreadPoolExecutor(1) as pool:
        patient = pool.submit(outcome, http)
        wait_until(lambda: box.stats()["hanging"] == 2)
        httpx.delete(f"{box.url}/faults", trust_env=False).raise_for_status()
        assert patient.result(PATIENCE) == late
    wait_until(lambda: box.stats()["hanging"] == 0)
    assert len(box.mails()) == (2 if fault == "hang_after" else 0)


def test_the_server_stops_while_a_send_hangs() -> None:
    own = inbox.start()
    own.faults(hang_seconds=3600)
    own.fail_next("hang")
    with httpx.Client(base_url=own.url, headers={"Authorization": "Bearer SG.local"}, trust_env=False) as http:
        with pytest.raises(httpx.ReadTimeout):
            http.post(SEND, json=payload(), timeout=0.1)
        wait_until(lambda: own.stats()["hanging"] == 1)
        own.stop()
    assert own.server.process.returncode == 0


def test_faults_do_not_depend_on_the_order_of_requests(box: Inbox, http: httpx.Client) -> None:
    rates = {"unavailable": 0.2, "throttle": 0.2, "cut": 0.1}
    ids = [f"d{number}" for number in range(40)]
    box.faults(rates, seed=7)
    one_by_one = {delivery_id: outcome(http, delivery_id) for delivery_id in ids}
    box.faults(rates, seed=7)
    with ThreadPoolExecutor(4) as pool:
        backwards = dict(zip(reversed(ids), pool.map(lambda i: outcome(http, i), reversed(ids)), strict=True))
    assert backwards == one_by_one
    assert len(set(one_by_one.values())) == 4


def test_a_message_without_a_delivery_id_is_known_by_its_content(box: Inbox, http: httpx.Client) -> None:
    box.faults({"unavailable": 1.0}, only_first=1)
    first, second = payload(subject="one"), payload(subject="two")
    for body in (first, second):
        del body["custom_args"]
    statuses = [http.post(SEND, json=body).status_code for body in (first, first, second, second)]
    assert statuses == [503, 202, 503, 202]


def test_a_refused_request_does_not_use_up_a_fault(box: Inbox, http: httpx.Client) -> None:
    box.fail_next("unavailable")
    assert http.post(SEND, json={}).status_code == 400
    assert outcome(http) == 503


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/faults", {"rates": {"explode": 1}}),
        ("PUT", "/faults", []),
        ("POST", "/faults/next", {"fault": "explode"}),
        ("POST", "/faults/next", {"fault": "cut", "times": 0}),
        ("POST", "/faults/next", {"fault": ["cut"]}),
        ("POST", "/clock", {"advance_seconds": -1}),
        ("POST", "/clock", {}),
    ],
)
def test_a_control_that_cannot_be_read_is_refused_with_a_reason(
    http: httpx.Client, method: str, path: str, body: object
) -> None:
    answer = http.request(method, path, json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]
