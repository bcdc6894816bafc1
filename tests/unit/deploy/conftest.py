"""A target as deploy.toml makes it, and a gcloud of our own with a rules API of our own."""

import json
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from typing_extensions import override

from deploy import ROOT, plan
from deploy.gcloud import Runner
from deploy.rules import OVERRIDE
from deploy.target import Target, read
from tests.unit.deploy.fake_gcloud import FakeGcloud

EXAMPLE = ROOT / "deploy" / "deploy.example.toml"


@pytest.fixture
def target() -> Target:
    """The target of the example."""
    return read("my-project-1", "europe-west1", EXAMPLE)


def commands(target: Target) -> list[list[str]]:
    """Every command of the plan that makes something."""
    return [list(step.create) for step in plan.steps(target) if step.create]


@dataclass(frozen=True)
class Cloud:
    """The fake gcloud, and the environment in which commands reach it."""

    gcloud: FakeGcloud
    environment: dict[str, str]
    files: Path

    def runner(self) -> Runner:
        """A runner whose commands reach it."""
        return Runner(files=self.files, environment=self.environment)


class RulesApi(BaseHTTPRequestHandler):
    """Rulesets and releases, as the rules API keeps them."""

    kept: ClassVar[dict[str, Any]] = {}

    def do_GET(self) -> None:
        """Show one."""
        self._answer(self.kept.get(self.path.removeprefix("/v1/")))

    def do_POST(self) -> None:
        """Make one."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        body.setdefault("name", f"{self.path.removeprefix('/v1/')}/r1")
        self.kept[body["name"]] = body
        self._answer(body)

    @override
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def _answer(self, body: Any) -> None:
        self.send_response(200 if body else 404)
        self.end_headers()
        self.wfile.write(json.dumps(body or {}).encode())


@pytest.fixture
def rules_api() -> Iterator[str]:
    """The address of an empty rules API."""
    RulesApi.kept.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), RulesApi)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def cloud(tmp_path: Path, rules_api: str) -> Iterator[Cloud]:
    """A cloud with nothing in it, and the one secret that somebody must bring."""
    gcloud = FakeGcloud(tmp_path)
    environment = {
        "PATH": f"{gcloud.path}:{os.defpath}",
        "FAKE_GCLOUD": str(tmp_path),
        "PYTHONPATH": str(ROOT),
        "LEDGERMAIL_SENDGRID_KEY": "SG.a-key",
        OVERRIDE: rules_api,
    }
    yield Cloud(gcloud, environment, tmp_path)
    gcloud.stop()
