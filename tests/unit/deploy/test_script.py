"""The printed script: bash runs it, and it does what apply does."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

from deploy import ROOT, plan
from deploy.apply import apply
from deploy.check import check
from deploy.script import script
from deploy.target import Target
from tests.unit.deploy.conftest import Cloud


def run(target: Target, cloud: Cloud) -> subprocess.CompletedProcess[str]:
    """Run the printed script in the root of the repository."""
    file = cloud.files / "plan.sh"
    file.write_text(script(target))
    return subprocess.run(
        ["/bin/bash", str(file)], cwd=ROOT, env=cloud.environment, capture_output=True, text=True, check=False
    )


def test_the_script_makes_what_apply_makes(cloud: Cloud, target: Target) -> None:
    """Run on nothing, what it made needs no creation any more, and passes the check; run again, it creates nothing."""
    ran = run(target, cloud)
    assert ran.returncode == 0, ran.stderr
    assert check(plan.steps(target), cloud.runner(), lambda _: None) == 0

    cloud.gcloud.calls.clear()
    assert run(target, cloud).returncode == 0
    said: list[str] = []
    apply(plan.steps(target), cloud.runner(), said.append)
    assert not [call for call in cloud.gcloud.calls if "create" in call and "identity" not in call]
    assert not [text for text in said if text == "created\n"]


def test_files_arrive_as_they_were_meant(cloud: Cloud, target: Target) -> None:
    """Backslashes and quotation marks survive the shell; placeholders do not."""
    assert run(target, cloud).returncode == 0
    by_script = dict(cloud.gcloud.kinds["monitoring policies"])
    cloud.gcloud.kinds.clear()
    apply(plan.steps(target), cloud.runner(), lambda _: None)
    assert cloud.gcloud.kinds["monitoring policies"] == by_script
    assert "@" not in json.dumps(by_script).replace("oncall@example.com", "")


def test_the_script_stops_at_the_first_failure(cloud: Cloud, target: Target) -> None:
    """Nothing after it is tried."""
    cloud.gcloud.fail_at = "tasks queues create"
    ran = run(target, cloud)
    assert ran.returncode != 0
    assert "PERMISSION_DENIED" in ran.stderr
    assert "run services" not in cloud.gcloud.kinds


def test_the_script_makes_no_second_key_where_it_cannot_list_the_first(cloud: Cloud, target: Target) -> None:
    """It stops with what was said, and may be run again."""
    assert run(target, cloud).returncode == 0
    key = dict(cloud.gcloud.kinds["secrets versions"]["ledgermail-token-key"])
    cloud.gcloud.fail_at = "secrets versions list ledgermail-token-key"
    ran = run(target, cloud)
    assert ran.returncode != 0
    assert "PERMISSION_DENIED" in ran.stderr
    assert cloud.gcloud.kinds["secrets versions"]["ledgermail-token-key"] == key


def test_the_script_takes_away_a_ttl_that_is_wanted_no_more(cloud: Cloud, target: Target) -> None:
    assert run(replace(target, ttl=True), cloud).returncode == 0
    assert cloud.gcloud.kinds["firestore fields ttls"]
    assert run(target, cloud).returncode == 0
    assert not cloud.gcloud.kinds["firestore fields ttls"]


def test_the_script_refuses_another_folder(target: Target, tmp_path: Path, cloud: Cloud) -> None:
    """It names files of the repository."""
    file = tmp_path / "plan.sh"
    file.write_text(script(target))
    ran = subprocess.run(
        ["/bin/bash", str(file)], cwd=tmp_path, env=cloud.environment, capture_output=True, check=False
    )
    assert ran.returncode == 1
    assert not cloud.gcloud.calls
