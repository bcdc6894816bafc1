"""What every commit left, in a file: a server that is started on it again has it all, also after a kill -9.

A frame a commit, written before the commit is stored and answered: a line of JSON, then the bytes of its documents. What a
dying server wrote only half of was never answered, and is cut off. The file outlives the process and not the machine, for
nothing is forced to the disk; and it only grows.
"""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO

from emulator.firestore.messages import Document, Message
from emulator.firestore.paths import DocumentName, document_name

Changes = Mapping[DocumentName, Message | None]  # None: deleted


@dataclass(frozen=True)
class Committed:
    """A commit: when, and what it left of each document."""

    at: datetime
    changes: Changes


@dataclass(frozen=True)
class Advanced:
    """The clock was moved ahead."""

    by: timedelta


@dataclass(frozen=True)
class Reset:
    """All documents of a project were deleted; without one, everybody's."""

    project: str | None


Entry = Committed | Advanced | Reset


class Journal:
    """The file, open to be written. Any thread may use it: each frame is one write at its end."""

    def __init__(self, path: Path) -> None:
        """Open for writing after the last whole frame, which is where `read` ended."""
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def commit(self, at: datetime, changes: Changes) -> None:
        """Write a commit down."""
        raw = {name.text: None if new is None else new.SerializeToString() for name, new in changes.items()}
        sizes = {name: None if document is None else len(document) for name, document in raw.items()}
        body = b"".join(document for document in raw.values() if document is not None)
        self._write({"at": at.isoformat(), "sizes": sizes}, body)

    def advance(self, by: timedelta) -> None:
        """Write down that the clock was moved."""
        self._write({"advanced": by.total_seconds()})

    def reset(self, project: str | None) -> None:
        """Write down that documents were deleted."""
        self._write({"reset": project})

    def _write(self, head: dict[str, Any], body: bytes = b"") -> None:
        os.write(self._file, json.dumps(head).encode() + b"\n" + body)


def read(file: BinaryIO) -> Iterator[Entry]:
    """The entries from where the file stands to its last whole frame, behind which it stands then."""
    while True:
        start = file.tell()
        entry = _entry(file)
        if entry is None:
            file.seek(start)
            return
        yield entry


def cut(path: Path, at: int) -> None:
    """Drop what a dying server wrote only half of."""
    os.truncate(path, at)


def _entry(file: BinaryIO) -> Entry | None:
    line = file.readline()
    if not line.endswith(b"\n"):
        return None
    head = json.loads(line)
    if "advanced" in head:
        return Advanced(timedelta(seconds=head["advanced"]))
    if "reset" in head:
        return Reset(head["reset"])
    sizes: dict[str, int | None] = head["sizes"]
    wanted = sum(size or 0 for size in sizes.values())
    body = file.read(wanted)
    if len(body) < wanted:
        return None
    changes: dict[DocumentName, Message | None] = {}
    for name, size in sizes.items():
        changes[document_name(name)] = None if size is None else Document.FromString(body[:size])
        body = body[size or 0 :]
    return Committed(datetime.fromisoformat(head["at"]), changes)
