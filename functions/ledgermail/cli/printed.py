"""What a verb prints: one JSON document, or lines and tables for people, which stay readable in a file."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

PIPED_COLUMNS = 4_000  # where there is no terminal nothing is cut or wrapped


def console(*, to_stderr: bool = False) -> Console:
    """A console on standard output, or error; without colours and without a width where that is no terminal."""
    file = sys.stderr if to_stderr else sys.stdout
    width = None if file.isatty() else PIPED_COLUMNS
    return Console(file=file, width=width, highlight=False, emoji=False, markup=False)


def print_json(document: object) -> None:
    """One JSON document, and nothing else."""
    sys.stdout.write(f"{json.dumps(document, indent=2, default=_written)}\n")


def print_lines(*lines: str) -> None:
    """Lines for people."""
    for line in lines:
        console().print(Text(plain(line)), soft_wrap=True)


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table without rules; numbers are set to the right. Columns without names have no line of them."""
    shown = [list(row) for row in rows]
    table = Table(box=None, pad_edge=False, header_style="bold", show_header=any(columns))
    for position, column in enumerate(columns):
        numbers = bool(shown) and all(isinstance(row[position], int | float) for row in shown)
        table.add_column(column, justify="right" if numbers else "left", overflow="fold")
    for row in shown:
        table.add_row(*(Text(plain(_shown(value))) for value in row))
    printing = console()
    with printing.capture() as lines:
        printing.print(table)
    sys.stdout.writelines(f"{line.rstrip()}\n" for line in lines.get().splitlines())


def print_facts(facts: Mapping[str, object]) -> None:
    """Names and values, one a line, what is within a map as ``map.name``; those that are nothing are left out."""
    print_table(["", ""], [(name, _shown(value)) for name, value in _flat(facts, "") if value not in (None, "", [])])


def plain(text: str) -> str:
    """Text that does nothing to a terminal: what others wrote may hold escape sequences."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def _flat(facts: Mapping[str, object], place: str) -> Iterator[tuple[str, object]]:
    for name, value in facts.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{place}{name}.")
        else:
            yield f"{place}{name}", value


def _shown(value: object) -> str:
    if isinstance(value, datetime):
        return f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z"
    return "" if value is None else str(value)


def _written(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
