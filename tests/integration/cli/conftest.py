"""The command line on a deployment of this test's own, called in this process and as one of its own."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from emulator.inbox import Inbox
from emulator.process import ROOT
from emulator.tasks import CloudTasks
from ledgermail.app import App
from ledgermail.cli import main
from ledgermail.ledger.delivery import Guarantee
from tests.integration.conftest import AppMaker, Ground
from tests.integration.delivering import Post
from tests.integration.planning import SHIPPED
from tests.samples import ENVIRONMENT


@dataclass(frozen=True)
class Ended:
    """How a call ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one document that was printed."""
        return json.loads(self.out)


Call = Callable[..., Ended]


@pytest.fixture
def app(make_app: AppMaker, inbox: Inbox, project: str, monkeypatch: pytest.MonkeyPatch) -> App:
    """A deployment of every shipped mailing, which the environment names."""
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("LEDGERMAIL_PROJECT", project)
    monkeypatch.setenv("LEDGERMAIL_SENDGRID_URL", inbox.url)
    return App(make_app(sendgrid_url=inbox.url).settings, SHIPPED)


@pytest.fixture
def post(app: App, ground: Ground, inbox: Inbox, tasks_server: CloudTasks) -> Post:
    """Alerts of u1 that are due."""
    return Post(app, ground, inbox, tasks_server, Guarantee.AT_MOST_ONCE)


@pytest.fixture
def call(app: App, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    """Call the command line in this process, where nobody answers what it asks."""
    monkeypatch.setattr(sys, "stdin", io.StringIO())

    def call(*arguments: object) -> Ended:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return Ended(code, *capsys.readouterr())

    return call


def process(*arguments: object, stdin: str = "", **environment: str) -> Ended:
    """Call the command line as a process, with nothing but these of our variables; its output is no terminal."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("LEDGERMAIL_")}
    called = [sys.executable, "-m", "ledgermail.cli", *map(str, arguments)]
    known = {**clean, **environment, "PYTHONPATH": str(ROOT / "functions")}
    ended = subprocess.run(called, env=known, input=stdin, capture_output=True, text=True, timeout=60, check=False)
    return Ended(ended.returncode, ended.stdout, ended.stderr)
