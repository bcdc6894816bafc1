"""`python -m deploy`: its verbs, its questions and its exit codes."""

import subprocess
import sys

from deploy import ROOT
from tests.unit.deploy.conftest import EXAMPLE, Cloud


def deploy(cloud: Cloud, *words: str, answer: str = "") -> subprocess.CompletedProcess[str]:
    """Run it on the fake cloud."""
    where = ("--project=my-project-1", "--region=europe-west1", f"--config={EXAMPLE}")
    command = [sys.executable, "-m", "deploy", words[0], *where, *words[1:]]
    return subprocess.run(
        command, cwd=ROOT, env=cloud.environment, input=answer, capture_output=True, text=True, check=False
    )


def test_apply_check_destroy_from_the_command_line(cloud: Cloud) -> None:
    """Nothing there is off; applied all is well; destroy asks, and only the project's id is a yes."""
    assert deploy(cloud, "check").returncode == 1
    applied = deploy(cloud, "apply")
    assert applied.returncode == 0, applied.stderr
    assert "[1/" in applied.stdout
    checked = deploy(cloud, "check")
    assert (checked.returncode, checked.stdout.splitlines()[-1]) == (0, "All is as it should be.")

    refused = deploy(cloud, "destroy", answer="yes\n")
    assert (refused.returncode, refused.stdout.splitlines()[-1][-20:]) == (1, "Nothing was deleted.")
    assert cloud.gcloud.kinds["run services"]
    assert deploy(cloud, "destroy", "--database", answer="my-project-1\n").returncode == 0
    assert not cloud.gcloud.kinds["run services"]
    assert not cloud.gcloud.kinds["firestore databases"]
    assert len(cloud.gcloud.kinds["tasks queues"]) == 2


def test_a_failure_names_the_command_and_what_may_help(cloud: Cloud) -> None:
    """As it can be pasted."""
    cloud.gcloud.fail_at = "service-accounts create ledgermail-tasks"
    failed = deploy(cloud, "apply")
    assert failed.returncode == 1
    assert "gcloud iam service-accounts create ledgermail-tasks --display-name='" in failed.stderr
    assert "PERMISSION_DENIED" in failed.stderr
    assert "What may help: You need roles/iam.serviceAccountAdmin." in failed.stderr


def test_wrong_settings_are_all_named_and_nothing_is_called(cloud: Cloud) -> None:
    """Exit code 2, as for any wrong command line."""
    asked = deploy(cloud, "apply", "--region=nowhere", "--project=x")
    assert asked.returncode == 2
    assert len(asked.stderr.splitlines()) == 2
    assert not cloud.gcloud.calls
