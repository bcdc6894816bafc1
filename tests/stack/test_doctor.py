"""The doctor on the whole local cloud, called as an operator calls him."""

import os
import subprocess
import sys

from emulator import cloud
from emulator.process import ROOT


def test_a_local_cloud_is_well() -> None:
    with cloud.start() as running:
        environment = {**os.environ, **running.environment, "PYTHONPATH": str(ROOT / "functions")}
        called = [sys.executable, "-m", "ledgermail.cli", "doctor"]
        ended = subprocess.run(called, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert {line.split()[0] for line in ended.stdout.splitlines()} == {"ok"}
