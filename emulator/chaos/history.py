"""`python -m emulator.chaos.history FILE ID`: what became of one delivery, commit by commit, from the file of a kept chaos."""

import argparse
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from google.protobuf.json_format import MessageToDict

from emulator.firestore import journal
from emulator.firestore.messages import Message
from ledgermail.ledger.ledger import DELIVERIES


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each commit that changed the delivery: when, and the fields that it changed."""
    parser = argparse.ArgumentParser(prog="python -m emulator.chaos.history", description=__doc__)
    parser.add_argument("file", type=Path, help="`documents` in the folder that was kept")
    parser.add_argument("delivery_id")
    options = parser.parse_args(arguments)
    before: dict[str, object] = {}
    for at, document in _versions(options.file, options.delivery_id):
        fields = {} if document is None else _fields(document)
        changed = {name: value for name, value in fields.items() if before.get(name) != value}
        gone = sorted(before.keys() - fields.keys())
        print(at.isoformat(), "deleted" if document is None else changed, *(["without", *gone] if gone else []))
        before = fields


def _versions(path: Path, delivery_id: str) -> Iterator[tuple[datetime, Message | None]]:
    with path.open("rb") as file:
        for entry in journal.read(file):
            if isinstance(entry, journal.Committed):
                for name, document in entry.changes.items():
                    if (name.collection_id, name.id) == (DELIVERIES, delivery_id):
                        yield entry.at, document


def _fields(document: Message) -> dict[str, object]:
    """The fields, each value as it is in JSON, without the names of the types around simple ones."""
    fields: dict[str, dict[str, object]] = MessageToDict(document).get("fields", {})
    return {name: next(iter(value.values()), None) for name, value in fields.items()}


if __name__ == "__main__":
    main()
