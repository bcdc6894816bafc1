"""The plan as a bash script: what `apply` does, to be read, and to be run."""

import re
import shlex

from deploy.plan import stages
from deploy.step import PLACEHOLDER, Command, Step, filled
from deploy.target import Target

HEAD = """\
#!/usr/bin/env bash
# ledgermail in {project}, {region}: made by `python -m deploy plan`. Run it from the root of the repository.
# It may be run again at any time: what is missing is made, what is there is changed. No queue is ever deleted.
set -euo pipefail
[ -f functions/main.py ] || {{ echo "Run it from the root of the repository." >&2; exit 1; }}
FILES=$(mktemp -d)
trap 'rm -rf "$FILES"' EXIT
"""


def script(target: Target) -> str:
    """The whole script."""
    parts = [HEAD.format(project=target.project, region=target.region)]
    planned = stages(target)
    count, number = sum(len(steps) for _, steps in planned), 0
    for heading, steps in planned:
        parts.append(f"\n### {heading}\n")
        for step in steps:
            number += 1
            parts.append(_step(step, f"{number}/{count}"))
    return "".join(parts) + '\necho "Done. python -m deploy check says when the indexes are ready."\n'


def _step(step: Step, place: str) -> str:
    comment = f"\n# {place} {step.title}{': ' + step.why if step.why else ''}\n"
    said = f"echo {shlex.quote(f'[{place}] {step.title}')}\n"
    return comment + said + "".join(_file(*file) for file in step.files.items()) + _body(step)


def _body(step: Step) -> str:
    if step.find is None or (step.create and step.create == step.update):
        return _create(step) + "\n"
    finding = f"$({_words(step.find)} 2>/dev/null || true)"
    lines = [f"FOUND={finding}"]
    if step.lists:
        lines = [f'FOUND=$({_words(step.find)} 2>"$FILES/said") || {{ cat "$FILES/said" >&2; exit 1; }}']
    if step.unwanted:
        lines += ['if [ -n "$FOUND" ]; then', _indented(_command(step.delete or ())), "fi"]
    elif step.create is None:
        if step.required:
            lines.append(f'[ -n "$FOUND" ] || {{ echo {shlex.quote(step.fix)} >&2; exit 1; }}')
    else:
        lines += ['if [ -z "$FOUND" ]; then', _indented(_create(step))]
        lines += ["else", _indented(_command(step.update))] if step.update else []
        lines.append("fi")
    if step.captures:
        lines.append(f"{step.captures}={finding}" if step.create else f"{step.captures}=$FOUND")
    return "\n".join(lines) + "\n"


def _create(step: Step) -> str:
    assert step.create is not None
    command = _command(step.create)
    if step.stdin is None:
        return command
    made_up = "$(head -c 24 /dev/urandom | base64 | tr '+/' '-_')"
    value = f"${{{step.stdin}:-{made_up}}}" if step.generated else f"${{{step.stdin}:?{step.fix}}}"
    return f'printf %s "{value}" | {command}'


def _file(name: str, content: str) -> str:
    """Written with placeholders filled in: so all that the shell would read in it is escaped first."""
    escaped = re.sub(r"([\\$`])", r"\\\1", content)
    return f'cat >"$FILES/{name}" <<EOF\n{filled(escaped, lambda placeholder: f"${{{placeholder}-}}")}EOF\n'


def _command(command: Command) -> str:
    """On one line for each flag."""
    words = [_word(word) for word in command]
    first = next((place for place, word in enumerate(command) if word.startswith("-")), len(words))
    return " \\\n  ".join([" ".join(words[:first]), *words[first:]])


def _words(command: Command) -> str:
    return " ".join(_word(word) for word in command)


def _word(word: str) -> str:
    """Quoted; a placeholder becomes the shell's variable of the same name."""
    parts = PLACEHOLDER.split(word)
    return "".join(f'"${{{part}}}"' if place % 2 else quoted(part) for place, part in enumerate(parts) if part)


def quoted(word: str) -> str:
    """As the shell reads it; of a flag only the value is quoted."""
    flag, equals, value = word.partition("=") if word.startswith("--") else ("", "", word)
    return f"{flag}{equals}{shlex.quote(value)}" if value else word


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
