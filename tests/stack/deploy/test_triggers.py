"""Each trigger's own request, made as its maker makes it, starts the job that it names."""

import json
import os
import subprocess
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from deploy import ROOT
from emulator.tasks import CloudTasks
from tests.samples import ENVIRONMENT
from tests.stack.deploy.serving import served

TRIGGERS = ROOT / "deploy" / "triggers"
KEY = ENVIRONMENT["LEDGERMAIL_TRIGGER_KEY"]
METHODS = {0: "GET", 1: "POST"}  # as cron-job.org numbers them


@pytest.fixture(scope="module")
def trigger(tasks_server: CloudTasks, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The real function, whose tasks go to the local Cloud Tasks."""
    parent = f"projects/{ENVIRONMENT['LEDGERMAIL_PROJECT']}/locations/{ENVIRONMENT['LEDGERMAIL_LOCATION']}"
    with tasks_server.client() as client:
        client.create_queue(request={"parent": parent, "queue": {"name": f"{parent}/queues/upkeep"}})
        client.pause_queue(name=f"{parent}/queues/upkeep")
        environment = {**os.environ, **ENVIRONMENT, "CLOUD_TASKS_EMULATOR_HOST": tasks_server.host}
        log = tmp_path_factory.mktemp("trigger") / "log"
        with served("trigger", environment, ROOT / "functions", log) as url:
            yield url


@pytest.fixture(autouse=True)
def nothing_started(trigger: str, tasks_server: CloudTasks) -> None:
    """The queue is empty when a test begins."""
    queue = "projects/demo/locations/europe-west1/queues/upkeep"
    with tasks_server.client() as client:
        client.purge_queue(name=queue)


def jobs(tasks_server: CloudTasks) -> list[str]:
    """The functions that the waiting tasks call."""
    with tasks_server.client() as client:
        tasks = client.list_tasks(parent="projects/demo/locations/europe-west1/queues/upkeep")
        return sorted(task.http_request.url.rpartition("/")[2] for task in tasks)


def filled(text: str, url: str) -> str:
    """With the placeholders of the shown files replaced, as their reader does."""
    return text.replace("LEDGERMAIL_TRIGGER_URL", url).replace("LEDGERMAIL_TRIGGER_KEY", KEY)


def shell(command: list[str], url: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command that finds the address and the key in its environment."""
    environment = {"PATH": os.defpath, "LEDGERMAIL_TRIGGER_URL": url, "LEDGERMAIL_TRIGGER_KEY": KEY} | more
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("job", ["scan", "plan", "sweep", "prune"])
def test_curl_starts_a_job(job: str, trigger: str, tasks_server: CloudTasks) -> None:
    ran = shell([str(TRIGGERS / "trigger.sh"), job], trigger)
    assert (ran.returncode, ran.stdout) == (0, json.dumps({"started": job})), ran.stderr
    assert jobs(tasks_server) == [job]


def test_curl_fails_where_the_trigger_refuses(trigger: str) -> None:
    """So that cron tells somebody; and the answer says why."""
    ran = shell([str(TRIGGERS / "trigger.sh"), "explode"], trigger)
    assert ran.returncode != 0
    assert "job: must be one of" in ran.stdout


@pytest.mark.parametrize(
    ("named", "expected"),
    [("scan plan sweep", ["plan", "scan", "sweep"]), ("look-back", ["scan"]), ("prune", ["prune"])],
)
def test_the_github_workflow_starts_its_jobs(
    named: str, expected: list[str], trigger: str, tasks_server: CloudTasks
) -> None:
    workflow = (TRIGGERS / "github-actions.yml").read_text("utf-8")
    assert f"'{named}'" in workflow
    ran = shell(["/bin/bash", "-c", textwrap.dedent(workflow.partition("run: |\n")[2])], trigger, JOBS=named)
    assert ran.returncode == 0, ran.stderr
    assert jobs(tasks_server) == expected


def _cron_job_org(url: str) -> dict[str, Any]:
    job = json.loads(filled((TRIGGERS / "cron-job.org.json").read_text("utf-8"), url))["job"]
    return {"method": METHODS[job["requestMethod"]], "url": job["url"], "headers": job["extendedData"]["headers"]}


def _n8n(url: str) -> dict[str, Any]:
    workflow = json.loads(filled((TRIGGERS / "n8n.json").read_text("utf-8"), url))
    (called,) = (node["parameters"] for node in workflow["nodes"] if node["type"].endswith(".httpRequest"))
    headers = {header["name"]: header["value"] for header in called["headerParameters"]["parameters"]}
    return {"method": called["method"], "url": called["url"], "headers": headers}


@pytest.mark.parametrize("request_of", [_cron_job_org, _n8n])
def test_a_hosted_scheduler_starts_a_scan(request_of: Any, trigger: str, tasks_server: CloudTasks) -> None:
    answer = httpx.request(**request_of(trigger))
    assert (answer.status_code, answer.json()) == (202, {"started": "scan"})
    assert jobs(tasks_server) == ["scan"]


def test_no_trigger_file_shows_a_key() -> None:
    """They are copied about."""
    for file in TRIGGERS.iterdir():
        assert KEY not in file.read_text("utf-8")
        assert "?key=" not in file.read_text("utf-8"), Path(file).name
