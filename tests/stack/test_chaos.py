"""A short chaos: everything is killed, everything fails, and the promise holds. `make chaos` is the long one."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from emulator.process import ROOT


@pytest.mark.timeout(400)  # a loaded machine; it settles in less than a minute where it is alone
def test_nothing_is_lost_and_no_alert_goes_out_twice_while_everything_is_killed(tmp_path: Path) -> None:
    quiet = {name: value for name, value in os.environ.items() if not name.endswith("_EMULATOR_HOST")}
    kept = tmp_path / "kept"
    options = ["--deliveries", "150", "--minutes", "0.3", "--seed", "5", "--keep", str(kept)]
    command = [sys.executable, "-m", "emulator.chaos", *options]
    played = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)
    assert played.returncode == 0, played.stdout + played.stderr
    assert re.search(r"identity: held after each of [1-9]\d* commits", played.stdout)
    assert len((kept / "kills").read_text().splitlines()) >= 5
