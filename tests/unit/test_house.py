"""The house rules that no linter checks: short functions, short modules, plain names, one place that catches all."""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

from emulator.process import ROOT

FUNCTION_LINES = 40
MODULE_LINES = 300
OURS = ["functions", "emulator", "deploy", "bench"]
TIME = {"datetime.now", "datetime.today", "datetime.utcnow", "date.today", "time.time", "time.monotonic"}
VAGUE = {"utils", "util", "common", "helpers", "helper", "base", "misc"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


def modules(folders: list[str]) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def each(path: Path, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
    return (node for node in ast.walk(tree(path)) if isinstance(node, kinds))


def at(path: Path, node: ast.AST) -> str:
    return f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"


def test_there_is_something_to_check() -> None:
    assert {path.name for path in modules(["functions"])} >= {"main.py", "worker.py", "transitions.py"}


def test_no_function_is_longer_than_it_can_be_seen_at_once() -> None:
    long = [
        at(path, node)
        for path in modules([*OURS, "tests"])
        for node in each(path, ast.FunctionDef, ast.AsyncFunctionDef)
        if isinstance(node, Function) and (node.end_lineno or 0) - node.lineno + 1 > FUNCTION_LINES
    ]
    assert long == []


def test_no_module_is_longer_than_one_subject() -> None:
    long = [
        f"{path.relative_to(ROOT)}: {lines}"
        for path in modules([*OURS, "tests"])
        if (lines := len(path.read_text("utf-8").splitlines())) > MODULE_LINES
    ]
    assert long == []


def test_every_module_says_in_one_sentence_what_it_is() -> None:
    silent = [path for path in modules(OURS) if tree(path).body and not ast.get_docstring(tree(path))]
    assert [str(path.relative_to(ROOT)) for path in silent] == []


def test_only_main_may_catch_everything_and_keep_it() -> None:
    everything = {"Exception", "BaseException"}
    catching = [
        at(path, node)
        for path in modules(OURS)
        if path != ROOT / "functions" / "main.py"
        for node in each(path, ast.ExceptHandler)
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or set(_names(node.type)) & everything)
        and not _raises_again(node)
    ]
    assert catching == []


def _raises_again(handler: ast.ExceptHandler) -> bool:
    return isinstance(handler.body[-1], ast.Raise) and handler.body[-1].exc is None


def _names(caught: ast.expr) -> Iterator[str]:
    return (node.id for node in ast.walk(caught) if isinstance(node, ast.Name))


def test_only_the_clock_asks_what_time_it_is() -> None:
    asking = [
        at(path, node)
        for path in modules(["functions"])
        if path.stem != "clock"
        for node in each(path, ast.Attribute)
        if ast.unparse(node) in TIME
    ]
    assert asking == []


def test_nothing_of_ours_hides_a_module_of_the_standard_library_or_of_a_package() -> None:
    """What lies directly under functions/ is imported by its bare name, as are our top folders."""
    ours = {path.stem for path in (ROOT / "functions").iterdir() if path.suffix == ".py" or path.is_dir()} | set(OURS)
    assert ours & (set(sys.stdlib_module_names) | set(packages_distributions())) == set()


def test_a_module_is_named_for_its_subject() -> None:
    assert [str(path.relative_to(ROOT)) for path in modules([*OURS, "tests"]) if path.stem in VAGUE] == []
