"""The trigger: whoever knows the key may start a job, by any tool; nobody else learns or starts anything."""

import hmac
from typing import Any

import pytest
from werkzeug.test import TestResponse

from ledgermail.app import app as app_of_process
from tests.integration.web.conftest import KEY, Call, Queued


def trigger(call: Call, method: str = "POST", key: str = KEY, **request: Any) -> TestResponse:
    return call("trigger", method, headers={"X-Ledgermail-Key": key}, **request)


@pytest.mark.parametrize("job", ["scan", "sweep", "prune"])
def test_whoever_knows_the_key_may_start_a_job_by_header_or_by_url(job: str, call: Call, queued: Queued) -> None:
    answers = [
        trigger(call, json={"job": job}),
        trigger(call, "GET", query_string={"job": job}),
        call("trigger", "GET", f"/?key={KEY}&job={job}"),
        call("trigger", "POST", f"/?key={KEY}&job={job}"),
    ]
    assert [(answer.status_code, answer.json) for answer in answers] == [(202, {"started": job})] * 4
    assert {task["url"] for task in queued()} == {f"http://127.0.0.1:8080/{job}"}


KEYS = ["", "wrong", KEY[:-1], KEY + "x", KEY.upper(), "ключ", "\xff\xfe", "\x00", " " + KEY[1:]]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_without_the_key_nothing_is_even_read(key: str, method: str, call: Call, queued: Queued) -> None:
    shown = {"X-Ledgermail-Key": key.encode().decode("latin-1")} if "\x00" not in key else {}
    for answer in (
        call("trigger", method, query_string={"job": "scan"}, headers=shown, data=b"[" * 90_000),
        call("trigger", method, query_string={"job": "scan", "key": key}, data=b"[" * 90_000),
        call("trigger", method, "/?job=scan&key=%ff%ED%A0%80"),
        call("trigger", method, "/?job=scan"),
    ):
        assert (answer.status_code, answer.json) == (403, {"error": "the key is missing or wrong"})
    assert queued() == []


def test_an_empty_key_is_nobodys(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEDGERMAIL_TRIGGER_KEY", "")
    app_of_process.cache_clear()
    for answer in (
        call("trigger", "GET", "/?job=scan&key="),
        trigger(call, key=""),
        call("trigger", "GET", "/?job=scan"),
    ):
        assert answer.status_code == 403


def test_a_key_is_compared_in_a_time_that_tells_nothing(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[bytes, bytes]] = []
    same = hmac.compare_digest

    def compare(shown: bytes, key: bytes) -> bool:
        compared.append((shown, key))
        return same(shown, key)

    monkeypatch.setattr(hmac, "compare_digest", compare)
    trigger(call, key="guess", json={"job": "scan"})
    assert compared == [(b"guess", KEY.encode())]


def test_a_job_whose_task_could_not_be_made_was_not_started(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLOUD_TASKS_EMULATOR_HOST", "127.0.0.1:1")
    assert trigger(call, json={"job": "scan"}).status_code == 503
