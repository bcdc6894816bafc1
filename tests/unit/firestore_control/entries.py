"""Entries of a firestore.indexes.json, for the collection group c."""

from typing import Any

ASC, DESC, HAS = "ASCENDING", "DESCENDING", "CONTAINS"


def composite(*fields: tuple[str, str], scope: str = "COLLECTION") -> dict[str, Any]:
    listed = [{"fieldPath": path, "arrayConfig" if kind == HAS else "order": kind} for path, kind in fields]
    return {"collectionGroup": "c", "queryScope": scope, "fields": listed}


def override(field: str, *kinds: str, scope: str = "COLLECTION") -> dict[str, Any]:
    indexes = [{"arrayConfig" if kind == HAS else "order": kind, "queryScope": scope} for kind in kinds]
    return {"collectionGroup": "c", "fieldPath": field, "indexes": indexes}


A_B = composite(("a", ASC), ("b", ASC))
