"""`python -m deploy`: its verbs, its questions and its exit codes."""

import os
import subprocess
import sys
from pathlib import Path
from shutil import copytree

import pytest

from deploy import ROOT
from deploy.target import SOURCE
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


@pytest.mark.parametrize("verb", ["apply", "check", "destroy"])
def test_who_cannot_see_the_project_is_told_so_and_not_that_nothing_is_there(verb: str, cloud: Cloud) -> None:
    """An expired login made check say that all is missing, and destroy that all is gone."""
    assert deploy(cloud, "apply").returncode == 0
    cloud.gcloud.fail_at = "--"
    asked = deploy(cloud, verb, answer="my-project-1\n")
    assert asked.returncode == 1
    assert "gcloud projects describe my-project-1" in asked.stderr
    assert "PERMISSION_DENIED: told to fail" in asked.stderr
    assert "OFF" not in asked.stdout
    assert cloud.gcloud.kinds["run services"]


def test_without_gcloud_that_is_said(cloud: Cloud) -> None:
    cloud.environment["PATH"] = str(cloud.files / "nothing")
    assert "gcloud is not installed" in deploy(cloud, "check").stderr


@pytest.mark.parametrize("verb", ["plan", "check"])
def test_who_reads_no_further_ends_it_without_a_word(verb: str, cloud: Cloud) -> None:
    """As `check | head` does: there is nothing to say of it."""
    where = ("--project=my-project-1", "--region=europe-west1", f"--config={EXAMPLE}")
    reads, writes = os.pipe()
    os.close(reads)
    command = [sys.executable, "-m", "deploy", verb, *where]
    ended = subprocess.run(
        command, cwd=ROOT, env=cloud.environment, stdout=writes, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writes)
    assert (ended.returncode, ended.stderr) == (1, "")


def test_wrong_settings_are_all_named_and_nothing_is_called(cloud: Cloud) -> None:
    """Exit code 2, as for any wrong command line."""
    asked = deploy(cloud, "apply", "--region=nowhere", "--project=x")
    assert asked.returncode == 2
    assert len(asked.stderr.splitlines()) == 2
    assert not cloud.gcloud.calls


def test_a_mailing_that_would_not_start_is_refused_before_anything_is_made(cloud: Cloud, tmp_path: Path) -> None:
    """By file and key, as the functions would say after a quarter of an hour; but leaving needs no sound mailings."""
    copytree(SOURCE / "mailings", tmp_path / "mine")
    (tmp_path / "mine" / "weekly-digest" / "body.txt").write_text("{{ unsubscribe_url }} {{ item.title")
    config = tmp_path / "deploy.toml"
    folder = os.path.relpath(tmp_path / "mine", SOURCE)
    config.write_text(f'[settings]\nSENDER = "a@example.com"\nMAILINGS = "{folder}"\n')
    for verb in ("plan", "apply"):
        asked = deploy(cloud, verb, f"--config={config}")
        assert (asked.returncode, asked.stdout) == (2, "")
        assert asked.stderr.startswith("weekly-digest/body.txt: unexpected end of template")
    assert not cloud.gcloud.calls
    assert deploy(cloud, "destroy", f"--config={config}", answer="no\n").returncode == 1

    (tmp_path / "mine" / "weekly-digest" / "mailing.toml").write_text("")
    assert "weekly-digest/mailing.toml guarantee: is missing" in deploy(cloud, "apply", f"--config={config}").stderr
