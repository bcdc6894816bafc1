"""The functions as HTTP knows them: which methods, which callers, which bodies; every answer is explicit."""

import json
import logging
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from emulator.inbox import Inbox
from ledgermail.app import App
from ledgermail.app import app as app_of_process
from ledgermail.ledger import ids
from ledgermail.log import log
from ledgermail.web import BODY_BYTES, put_off
from tests.integration.conftest import Ground
from tests.integration.delivering import JOB, owed
from tests.integration.web.conftest import FUNCTIONS, KEY, Call, Queued
from tests.samples import a_user

ONLY_POST = ["scan", "plan", "deliver", "sweep", "prune"]
TAKEN = {**{name: {"POST"} for name in [*ONLY_POST, "events"]}, "status": {"GET"}, "trigger": {"GET", "POST"}}
TAKEN |= {"preferences": {"GET", "HEAD", "POST"}, "console": {"GET", "POST"}}
METHODS = {"GET", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE", "POST"}


# Methods


@pytest.mark.parametrize("function", TAKEN)
def test_a_method_that_a_function_does_not_take_is_405_and_does_nothing(
    function: str, call: Call, ground: Ground, inbox: Inbox, queued: Queued
) -> None:
    ground.user("u1", a_user())
    ground.delivery(owed())
    for method in METHODS - TAKEN[function]:
        body = {"delivery_id": JOB, "job": "scan"}
        answer = call(function, method, f"/?key={KEY}&job=scan", json=body, headers={"X-Ledgermail-Key": KEY})
        assert answer.status_code == 405, method
        assert set(answer.headers["Allow"].split(", ")) == TAKEN[function]
    assert (ground.deliveries()[JOB]["status"], inbox.mails(), queued()) == ("pending", [], [])


def test_every_function_that_main_declares_is_tested_here() -> None:
    assert set(FUNCTIONS) == set(TAKEN)


# Bodies

NOT_OBJECTS = [
    b"{",
    b"not json",
    b"[]",
    b'"text"',
    b"5",
    b"null",
    b"\xff\xfe{",
    b"[" * 90_000,
    b'{"a":' * 15_000,
    b"9" * 5000,
]


@pytest.mark.parametrize("function", [*ONLY_POST, "trigger"])
def test_a_body_that_is_no_json_object_is_400(function: str, call: Call) -> None:
    for body in NOT_OBJECTS:
        answer = call(function, data=body, headers={"X-Ledgermail-Key": KEY})
        assert (answer.status_code, answer.content_type) == (400, "application/json"), body[:9]
        assert answer.json["error"].startswith("the body is not")  # type: ignore[index]


@pytest.mark.parametrize("function", ONLY_POST)
def test_a_body_that_is_too_large_is_413_whether_or_not_it_says_so(function: str, call: Call) -> None:
    large = json.dumps({"delivery_id": "x" * BODY_BYTES}).encode()
    assert call(function, data=large).status_code == 413
    unsaid = {"wsgi.input_terminated": True, "CONTENT_LENGTH": "", "HTTP_TRANSFER_ENCODING": "chunked"}
    assert call(function, data=large, environ_overrides=unsaid).status_code == 413


@pytest.mark.parametrize("content_type", [None, "application/octet-stream", "text/plain", "application/json", "x"])
def test_json_is_read_whatever_its_content_type_says(content_type: str | None, call: Call, ground: Ground) -> None:
    ground.user("u1", a_user())
    ground.delivery(owed())
    answer = call("deliver", data=json.dumps({"delivery_id": JOB, "generation": 0}), content_type=content_type)
    assert (answer.status_code, answer.json) == (200, {"delivery": "accepted"})


@pytest.mark.parametrize("function", ["scan", "sweep", "prune"])
@pytest.mark.parametrize("body", [b"", b" \n", b"{}"])
def test_nothing_asked_is_the_whole_of_it(function: str, body: bytes, call: Call) -> None:
    assert call(function, data=body).status_code == 200


@pytest.mark.parametrize(
    ("function", "body", "named"),
    [
        ("deliver", {}, "delivery_id"),
        ("deliver", {"delivery_id": None}, "delivery_id"),
        ("deliver", {"delivery_id": 5}, "delivery_id"),
        ("deliver", {"delivery_id": ["u1_j1"]}, "delivery_id"),
        ("deliver", {"delivery_id": ""}, "delivery_id"),
        ("deliver", {"delivery_id": "u1_a/b"}, "delivery_id"),
        ("deliver", {"delivery_id": "u1_a/b/c"}, "delivery_id"),
        ("deliver", {"delivery_id": "u1_\ud800"}, "delivery_id"),
        ("deliver", {"delivery_id": "u1_" + "a" * 2000}, "delivery_id"),
        ("scan", {"mailing": 5}, "mailing"),
        ("scan", {"mailing": "nothing\ud800"}, "mailing"),
        ("scan", {"look_back": "yes"}, "look_back"),
        ("sweep", {"shard": "1"}, "shard"),
        ("sweep", {"shard": -1}, "shard"),
        ("sweep", {"shard": True}, "shard"),
        ("sweep", {"shard": 1.0}, "shard"),
        ("prune", {"dry_run": 1}, "dry_run"),
        ("prune", {"shard": None}, "shard"),
        ("prune", {"prune_id": []}, "prune_id"),
        ("prune", {"prune_id": "a/b"}, "prune_id"),
        ("prune", {"at": "yesterday", "delivery_id": JOB}, "at"),
        ("prune", {"at": "2026-08-16T09:30:00", "delivery_id": JOB}, "at"),
        ("prune", {"at": "2026-08-16T09:30:00+00:00"}, "delivery_id"),
        ("prune", {"at": "2026-08-16T09:30:00+00:00", "delivery_id": "a/b"}, "delivery_id"),
        ("trigger", {}, "job"),
        ("trigger", {"job": "deliver"}, "job"),
        ("trigger", {"job": ["scan"]}, "job"),
        ("trigger", {"job": {}}, "job"),
    ],
)
def test_a_field_of_another_kind_is_400_by_name(function: str, body: dict[str, object], named: str, call: Call) -> None:
    answer = call(function, json=body, headers={"X-Ledgermail-Key": KEY})
    assert answer.status_code == 400
    assert answer.json["error"].startswith(f"{named}: ")  # type: ignore[index]


def test_a_shard_far_beyond_the_last_is_nothing_to_do(call: Call) -> None:
    assert call("sweep", json={"shard": 10**30}).status_code == 200


# What a task is told


def test_what_is_wrong_with_a_delivery_for_good_is_answered_so_that_its_task_ends(call: Call, ground: Ground) -> None:
    ground.user("u1", a_user())
    ground.delivery(owed("broken"), status="queued")
    ground.delivery(owed("unknown", mailing="weekly"))
    ground.delivery(owed("changed"), content={"hash": "x", "items": [{"title": b"x"}]})
    for job in ("broken", "unknown", "changed", "missing"):
        assert call("deliver", json={"delivery_id": ids.delivery_id("u1", job)}).status_code == 200


def test_what_is_wrong_with_the_world_is_answered_so_that_the_queue_slows_down(
    call: Call, ground: Ground, app: App
) -> None:
    ground.delivery(owed(), schema_version=2)
    answer = call("deliver", json={"delivery_id": JOB})
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "30")
    app.gates.pause(True)
    app_of_process.cache_clear()
    answer = call("deliver", json={"delivery_id": JOB})
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "60")
    assert answer.json == {"delivery": "held_back"}


@pytest.mark.parametrize(("seconds", "said"), [(0, "1"), (0.2, "1"), (30, "30"), (30.2, "31")])
def test_nobody_is_told_to_come_again_before_there_is_a_point(seconds: float, said: str) -> None:
    assert put_off({}, timedelta(seconds=seconds)).headers["Retry-After"] == said


def test_a_tick_without_time_goes_on_as_a_task_that_knows_where(
    call: Call, app: App, ground: Ground, queued: Queued, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(app.__dict__, "coordinator", replace(app.coordinator, time_box=timedelta()))
    daily = {"active": True, "schedule": "0 7 * * *"}
    reports = {"active": True, "topics": ["a", "b"]}
    ground.user("u1", a_user(mailings={"daily-digest": daily, "shipment-digest": reports}))
    for topic in ("a", "b"):
        ground.db.document(f"reports/{topic}/versions/v1").set({"rows": []})
    assert (call("plan").json or {})["more"]
    bodies: list[dict[str, Any]] = []
    while len(queued()) > len(bodies):
        ((new,),) = [[body for body in queued() if body not in bodies]]
        bodies.append(new)
        call("plan", json={name: value for name, value in new.items() if name != "url"})
    assert [{name: value for name, value in body.items() if name != "url"} for body in bodies] == [
        {"mailing": "daily-digest", "schedule": "0 7 * * *"},
        {"mailing": "daily-digest"},
        {"mailing": "shipment-digest", "topic": "a"},
        {"mailing": "shipment-digest", "topic": "b"},
        {"mailing": "weekly-digest"},
    ]


@pytest.mark.parametrize("wrong", [{"mailing": 7}, {"mailing": "daily-digest", "schedule": 7}])
def test_where_a_tick_goes_on_must_be_text(wrong: dict[str, Any], call: Call) -> None:
    assert call("plan", json=wrong).status_code == 400


def test_a_status_is_json_and_says_by_its_code_whether_the_promise_is_kept(call: Call) -> None:
    """Here nothing has ever been planned, until the first tick."""
    for code in (503, 200):
        answer = call("status", "GET")
        assert (answer.status_code, answer.content_type) == (code, "application/json")
        call("plan")


def test_each_status_is_reported_as_one_event_that_alerts_go_by(
    call: Call, ground: Ground, planned: None, capfd: pytest.CaptureFixture[str]
) -> None:
    def reported(path: str) -> dict[str, Any]:
        call("status", "GET", path)
        (line,) = [line for line in capfd.readouterr().out.splitlines() if "status.reported" in line]
        return dict(json.loads(line))

    well = reported("/")
    assert (well["severity"], well["healthy"], well["problems"], well["identity"]) == ("INFO", True, [], "holds")
    ground.delivery(owed("j1", due_at=datetime.now(UTC) - timedelta(hours=1)))
    ground.db.collection("runs").document("job-alert:x").set({"opened_at": datetime.now(UTC), "intended": 3})
    ill = reported("/")
    assert (ill["severity"], ill["problems"], ill["identity"]) == ("ERROR", ["late"], "unsettled")
    assert ill["oldest_unfinished_seconds"]["job-alert"] == ill["oldest_seconds"] > 3600
    assert ill["reads"] > 10
    assert ill["oldest_unread_match_seconds"] == {}
    assert reported("/?runs=0")["identity"] == "not counted"


@pytest.mark.parametrize("runs", ["", "-1", "1001", "²", "all"])
def test_a_status_of_a_wrong_number_of_runs_is_refused(call: Call, runs: str) -> None:
    answer = call("status", "GET", f"/?runs={runs}")
    assert (answer.status_code, answer.json) == (400, {"error": "runs: must be a whole number from 0 to 1000"})


# What is left behind


def test_nothing_is_left_for_after_the_answer(call: Call, ground: Ground, inbox: Inbox) -> None:
    """Work that outlives its request is frozen with the instance. What stays is what the first call of a library starts."""
    ground.user("u1", a_user())
    for job in ("j1", "j2", "j3"):
        ground.delivery(owed(job))
        inbox.fail_next("unavailable")  # so that a task is made, too
    deliver = [call("deliver", json={"delivery_id": ids.delivery_id("u1", job)}).json for job in ("j1",)]
    before = set(threading.enumerate())
    deliver += [call("deliver", json={"delivery_id": ids.delivery_id("u1", job)}).json for job in ("j2", "j3")]
    call("scan")
    call("sweep")
    assert deliver == [{"delivery": "pending"}] * 3
    assert [t.name for t in set(threading.enumerate()) - before if not t.name.startswith("Thread-")] == []
    assert not [t for t in threading.enumerate() if "ThreadPoolExecutor" in t.name]


def test_no_key_address_name_or_word_of_a_mail_is_ever_logged(
    call: Call, ground: Ground, inbox: Inbox, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    ground.user("u1", a_user(name="Zebulon", email="zeb@example.com"))
    faults = [None, "refuse", "unavailable", "cut", "throttle", "unauthorized"]
    for number, fault in enumerate(faults):
        job = f"j{number}"
        ground.delivery(owed(job))
        if fault:
            inbox.fail_next(fault)
        ground.db.collection("state").document("gate").delete()
        app_of_process.cache_clear()
        call("deliver", json={"delivery_id": ids.delivery_id("u1", job)})
    call("trigger", headers={"X-Ledgermail-Key": "wrong-key"})
    said = caplog.text + "".join(capfd.readouterr())
    assert '"event": "delivery.accepted"' in said
    for secret in ("SG.local", KEY, "wrong-key", "zeb@example.com", "Zebulon", "Data Engineer"):
        assert secret not in said, secret


def test_a_log_line_is_json_that_names_the_delivery_and_the_trace(
    call: Call, ground: Ground, project: str, capfd: pytest.CaptureFixture[str]
) -> None:
    ground.user("u1", a_user())
    ground.delivery(owed())
    call("deliver", json={"delivery_id": JOB}, headers={"X-Cloud-Trace-Context": "abc123/5;o=1"})
    lines = [json.loads(line) for line in capfd.readouterr().out.splitlines() if line.startswith("{")]
    assert [line["event"] for line in lines] == ["delivery.claimed", "delivery.accepted"]
    trace = f"projects/{project}/traces/abc123"
    assert {(line["delivery_id"], line["logging.googleapis.com/trace"]) for line in lines} == {(JOB, trace)}


def test_what_is_logged_after_a_request_is_of_no_trace(call: Call, capfd: pytest.CaptureFixture[str]) -> None:
    call("deliver", json={}, headers={"X-Cloud-Trace-Context": "abc123/5;o=1"})
    capfd.readouterr()
    log("run.opened")
    assert list(json.loads(capfd.readouterr().out)) == ["severity", "message", "event"]
