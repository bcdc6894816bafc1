"""How the telling of events goes wrong: late, twice, in any order, never, refused; by the server's own clock."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event as Signal
from typing import Any

import httpx
import pytest

from emulator import inbox
from emulator.inbox import Inbox
from tests.stack.inbox.payloads import payload
from tests.stack.receivers import Receiver, says

PATIENCE = 60  # seconds until a condition that should hold soon fails the test
Start = Callable[..., None]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with Receiver(says("200 OK")) as receiver:
        yield receiver


@pytest.fixture
def start(box: Inbox, receiver: Receiver) -> Iterator[Start]:
    """Post to the receiver from now on, under this plan."""
    yield lambda **plan: box.events(f"http://127.0.0.1:{receiver.port}/events", **plan)
    box.events()


def batches(receiver: Receiver) -> list[list[dict[str, Any]]]:
    return [json.loads(heard.body) for heard in receiver.heard]


def ids(receiver: Receiver) -> list[str]:
    return [event["sg_event_id"] for batch in batches(receiver) for event in batch]


def send(http: httpx.Client, *delivery_ids: str) -> None:
    for delivery_id in delivery_ids or ("u_j",):
        http.post("/v3/mail/send", json=payload(delivery_id))


def test_copies_come_in_batches_of_their_own(box: Inbox, http: httpx.Client, receiver: Receiver, start: Start) -> None:
    start(copies=3)
    send(http)
    box.settled()
    assert len(set(ids(receiver))) == 2
    assert all(ids(receiver).count(one) == 3 for one in ids(receiver))
    assert all(len({event["event"] for event in batch}) == len(batch) for batch in batches(receiver))
    assert [event["posted"] for event in box.happened(box.mails()[0]["id"])] == [3, 3]


def test_copies_can_have_new_ids(box: Inbox, http: httpx.Client, receiver: Receiver, start: Start) -> None:
    start(copies=3, new_ids=True)
    send(http)
    box.settled()
    assert len(set(ids(receiver))) == 6


def test_what_is_delayed_comes_when_the_clock_reaches_it(
    box: Inbox, http: httpx.Client, receiver: Receiver, start: Start
) -> None:
    start(delay_seconds=3600)
    send(http, *(f"d{number}" for number in range(10)))
    box.settled()
    soon = len(ids(receiver))
    assert soon < 20
    box.advance(3600)
    box.settled()
    assert len(ids(receiver)) == 20
    order = [event["delivery_id"] for batch in batches(receiver) for event in batch]
    assert order != sorted(order, key=lambda one: int(one[1:]))


def test_flush_brings_forward_what_is_delayed(box: Inbox, http: httpx.Client, receiver: Receiver, start: Start) -> None:
    start(delay_seconds=3600)
    send(http)
    box.flush()
    assert len(ids(receiver)) == 2
    assert box.stats()["events"]["waiting"] == 0


def test_shuffled_events_are_all_told_in_another_order(
    box: Inbox, http: httpx.Client, receiver: Receiver, start: Start
) -> None:
    start(delay_seconds=3600, shuffle=True)
    send(http, *(f"d{number}" for number in range(10)))
    happened = [event["body"] for mail in reversed(box.mails()) for event in box.happened(mail["id"])]
    box.flush()
    told = [event for batch in batches(receiver) for event in batch]
    assert told != happened
    assert sorted(map(str, told)) == sorted(map(str, happened))


def test_lost_events_are_never_posted(box: Inbox, http: httpx.Client, receiver: Receiver, start: Start) -> None:
    start(loss=1.0)
    send(http)
    box.flush()
    assert receiver.heard == []
    assert [event["lost"] for event in box.happened(box.mails()[0]["id"])] == [True, True]
    assert box.stats()["events"]["lost"] == 2


def test_some_come_without_custom_arguments(box: Inbox, http: httpx.Client, receiver: Receiver, start: Start) -> None:
    start(bare=0.5)
    send(http, *(f"d{number}" for number in range(20)))
    box.settled()
    assert 0 < sum("delivery_id" in event for batch in batches(receiver) for event in batch) < 40


def test_a_batch_has_a_limit(box: Inbox, http: httpx.Client, receiver: Receiver, start: Start) -> None:
    start(batch=2, delay_seconds=3600)
    send(http, "a", "b", "c")
    box.flush()
    assert [len(batch) for batch in batches(receiver)] == [2, 2, 2]


def test_what_is_refused_comes_again_at_growing_intervals(box: Inbox, http: httpx.Client) -> None:
    answers = iter([says("503 Service Unavailable"), says("500 Oh"), says("204 No Content")])
    with Receiver(lambda write, over: next(answers)(write, over)) as receiver:
        box.events(f"http://127.0.0.1:{receiver.port}/events", retry_seconds=600)
        send(http)
        posts = []
        for seconds in (0, 599, 1, 1199, 1):
            box.advance(seconds)
            box.settled()
            posts.append(len(receiver.heard))
    assert posts[0] == posts[1] == 1
    assert posts[2] == posts[3] == 2
    assert posts[4] == 3
    assert len(set(ids(receiver))) == 2
    stats = box.stats()["events"]
    assert (stats["posts"], stats["failed_posts"], stats["posted"]) == (3, 2, 2)
    assert (stats["last_failure"], stats["waiting"]) == ("500", 0)
    box.events()


def test_what_nobody_takes_is_given_up_after_a_day(box: Inbox, http: httpx.Client) -> None:
    with Receiver(says("503 Service Unavailable")) as receiver:
        box.events(f"http://127.0.0.1:{receiver.port}/events", retry_seconds=80_000)
        send(http)
        box.settled()
        box.advance(80_000)
        box.settled()
    assert len(receiver.heard) == 2
    assert (box.stats()["events"]["given_up"], box.stats()["events"]["waiting"]) == (2, 0)
    box.events()


def test_settled_waits_for_a_post_that_is_under_way(box: Inbox, http: httpx.Client) -> None:
    heard, answer = Signal(), Signal()

    def slow(write: Callable[[bytes], object], over: Signal) -> None:
        heard.set()
        answer.wait(PATIENCE)
        says("200 OK")(write, over)

    with Receiver(slow) as receiver, ThreadPoolExecutor(1) as pool:
        box.events(f"http://127.0.0.1:{receiver.port}/events")
        send(http)
        assert heard.wait(PATIENCE)
        waiting = pool.submit(box.settled)
        assert box.stats()["events"]["posted"] == 0
        assert not waiting.done()
        answer.set()
        waiting.result(PATIENCE)
        assert box.stats()["events"]["posted"] == 2
    box.events()


def test_posts_can_be_under_way_together(box: Inbox, http: httpx.Client) -> None:
    both = Signal()

    def until_both(write: Callable[[bytes], object], over: Signal) -> None:
        if len(hearing.heard) == 2:
            both.set()
        says("200 OK" if both.wait(PATIENCE) else "500 Alone")(write, over)

    with Receiver(until_both) as hearing:
        box.events(f"http://127.0.0.1:{hearing.port}/events", at_once=2, copies=2)
        send(http)
        box.settled()
    assert box.stats()["events"]["failed_posts"] == 0
    box.events()


def test_after_a_clear_nothing_comes_that_waited(
    box: Inbox, http: httpx.Client, receiver: Receiver, start: Start
) -> None:
    start(delay_seconds=3600)
    send(http)
    box.clear()
    box.flush()
    assert receiver.heard == []
    assert box.stats()["events"]["happened"] == 0


def test_the_server_stops_while_a_receiver_does_not_answer() -> None:
    heard = Signal()

    def never(_: Callable[[bytes], object], over: Signal) -> None:
        heard.set()
        over.wait(PATIENCE)

    with Receiver(never) as receiver:
        own = inbox.start(events_url=f"http://127.0.0.1:{receiver.port}/")
        headers = {"Authorization": f"Bearer {inbox.DEFAULT_KEY}"}
        httpx.post(f"{own.url}/v3/mail/send", json=payload(), headers=headers, trust_env=False)
        assert heard.wait(PATIENCE)
        own.stop()
    assert own.server.process.returncode == 0


@pytest.mark.parametrize(
    ("plan", "field"),
    [
        ({"url": "file:///etc/passwd"}, "url"),
        ({"url": 7}, "url"),
        ({"rates": {"explode": 1}}, "rates"),
        ({"rates": {"bounce": 0.6, "dropped": 0.6}}, "rates"),
        ({"copies": 0}, "copies"),
        ({"at_once": 99}, "at_once"),
        ({"retry_seconds": 0}, "retry_seconds"),
        ({"loss": 2}, "loss"),
        ({"explode": True}, "explode"),
    ],
)
def test_a_plan_that_cannot_be_read_is_refused_by_name(http: httpx.Client, plan: dict[str, Any], field: str) -> None:
    answer = http.put("/events", json=plan)
    assert answer.status_code == 400
    assert field in answer.json()["error"]
