"""The signature of a batch: over the raw bytes, before anybody reads them; what is not signed is 403, and never 500."""

import base64
import json
import time
from typing import Any

import pytest

from ledgermail.app import App
from ledgermail.app import app as app_of_process
from ledgermail.events.signature import AHEAD, SIGNATURE, TIMESTAMP, WINDOW
from tests.integration.web.conftest import Call
from tests.integration.web.events.signing import Signer, an_event

BATCH = json.dumps([an_event(delivery_id="u1_unknown")]).encode()


def status(call: Call, raw: bytes, headers: dict[str, Any]) -> int:
    return call("events", data=raw, headers=headers).status_code


@pytest.mark.parametrize(
    "raw",
    [
        BATCH,
        b" [ ]\r\n",
        b'[\r\n {"event" : "open",\t"timestamp":1}\r\n]',
        '[{"event": "open", "timestamp": 1, "email": "zoë@example.com", "reason": "\N{SNOWMAN} caf\\u00e9"}]'.encode(),
        "\ufeff[]".encode(),
    ],
)
def test_a_body_is_verified_as_it_came_whatever_its_spaces_and_letters(call: Call, signer: Signer, raw: bytes) -> None:
    assert status(call, raw, signer.headers(raw)) in (200, 400)  # a byte order mark is signed, and no JSON
    assert status(call, raw + b" ", signer.headers(raw)) == 403
    assert status(call, raw[:-1], signer.headers(raw)) == 403


def _now() -> int:
    return int(time.time())


@pytest.mark.parametrize(
    "broken",
    [
        {SIGNATURE: ""},
        {TIMESTAMP: ""},
        {SIGNATURE: "!!!"},
        {SIGNATURE: "AAAA"},
        {SIGNATURE: "zoë".encode().decode("latin-1")},
        {SIGNATURE: base64.b64encode(b"0" * 72).decode()},
        {TIMESTAMP: "soon"},
        {TIMESTAMP: "-1"},
        {TIMESTAMP: "9" * 30},
        {TIMESTAMP: "9" * 5000},  # more digits than Python reads
        {TIMESTAMP: "\u0661\u0662".encode().decode("latin-1")},
    ],
)
def test_a_signature_or_time_that_is_none_is_403(call: Call, signer: Signer, broken: dict[str, str]) -> None:
    headers = signer.headers(BATCH)
    assert status(call, BATCH, headers) == 200
    assert status(call, BATCH, headers | broken) == 403
    (name,) = broken
    assert status(call, BATCH, {key: value for key, value in headers.items() if key != name}) == 403


def test_a_body_that_is_no_text_is_403(call: Call, signer: Signer) -> None:
    assert status(call, b"\xff\xfe[]", signer.headers(b"\xff\xfe[]")) == 403


def test_anothers_signature_is_403(call: Call) -> None:
    assert status(call, BATCH, Signer().headers(BATCH)) == 403


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (-WINDOW.total_seconds() + 60, 200),  # what is posted again for days is still taken
        (-WINDOW.total_seconds() - 60, 403),
        (AHEAD.total_seconds() - 60, 200),
        (AHEAD.total_seconds() + 60, 403),
    ],
)
def test_a_recording_is_of_no_use_after_the_window(call: Call, signer: Signer, seconds: float, expected: int) -> None:
    assert status(call, BATCH, signer.headers(BATCH, _now() + int(seconds))) == expected


def test_keys_can_be_changed_without_losing_a_batch(
    call: Call, app: App, signer: Signer, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = Signer()
    monkeypatch.setenv("LEDGERMAIL_EVENTS_KEY", f"{newer.public}, {signer.public}")
    app_of_process.cache_clear()
    assert [status(call, BATCH, key.headers(BATCH)) for key in (newer, signer)] == [200, 200]


def test_without_a_key_nobody_can_post_events(call: Call, signer: Signer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEDGERMAIL_EVENTS_KEY")
    app_of_process.cache_clear()
    assert status(call, BATCH, signer.headers(BATCH)) == 403


@pytest.mark.parametrize("raw", [b"", b"{}", b"null", b"not json", b"[" * 90_000])
def test_a_signed_body_that_is_no_list_is_400(call: Call, signer: Signer, raw: bytes) -> None:
    assert status(call, raw, signer.headers(raw)) == 400


def test_a_batch_of_768_kilobytes_is_taken_and_one_beyond_reason_is_not(call: Call, signer: Signer) -> None:
    large = json.dumps([an_event(delivery_id=None, response="x" * 700)] * 900).encode()
    assert len(large) > 768_000
    assert status(call, large, signer.headers(large)) == 200
    assert status(call, b"[" + b" " * 5_000_000 + b"]", signer.headers(BATCH)) == 413
