"""Which index files are refused, and that the message names the place."""

import json
from pathlib import Path
from typing import Any

import pytest

from emulator.firestore.index_file import IndexFileError
from emulator.firestore.indexes import Indexes
from tests.unit.firestore_control.entries import A_B, ASC, composite, override

BROKEN = {
    "not JSON": ("{", "is not JSON"),
    "a list": ("[]", "is not an object"),
    "an unknown key": ('{"index": []}', "'index'"),
    "no collection": ({"indexes": [{"queryScope": "COLLECTION", "fields": []}]}, "indexes[0].collectionGroup"),
    "no scope": ({"indexes": [{"collectionGroup": "c", "fields": []}]}, "indexes[0].queryScope"),
    "no fields": ({"indexes": [composite()]}, "indexes[0].fields"),
    "one field": ({"indexes": [A_B, composite(("a", ASC))]}, "indexes[1].fields"),
    "an unknown order": ({"indexes": [composite(("a", ASC), ("b", "UP"))]}, "indexes[0].fields[1].order"),
    "no order": ({"indexes": [{**A_B, "fields": [{"fieldPath": "a"}]}]}, "indexes[0].fields[0]"),
    "a bad path": ({"indexes": [composite(("a..b", ASC), ("b", ASC))]}, "indexes[0].fields[0].fieldPath"),
    "the name not last": ({"indexes": [composite(("__name__", ASC), ("b", ASC))]}, "indexes[0].fields"),
    "twice": ({"indexes": [A_B, A_B]}, "indexes[1]"),
    "no list of indexes": (
        {"fieldOverrides": [{"collectionGroup": "c", "fieldPath": "a"}]},
        "fieldOverrides[0].indexes",
    ),
    "overridden twice": ({"fieldOverrides": [override("a"), override("a", ASC)]}, "fieldOverrides[1]"),
    "an override's order": ({"fieldOverrides": [override("a", "UP")]}, "fieldOverrides[0].indexes[0].order"),
}


@pytest.mark.parametrize(("content", "named"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_file_is_refused_by_naming_the_place(tmp_path: Path, content: Any, named: str) -> None:
    path = tmp_path / "firestore.indexes.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(IndexFileError) as refusal:
        Indexes.load(path)
    assert named in str(refusal.value)
