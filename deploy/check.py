"""Check: what is deployed against what should be, each difference with what to do about it. Changes nothing."""

import json
from collections.abc import Mapping
from typing import Any

from deploy.apply import Say
from deploy.gcloud import Runner
from deploy.step import MISSING, Expected, Path, Step, filled


def check(steps: list[Step], runner: Runner, say: Say) -> int:
    """Say of each step whether it is as it should be, and return how many are not. Raises StepFailed where none can be seen."""
    off = 0
    for step in steps:
        if step.find is None:
            continue
        problems = _problems(step, runner)
        off += bool(problems)
        say(f"{'OFF' if problems else 'ok '}  {step.title}\n")
        for problem in problems:
            say(f"       {problem}\n")
        if problems:
            say(f"       To do: python -m deploy apply. {step.fix}\n")
    return off


def _problems(step: Step, runner: Runner) -> list[str]:
    found = runner.given(step)
    if found and step.unwanted:
        return ["it is there, and should not be"]
    if not found:
        said = runner.unseen.get(step.title)
        return [f"it cannot be seen: {said[:300]}" if said else "it is not there"] if step.required or said else []
    return [problem for expected in step.expected for problem in _differences(expected, runner)]


def _differences(expected: Expected, runner: Runner) -> list[str]:
    answer = runner.answer(expected.command)
    try:
        shown = json.loads(answer.out) if answer.code == 0 else None
    except ValueError:
        shown = None
    if shown is None:
        return [f"it cannot be read: {(answer.err or answer.out).strip()[:300]}"]
    found = {path: value_at(shown, path) for path in expected.values}
    wanted = {path: _filled(value, runner) for path, value in expected.values.items()}
    return [
        f"{'.'.join(path) or 'answer'} is {found[path]!r}, and should be {value!r}"
        for path, value in wanted.items()
        if not same(found[path], value)
    ]


def value_at(document: Any, path: Path) -> Any:
    """What stands at a path, or "nothing". A list is entered by index, or by the name or type of an entry."""
    for key in path:
        if isinstance(document, list):
            document = _entry(document, key)
        elif isinstance(document, Mapping) and key in document:
            document = document[key]
        else:
            return MISSING
    return document


def _entry(entries: list[Any], key: str) -> Any:
    if key.isdecimal():
        return entries[int(key)] if int(key) < len(entries) else MISSING
    return next((e for e in entries if isinstance(e, Mapping) and key in (e.get("name"), e.get("type"))), MISSING)


def same(found: Any, wanted: object) -> bool:
    """Whether two values mean the same: 100, 100.0 and "100" do."""
    try:
        return float(found) == float(wanted)  # type: ignore[arg-type] # what is no number raises
    except (TypeError, ValueError):
        return str(found) == str(wanted)


def _filled(value: object, runner: Runner) -> object:
    return filled(value, lambda name: runner.captured.get(name, "")) if isinstance(value, str) else value
