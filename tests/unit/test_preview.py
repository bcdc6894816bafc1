"""The preview: files to look at, or what is at fault, by file and field."""

import json
import subprocess
import sys
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from ledgermail.cli import main
from ledgermail.settings import FOLDER
from tests.unit.digests import SHIPPED

FILES = ["subject.txt", "body.html", "body.txt"]
JOB = {"job_id": "j1", "title": "Cook"}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Where a file of data may be."""
    return tmp_path / "data.json"


def fault(capsys: pytest.CaptureFixture[str], code: int, *arguments: object) -> str:
    """What a call that fails with this code says, in one line on standard error."""
    assert main(["preview", *map(str, arguments)]) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("ledgermail: ")
    return printed.err.removeprefix("ledgermail: ").rstrip("\n")


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_mailing_is_previewed_with_its_sample(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "some" / "where"
    assert main(["preview", name, "--out", str(out)]) == 0
    names = [*FILES, "shipment-digest-2026-08-16.csv"] if name == "shipment-digest" else FILES
    assert capsys.readouterr().out.splitlines() == [str(out / name) for name in names]
    assert all((out / name).stat().st_size for name in names)
    assert "Hello Ada" in (out / "body.html").read_text("utf-8")


def test_a_preview_is_the_same_bytes_each_time(tmp_path: Path) -> None:
    for out in ("one", "two"):
        assert main(["preview", "shipment-digest", "--out", str(tmp_path / out)]) == 0
    one, two = ({file.name: file.read_bytes() for file in (tmp_path / out).iterdir()} for out in ("one", "two"))
    assert one == two


def test_a_preview_goes_to_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["preview", "job-alert"]) == 0
    assert sorted(path.name for path in (tmp_path / "preview" / "job-alert").iterdir()) == sorted(FILES)


def test_a_preview_of_own_data_says_what_they_say(tmp_path: Path, data: Path) -> None:
    period = {"start": "2026-08-14T19:00:00Z", "end": "2026-08-15T19:00:00+00:00"}
    user = {"name": "Zoë", "timezone": "Australia/Brisbane"}
    data.write_text(json.dumps({"items": [JOB, JOB], "total": 9, "user": user, "period": period}), "utf-8")
    assert main(["preview", "daily-digest", "--data", str(data), "--out", str(tmp_path)]) == 0
    text = (tmp_path / "body.txt").read_text("utf-8")
    assert text.startswith("Hello Zoë,\n\n9 new jobs match your search, 16 August 2026:")
    assert "\nand 7 more\n" in text
    assert text.endswith("\nhttps://example.com/preferences?token=only-a-preview\n")


def test_a_report_of_own_data_has_its_columns_in_their_order(tmp_path: Path, data: Path) -> None:
    row = dict.fromkeys(SHIPPED["shipment-digest"].attachment, "x") | {"weight": 7}
    report = {"topic": "shipments", "version": "v1", "columns": ["weight", "shipment"]}
    data.write_text(json.dumps({"items": [row], "report": report}))
    assert main(["preview", "shipment-digest", "--data", str(data), "--out", str(tmp_path)]) == 0
    assert "Weight: 7\nShipment: x\n" in (tmp_path / "body.txt").read_text("utf-8")


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ([], "the data: must be a map"),
        ({}, "items: must be a list, and not empty"),
        ({"items": []}, "items: must be a list, and not empty"),
        ({"items": {"a": 1}}, "items: must be a list, and not empty"),
        ({"items": [JOB, "Cook"]}, "items[1]: must be a map"),
        ({"items": [JOB], "totl": 3}, "totl: is not known; there are items, total, user, period, report"),
        ({"items": [JOB, JOB], "total": 1}, "total: must be a number, of all the items"),
        ({"items": [JOB], "total": True}, "total: must be a number, of all the items"),
        ({"items": [JOB], "total": "9"}, "total: must be a number, of all the items"),
        ({"items": [JOB], "user": "Ada"}, "user: must be a map"),
        ({"items": [JOB], "period": "today"}, "period: must be a map"),
        ({"items": [JOB], "period": {"end": "today"}}, "period.end: Invalid isoformat string: 'today'"),
        ({"items": [JOB], "period": {"start": 5}}, "period.start: must be text"),
        ({"items": [JOB], "period": {"end": "2026-08-16T08:00:00"}}, "period.end: has no time zone"),
        ({"items": [JOB], "report": []}, "report: must be a map"),
        ({"items": [JOB], "report": {"version": 3}}, "report.version: must be text"),
        ({"items": [JOB], "report": {"columns": "a"}}, "report.columns: must be a list"),
        ({"items": [JOB], "report": {"columns": ["a", 1]}}, "report.columns[1]: must be text"),
    ],
)
def test_data_of_another_shape_are_refused_by_file_and_field(
    wrong: Any, problem: str, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data.write_text(json.dumps(wrong))
    assert fault(capsys, 2, "daily-digest", "--data", data, "--out", data.parent / "out") == f"{data}: {problem}"
    assert not (data.parent / "out").exists()


@pytest.mark.parametrize("content", [b"{", b"\xff", b""])
def test_a_file_that_is_no_json_is_named(content: bytes, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data.write_bytes(content)
    assert fault(capsys, 2, "daily-digest", "--data", data, "--out", data.parent / "out").startswith(f"{data}: ")


def test_what_is_not_there_is_named(tmp_path: Path, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ", ".join(sorted(SHIPPED))
    assert fault(capsys, 2, "no-such") == f"there is no mailing 'no-such'; there are {names}"
    assert fault(capsys, 2, "job-alert", "--data", data) == f"{data}: is missing; name a file with --data"
    copytree(FOLDER / "job-alert", tmp_path / "job-alert")
    sample = tmp_path / "job-alert" / "sample.json"
    sample.unlink()
    told = fault(capsys, 2, "job-alert", "--mailings", tmp_path)
    assert told == f"{sample}: is missing; name a file with --data"


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert str(tmp_path / "file") in fault(capsys, 2, "job-alert", "--out", tmp_path / "file")


def test_a_mailing_that_is_at_fault_is_told_apart_from_a_call_that_is(
    tmp_path: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data.write_text(json.dumps({"items": [JOB]}))
    told = fault(capsys, 1, "shipment-digest", "--data", data, "--out", tmp_path)
    assert told == "shipment-digest/attachment.csv: no item has the column 'shipment'"
    copytree(FOLDER / "job-alert", tmp_path / "mailings" / "job-alert")
    (tmp_path / "mailings" / "job-alert" / "subject.txt").write_text("{{ item.title")
    told = fault(capsys, 1, "job-alert", "--mailings", tmp_path / "mailings", "--out", tmp_path)
    assert told.startswith("job-alert/subject.txt: ")
    (tmp_path / "mailings" / "job-alert" / "mailing.toml").write_text('guarantee = "never"\nsource = "matches"')
    (tmp_path / "mailings" / "job-alert" / "body.txt").unlink()
    told = fault(capsys, 1, "job-alert", "--mailings", tmp_path / "mailings", "--out", tmp_path)
    assert [line.partition(": ")[0] for line in told.replace("ledgermail: ", "").splitlines()] == [
        "job-alert/body.txt",
        "job-alert/mailing.toml guarantee",
    ]


def test_the_command_is_run_as_a_module_and_its_help_tells_the_exit_codes() -> None:
    program = [sys.executable, "-m", "ledgermail.cli", "preview", "--help"]
    asked = subprocess.run(program, capture_output=True, text=True, check=True, cwd=FOLDER.parent)
    assert "Exit codes: 0 done, and all is well; 1 something is wrong" in " ".join(asked.stdout.split())
    assert main(["preview"]) == 2
