"""The command line on the whole local cloud, from an empty one to a mail: import, scan, why."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx

from emulator import cloud
from emulator.process import ROOT
from emulator.up import known_to_tools

PATIENCE = 60.0  # seconds, for a machine that has much to do


def call(environment_file: Path, *arguments: object) -> Any:
    """What a call prints as JSON; it takes its settings from the file alone."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("LEDGERMAIL_")}
    called = [sys.executable, "-m", "ledgermail.cli", "--env-file", environment_file, *arguments, "--json"]
    environment = {**clean, "PYTHONPATH": str(ROOT / "functions")}
    ended = subprocess.run(
        [*map(str, called)], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.stderr == ""
    return json.loads(ended.stdout)


def test_what_is_imported_is_scanned_mailed_and_explained(tmp_path: Path) -> None:
    lines = {
        "users": {"user_id": "184", "email": "ada@example.com", "mailings": {"job-alert": {"active": True}}},
        "matches": {"user_id": "184", "job_id": "acme-1", "job": {"title": "Data Engineer"}},
    }
    settings = tmp_path / "cloud.env"
    with cloud.start(overrides={"LEDGERMAIL_AUDIENCE": ""}) as running, known_to_tools(running.environment, settings):
        assert call(settings, "doctor")["well"]
        for kind, line in lines.items():
            file = tmp_path / f"{kind}.jsonl"
            file.write_text(json.dumps(line))
            assert call(settings, "import", kind, file, "--yes")["written"] == 1
        assert call(settings, "why", "ada@example.com", "acme-1")["why"] == "not_scanned"
        until = time.monotonic() + PATIENCE
        while (answer := call(settings, "why", "184", "acme-1"))["why"] != "delivered" and time.monotonic() < until:
            httpx.post(f"{running.functions.url}/scan", json={}).raise_for_status()
        assert answer["why"] == "delivered"
        assert answer["sentence"].startswith('Yes: "Job alert" about acme-1 for 184 was delivered on ')
        # The provider's times are whole seconds: what it did may stand before our own record of it.
        words = {step["words"] for step in call(settings, "show", "184_acme-1")["history"]}
        assert {"taken by the provider", "delivered"} <= words
