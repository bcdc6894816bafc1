"""What the functions really write: only events, fields and severities of the table, and nothing private."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from emulator.inbox import Inbox
from ledgermail.log_table import ENVELOPE, EVENTS
from tests.integration.conftest import Ground
from tests.integration.delivering import owed
from tests.integration.web.conftest import KEY, Call
from tests.samples import a_match, a_user

TABLE = {event.name: event for event in EVENTS}
PRIVATE = ("zeb@example.com", "Zebulon", "Secret Engineer", "SG.local", KEY)


def lines(capfd: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capfd.readouterr().out.splitlines() if line.startswith('{"severity"')]


def test_a_day_of_every_function_writes_what_the_table_says(
    call: Call, ground: Ground, inbox: Inbox, capfd: pytest.CaptureFixture[str]
) -> None:
    now, preference = datetime.now(UTC), {"active": True}
    wanted = {"job-alert": preference, "daily-digest": preference}
    ground.user("u1", a_user(email="zeb@example.com", name="Zebulon", mailings=wanted))
    job = {"title": "Secret Engineer"}
    ground.match("m1", a_match(matched_at=now - timedelta(seconds=30), job=job))
    ground.match("m2", a_match(matched_at=now - timedelta(seconds=30), job_id="", job=job))
    ground.delivery(owed("late", wake_at=now - timedelta(minutes=1)))
    for function in ("scan", "plan", "sweep"):
        call(function)
    call("scan", json={"look_back": True})
    inbox.fail_next("unavailable")
    for delivery_id in [*ground.deliveries(), "u1_nothing"]:
        call("deliver", json={"delivery_id": delivery_id}, headers={"X-Cloud-Trace-Context": "abc/1"})
    call("prune")
    call("status", "GET")
    call("trigger", json={"job": "nothing"}, headers={"X-Ledgermail-Key": KEY})
    found = lines(capfd)
    assert {line["event"] for line in found} >= {"scan.done", "match.invalid", "plan.done", "run.opened", "sweep.done"}
    assert {line["event"] for line in found} >= {
        "delivery.claimed",
        "delivery.accepted",
        "prune.done",
        "status.reported",
    }
    for line in found:
        event = TABLE[line["event"]]
        assert line.keys() <= {*ENVELOPE, *event.fields, *event.counts}, line
        assert line["severity"] in event.severities
        assert not any(private in json.dumps(line) for private in PRIVATE), line
