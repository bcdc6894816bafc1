"""The verb import: users, matches or reports from a file of one JSON object a line.

The file is read twice: first to check every line, then to write. Nothing is written while a line is bad, unless the
bad ones are to be skipped. Writing the same line again changes nothing, so an import that was stopped is simply made again.
"""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
from google.cloud import firestore
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskProgressColumn, TextColumn

from ledgermail.app import App
from ledgermail.cli.codes import Code, Failed
from ledgermail.cli.deployment import deployment
from ledgermail.cli.lines import LINE_BYTES, Line, lines
from ledgermail.cli.options import Json, Yes, confirm
from ledgermail.cli.printed import console, plain, print_json, print_lines
from ledgermail.cli.records import Kind, Record, read_record
from ledgermail.errors import InvalidDocument, LedgerUnavailable
from ledgermail.store import call, ledger_errors

BATCH = 200  # documents a commit
BATCH_BYTES = 4_000_000  # of lines; Firestore takes 10 MiB
MOST_TOLD = 10_000  # bad lines within the one JSON document; on standard error there are all
MOVED_EVERY = 100  # lines: the bar must not cost what reading does
Moved = Callable[[Line], None]


@dataclass
class Import:
    """One import under way."""

    app: App
    kind: Kind
    file: Path
    as_json: bool
    good: int = 0
    written: int = 0
    kept: int = 0  # versions of reports that are there: they never change
    bad: int = 0
    told: list[dict[str, Any]] = field(default_factory=list)

    def check(self) -> None:
        """Read every line, and tell of each that is bad by its number."""
        for _ in self._records("checking", self._tell):
            self.good += 1

    def write(self) -> None:
        """Write the good lines, a batch at a time. Raises Failed with the last line that is surely written."""
        batch: list[Record] = []
        size, last = 0, 0
        try:
            for line, record in self._records("writing", lambda *_: None):
                batch.append(record)
                size += len(line.text or b"")
                if len(batch) >= BATCH or size >= BATCH_BYTES:
                    self._commit(batch)
                    batch, size, last = [], 0, line.number
            self._commit(batch)
        except LedgerUnavailable as error:
            said = (
                f"the ledger is not available: {error}; written up to line {last}: import it again, which does no harm"
            )
            raise Failed(Code.UNAVAILABLE, [said]) from error

    def _records(self, doing: str, bad: Callable[[Line, str], None]) -> Iterator[tuple[Line, Record]]:
        with self.file.open("rb") as file, _progress(doing, self.file, self.as_json) as moved:
            for line in lines(file):
                moved(line)
                try:
                    if line.text is None:
                        raise InvalidDocument(f"is longer than {LINE_BYTES} bytes")
                    yield line, read_record(self.kind, line.text, self.app.mailings)
                except InvalidDocument as problem:
                    bad(line, str(problem))

    def _tell(self, line: Line, problem: str) -> None:
        self.bad += 1
        if not self.as_json:
            sys.stderr.write(f"{plain(str(self.file))}:{line.number}: {plain(problem)}\n")
        elif len(self.told) < MOST_TOLD:
            self.told.append({"line": line.number, "problem": problem})

    @property
    def _kept_whole(self) -> bool:
        """Whether what is there is left as it is."""
        return self.kind is Kind.REPORTS

    def _there(self, references: list[firestore.DocumentReference]) -> set[str]:
        """The paths of those that exist; a read each."""
        asked = self.app.client.get_all(references, field_paths=["user_id"], **call()) if references else ()
        return {snapshot.reference.path for snapshot in asked if snapshot.exists}

    def _commit(self, records: list[Record]) -> None:
        client = self.app.client
        found = [(client.document(*record.path), record) for record in records]
        with ledger_errors("import"):
            there = self._there([reference for reference, record in found if record.stamped or self._kept_whole])
            batch = client.batch()
            for reference, record in found:
                if reference.path not in there:
                    stamp = {record.stamped: firestore.SERVER_TIMESTAMP} if record.stamped else {}
                    merged = _named(client, record.document) if self.kind is Kind.USERS else False
                    batch.set(reference, {**record.document, **stamp}, merge=merged)
                elif not self._kept_whole:  # with the time of the first writing: of another it would be found anew
                    batch.update(reference, dict(record.document))
            if len(batch):
                batch.commit(**call())
        self.written += len(batch)
        self.kept += len(found) - len(batch)


def import_(
    kind: Annotated[Kind, typer.Argument(help="What it is of. README (Command line) has the fields.")],
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="One JSON object a line, in UTF-8.")],
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Write the good lines although others are bad.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only check.")] = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Write users, matches or reports from a file. Every line is checked before any is written; 1 when one is bad."""
    if not file.is_file():  # a pipe cannot be read twice
        raise Failed(Code.USAGE, [f"{file}: must be a file, as it is read twice"])
    work = Import(deployment(), kind, file, as_json)
    before = _version(file)
    work.check()
    if work.good and not dry_run and (skip_bad or not work.bad):
        confirm(f"Write {work.good} {kind} to {work.app.settings.project}?", yes, "nothing was written")
        if _version(file) != before:
            raise Failed(Code.PROBLEM, [f"{file}: was changed since it was checked: nothing was written"])
        work.write()
    _print(work)
    if work.bad:
        raise typer.Exit(Code.PROBLEM)


import_.__name__ = "import"
VERBS = (import_,)


def _print(work: Import) -> None:
    counts = {"good": work.good, "bad": work.bad, "written": work.written, "kept": work.kept}
    if work.as_json:
        print_json({"kind": work.kind, "file": str(work.file), **counts, "problems": work.told})
        return
    kept = f", {work.kept} were there" if work.kept else ""
    print_lines(f"import: {work.good} good lines, {work.bad} bad; {work.written} {work.kind} written{kept}")


def _named(client: firestore.Client, document: Mapping[str, Any]) -> list[str]:
    """What a user's line takes the place of: each field, whole, but of `mailings` only what is chosen in each.

    Of a suppression that is there nothing stays: the new one would hold for the old one's address alone.
    """
    chosen = [(mailing, name) for mailing, fields in document.get("mailings", {}).items() for name in fields]
    fields = [name for name in document if name != "mailings"]
    return fields + [client.field_path("mailings", mailing, name) for mailing, name in chosen]


def _version(file: Path) -> tuple[int, int]:
    found = file.stat()
    return found.st_size, found.st_mtime_ns


@contextmanager
def _progress(doing: str, file: Path, as_json: bool) -> Iterator[Moved]:
    """A bar on standard error by the bytes of the file; none where that is no terminal."""
    hidden = as_json or not sys.stderr.isatty()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        MofNCompleteColumn(),
        TextColumn("bytes"),
    )
    with Progress(*columns, console=console(to_stderr=True), transient=True, disable=hidden) as bar:
        task = bar.add_task(doing, total=file.stat().st_size)
        yield lambda line: None if line.number % MOVED_EVERY else bar.update(task, completed=line.end)
