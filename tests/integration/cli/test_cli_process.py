"""The command line as a process: its codes, its settings, and what it is without its libraries."""

import shlex
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from typer.testing import CliRunner

from emulator.process import ROOT
from emulator.up import known_to_tools
from ledgermail.cli import main
from ledgermail.cli.codes import MEANINGS, Code
from ledgermail.cli.deployment import LOCAL
from ledgermail.cli.program import program
from tests.integration.cli.conftest import Call, process
from tests.integration.delivering import Post
from tests.samples import ENVIRONMENT


def test_every_exit_code_has_a_meaning_that_the_help_tells() -> None:
    assert set(MEANINGS) == set(Code)
    shown = " ".join(process("--help").out.split())
    assert all(f"{code.value} {meaning}" in shown for code, meaning in MEANINGS.items())


def test_arguments_that_make_no_sense_end_with_two() -> None:
    for arguments in (["no-such-verb"], ["why", "u1"], ["status", "--runs", "-1"], ["pause", "--all"]):
        assert process(*arguments).code == Code.USAGE, arguments
        told = process(*arguments, "--json")
        assert (told.code, told.json["code"], told.err) == (Code.USAGE, 2, ""), arguments


def test_json_may_be_asked_for_before_the_verb() -> None:
    """As `--local` may stand behind it: one document and nothing else, also of what makes no sense."""
    asked = process("--json", "cost", "--customers", 5)
    assert (asked.code, asked.json["total"]["tasks"]) == (Code.WELL, 0)
    for arguments in (
        ["--json", "status"],
        ["--json", "--bogus", "status"],
        ["--bogus", "status", "--json"],
        ["--json"],
    ):
        told = process(*arguments)
        assert (told.code, told.err) == (told.json["code"], ""), arguments


def test_settings_that_are_missing_are_all_named_and_end_with_four() -> None:
    told = process("status", LEDGERMAIL_PROJECT="p")
    assert told.code == Code.UNUSABLE
    assert {line.split()[1] for line in told.err.splitlines()} >= {"LEDGERMAIL_SENDER:", "LEDGERMAIL_TASK_ACCOUNT:"}
    assert process("status", "--json").json["code"] == Code.UNUSABLE


def test_settings_come_from_a_file_as_the_local_cloud_writes_it(post: Post, tmp_path: Path) -> None:
    post.owe()
    file = tmp_path / "cloud.env"
    found = {**ENVIRONMENT, "LEDGERMAIL_PROJECT": post.app.settings.project, "LEDGERMAIL_SENDER_NAME": "Job 'Alerts'"}
    with known_to_tools(found, file):
        told = process("--env-file", file, "why", "u1", "j1", "--json")
        assert (told.code, told.json["why"]) == (0, "waiting")
    assert not file.exists()
    missing = process("--env-file", file, "status")
    assert (missing.code, missing.err) == (Code.USAGE, f"ledgermail: {file}: is missing\n")
    assert process("--env-file", file, "status", "--json").json == {"error": [f"{file}: is missing"], "code": 2}


@pytest.mark.parametrize("line", ["NAME", "A=1 B=2", "A='1"])
def test_a_line_that_is_no_variable_is_named(line: str, tmp_path: Path) -> None:
    file = tmp_path / "some.env"
    file.write_text(f"# ours\nexport A={shlex.quote('b c')}\n\n{line}\n")
    told = process("--env-file", file, "status")
    assert (told.code, told.err.partition(": ")[2].startswith(f"{file}:4: ")) == (2, True)


def test_without_a_local_cloud_it_is_said_how_to_start_one() -> None:
    if LOCAL.exists():
        pytest.skip("a local cloud runs here")
    told = process("status", "--local")  # also behind the verb
    assert (told.code, told.err) == (
        4,
        "ledgermail: no local cloud runs: start it with `make up`, and leave it running\n",
    )


def test_without_its_libraries_it_says_so_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.startswith("ledgermail.cli.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "typer", None)
    assert main(["status"]) == Code.UNUSABLE
    assert (
        capsys.readouterr().err == "ledgermail: the command line needs typer and rich: pip install 'ledgermail[cli]'\n"
    )


def test_the_command_that_is_installed_is_this_one() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert EntryPoint("ledgermail", declared["scripts"]["ledgermail"], "console_scripts").load() is main
    assert {"rich", "typer"} <= set(declared["optional-dependencies"]["cli"])


def test_the_program_runs_under_the_runner_of_its_library(post: Post, call: Call) -> None:
    post.owe()
    ended = CliRunner().invoke(program, ["cancel", "u1_j1", "--by", "ada"], input="y\n")
    assert (ended.exit_code, ended.stdout) == (0, "cancel: u1_j1 is cancelled now\n")
