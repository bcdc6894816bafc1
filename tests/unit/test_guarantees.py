"""docs/guarantees.md says of every crash point which test shows what is promised there: the points and the tests are real."""

import ast
import re

from emulator.chaos.points import POINTS
from emulator.process import ROOT

TEXT = (ROOT / "docs" / "guarantees.md").read_text("utf-8")
TESTS = dict(re.findall(r"^- \*\*(T\d+)\*\* \[(.+)\)$", TEXT, re.MULTILINE))


def test_each_test_that_is_named_exists() -> None:
    for number, link in TESTS.items():
        name, _, path = link.partition("](../")
        tree = ast.parse((ROOT / path).read_text("utf-8"))
        assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, number


def test_what_is_said_to_be_shown_names_its_tests_and_each_of_them_is_used() -> None:
    rows = [line for line in TEXT.splitlines() if line.startswith("| ")]
    shown = [row.rstrip(" |").rpartition("|")[2].split() for row in rows if "shown by" not in row]
    assert all(shown)
    cited = {number for numbers in shown for number in numbers} | set(re.findall(r"\((T\d+)\)", TEXT))
    assert cited == set(TESTS)


def test_every_point_at_which_chaos_kills_is_in_the_tables() -> None:
    cells = {name for line in TEXT.splitlines() if line.startswith("| `") for name in re.findall(r"`([a-z.-]+)`", line)}
    assert {point.name for point in POINTS} <= cells


def test_the_readme_points_to_it() -> None:
    assert "(docs/guarantees.md)" in (ROOT / "README.md").read_text("utf-8")
