"""A line of the log: one JSON object, with its trace, and without the address that an error's words may quote."""

import json
from typing import Any

import pytest

from ledgermail import log as module
from ledgermail.ledger.delivery import Status
from ledgermail.log import MASK, log, masked, trace


def written(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    (line,) = capsys.readouterr().out.splitlines()
    return dict(json.loads(line))


def test_a_line_has_its_severity_its_name_and_its_fields(capsys: pytest.CaptureFixture[str]) -> None:
    log("run.opened", severity="WARNING", run_key="a:b", intended=3, status=Status.PENDING, due=None)
    assert written(capsys) == {
        **{"severity": "WARNING", "message": "run.opened", "event": "run.opened"},
        **{"run_key": "a:b", "intended": 3, "status": "pending", "due": None},
    }


def test_a_line_within_a_request_names_its_trace_as_cloud_logging_does(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_project", "p1")
    token = trace.set("abc")
    try:
        log("run.opened")
    finally:
        trace.reset(token)
    assert written(capsys)["logging.googleapis.com/trace"] == "projects/p1/traces/abc"


@pytest.mark.parametrize(
    ("said", "logged"),
    [
        ("403 The address ada@example.com is not verified", f"403 The address {MASK} is not verified"),
        ("<ada@example.com>", f"<{MASK}>"),
        ('to: "Zoë@exämple.org", cc=b@c.de.', f'to: "{MASK}", cc={MASK}'),
        ("mailto:a+b@c.d?x", f"mailto:{MASK}"),
        ("line one\nada@example.com", f"line one\n{MASK}"),
        ("back\\\\slash", "back\\\\slash"),
        ("u1%40example.com_j1", "u1%40example.com_j1"),
        ("@", "@"),
        ("", ""),
    ],
)
def test_what_looks_like_an_address_is_masked_wherever_it_is(
    said: str, logged: str, capsys: pytest.CaptureFixture[str]
) -> None:
    log("request.failed", error=said, counts={"a": [said]})
    line = written(capsys)
    assert (line["error"], line["counts"]) == (logged, {"a": [logged]})


@pytest.mark.parametrize("value", [None, 5, 2.5, True, Status.EMPTY, [], {}])
def test_what_is_no_text_stays_as_it_is(value: object) -> None:
    assert masked(value) == value
