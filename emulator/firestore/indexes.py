"""Refuses a query that production would refuse for want of an index, and knows which indexes no query has used.

Neither the official emulator nor any other enforces indexes; there is nothing offline to compare this with. Where the
documents leave doubt it refuses: an index too many costs a little, a missing one is found in production.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from emulator.firestore.index_file import Index, IndexFile, override_entry, read
from emulator.firestore.index_need import Need, RawQuery, needs


class MissingIndex(Exception):
    """The query needs an index that the file does not have; the message holds the entry to add."""


class Indexes:
    """The indexes of one file, and which of them were needed so far."""

    def __init__(self, file: IndexFile) -> None:
        self._file = file
        self._used: set[Index] = set()

    @classmethod
    def load(cls, path: Path) -> "Indexes":
        """Read a firestore.indexes.json. Raises IndexFileError, naming the entry, and OSError."""
        return cls(read(path))

    def check(self, query: RawQuery, parent: str, aggregated_fields: Iterable[str] = ()) -> None:
        """Raise MissingIndex unless production would serve this query.

        ``query`` is the raw protobuf message; ``parent`` the resource name it runs under;
        ``aggregated_fields`` the field paths that sum() and avg() read.
        """
        served = [(need, self._serving(need)) for need in needs(query, aggregated_fields)]
        missing = [need for need, indexes in served if indexes is None]
        if missing:
            advice = " ".join(sorted(self._advice(need) for need in missing))
            raise MissingIndex(f"The query on {parent} requires an index. {advice}")
        self._used.update(index for _, indexes in served for index in indexes or ())

    def unused(self) -> list[dict[str, Any]]:
        """Return the entries that served no query yet: composites, and single-field indexes of collection groups."""
        groups = [
            index
            for collection, field in self._file.overrides
            for index in self._file.singles(collection, field)
            if index.scope == "COLLECTION_GROUP"
        ]
        return [index.entry() for index in (*self._file.composites, *groups) if index not in self._used]

    def _serving(self, need: Need) -> list[Index] | None:
        """Return indexes that together serve the need, the fewest that are not single-field ones; None without."""
        if need.key_only:
            return []
        fields = dict.fromkeys([*dict(need.fixed), *dict(need.order), *need.summed])
        singles = [index for field in fields for index in self._file.singles(need.collection, field)]
        return merged(need, singles) or merged(need, [*self._file.composites, *singles])

    def _advice(self, need: Need) -> str:
        index = need.index()
        if not index.single_field:
            return f'Add to "indexes" in firestore.indexes.json: {json.dumps(index.entry())}'
        field, kind = index.fields[0]
        present = [(single.fields[0][1], single.scope) for single in self._file.singles(need.collection, field)]
        entry = override_entry(need.collection, field, [*present, (kind, need.scope)])
        return f'Add to "fieldOverrides" in firestore.indexes.json, in place of any for this field: {json.dumps(entry)}'


def merged(need: Need, indexes: Iterable[Index]) -> list[Index] | None:
    """Return those of the indexes that serve the need by themselves or merged, the most fitting first; None if none do.

    Firestore joins indexes that each fix some of the equalities and then go on in the same order
    (docs: "Index merging").
    """
    candidates = {}
    for index in indexes:
        if (index.collection, index.scope) == (need.collection, need.scope):
            fixes = need.served(index)
            if fixes is not None:
                candidates[index] = fixes
    open_fields, chosen = {*need.fixed}, []
    while candidates:
        best = max(candidates, key=lambda index: len(candidates[index] & open_fields))
        gained = candidates.pop(best) & open_fields
        if not gained and open_fields:
            return None
        open_fields -= gained
        chosen.append(best)
        if not open_fields:
            return chosen
    return None
