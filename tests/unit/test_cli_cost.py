"""The verb cost: rows and charges for people, one document for programs, prices from a file."""

import json
from pathlib import Path

import pytest

from ledgermail.cli import main

ASKED = ["cost", "--customers", "1000", "--runs", "30"]


def test_a_month_is_told_by_flow_and_by_charge(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(ASKED) == 0
    shown = capsys.readouterr().out
    assert {"deliver", "prune", "all", "stored_bytes"} <= {line.split("  ")[0] for line in shown.splitlines()}
    assert "At the prices of 20" in shown
    assert main([*ASKED, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["total"]["writes"] == sum(row["writes"] for row in document["rows"].values())
    assert document["dollars"] == sum(charge["dollars"] for charge in document["charges"])


def test_prices_of_a_file_take_the_place_of_those_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "prices.toml"
    file.write_text('at = 2027-01-01\nsource = "ours"\n[writes]\ndollars = 1\nper = 1\nfree = 0\n')
    assert main([*ASKED, "--prices", str(file), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    [charge] = [charge for charge in document["charges"] if charge["what"] == "writes"]
    assert charge["dollars"] == pytest.approx(document["total"]["writes"])


@pytest.mark.parametrize(
    "text", ["x = ", "[writes]\nper = 0", "[bread]\nper = 1", "[reads]\nper = nan", "[reads]\ndollars = inf"]
)
def test_prices_that_make_no_sense_are_refused(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(text)
    assert main([*ASKED, "--prices", str(file)]) == 2
    assert capsys.readouterr().err.startswith("ledgermail: ")
    assert main([*ASKED, "--prices", str(tmp_path / "none.toml")]) == 2
    assert main(["cost", "--customers", "1", "--days", "0"]) == 2


@pytest.mark.parametrize("asked", ["--days=nan", "--days=1e-320", "--runs=inf", "--alerts=nan", "--matches=1e300"])
def test_what_is_no_number_is_refused_and_not_calculated_with(asked: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*ASKED, asked, "--json"]) == 2
    document = json.loads(capsys.readouterr().out, parse_constant=lambda name: pytest.fail(name))
    assert asked.strip("-").partition("=")[0] in document["error"][0]
