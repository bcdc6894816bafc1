"""A browser's view of Firestore: REST calls that carry a user's token, judged by the rules that are deployed."""

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import httpx
import pytest
from google.cloud import firestore

from emulator.firestore import Firestore, start
from emulator.firestore.official_jar import find
from emulator.process import ROOT

PROJECT = "demo-rules"
NOW = object()  # the server's time, as a client asks for it
Document = Mapping[str, Any]


@pytest.fixture(scope="module")
def judged() -> Iterator[Firestore]:
    """Google's emulator with our rules; only it can judge them."""
    if find() is None:
        pytest.skip("the official Firestore emulator, which alone judges rules, is not on this machine")
    with start("official", rules=ROOT / "firestore.rules") as server:
        yield server


@pytest.fixture
def db(judged: Firestore) -> firestore.Client:
    """The server client, which no rules bind; nothing is there yet."""
    judged.reset(PROJECT)
    return judged.client(PROJECT)


@dataclass(frozen=True)
class Browser:
    """A client that is signed in as this user, or as nobody. Every method answers with the HTTP status."""

    http: httpx.Client
    url: str  # of all documents
    user_id: str | None

    def as_user(self, user_id: str) -> "Browser":
        """The same, signed in as another."""
        return replace(self, user_id=user_id)

    def get(self, path: str) -> int:
        """Read a document."""
        return self.http.get(f"{self.url}/{path}", headers=self._headers).status_code

    def list(self, collection: str) -> int:
        """Read a collection."""
        return self.http.get(f"{self.url}/{collection}", headers=self._headers).status_code

    def query(self, collection: str) -> int:
        """Ask for the documents of a collection."""
        query = {"structuredQuery": {"from": [{"collectionId": collection}], "limit": 1}}
        return self.http.post(f"{self.url}:runQuery", json=query, headers=self._headers).status_code

    def update(self, path: str, fields: Document) -> int:
        """Write these fields, by dotted path, of a document that exists, as updateDoc does. A mailing's name is quoted."""
        return self._commit({**self._write(path, fields), "currentDocument": {"exists": True}})

    def create(self, path: str, fields: Document) -> int:
        """Make a document."""
        return self._commit({**self._write(path, fields), "currentDocument": {"exists": False}})

    def set(self, path: str, document: Document) -> int:
        """Put a document in the place of another."""
        return self._commit({"update": {"name": self._name(path), **_value(document)["mapValue"]}})

    def delete(self, path: str) -> int:
        """Delete a document."""
        return self._commit({"delete": self._name(path)})

    def _write(self, path: str, fields: Document) -> dict[str, Any]:
        plain = {name: value for name, value in fields.items() if value is not NOW}
        nested: dict[str, Any] = {}
        for name, value in plain.items():
            *parents, last = (part.strip("`") for part in name.split("."))
            within = nested
            for parent in parents:
                within = within.setdefault(parent, {})
            within[last] = value
        times = [name for name, value in fields.items() if value is NOW]
        return {
            "update": {"name": self._name(path), **_value(nested)["mapValue"]},
            "updateMask": {"fieldPaths": list(plain)},
            "updateTransforms": [{"fieldPath": name, "setToServerValue": "REQUEST_TIME"} for name in times],
        }

    def _commit(self, write: dict[str, Any]) -> int:
        return self.http.post(f"{self.url}:commit", json={"writes": [write]}, headers=self._headers).status_code

    def _name(self, path: str) -> str:
        return f"projects/{PROJECT}/databases/(default)/documents/{path}"

    @property
    def _headers(self) -> dict[str, str]:
        """A token that is not signed, which the emulator takes as if it were."""
        if self.user_id is None:
            return {}
        claims = {"sub": self.user_id, "user_id": self.user_id, "aud": PROJECT}
        claims["iss"] = f"https://securetoken.google.com/{PROJECT}"
        parts = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode() for part in ({"alg": "none"}, claims))
        return {"Authorization": f"Bearer {'.'.join(part.rstrip('=') for part in parts)}."}


@pytest.fixture
def nobody(judged: Firestore) -> Iterator[Browser]:
    """Not signed in."""
    with httpx.Client(timeout=30, trust_env=False) as client:
        yield Browser(client, f"http://{judged.host}/v1/projects/{PROJECT}/databases/(default)/documents", None)


@pytest.fixture
def u1(nobody: Browser) -> Browser:
    """Signed in as u1."""
    return nobody.as_user("u1")


def _value(value: Any) -> dict[str, Any]:
    """A value as the REST API writes it."""
    match value:
        case None:
            return {"nullValue": None}
        case bool():
            return {"booleanValue": value}
        case int():
            return {"integerValue": str(value)}
        case str():
            return {"stringValue": value}
        case list():
            return {"arrayValue": {"values": [_value(each) for each in value]}}
        case dict():
            return {"mapValue": {"fields": {name: _value(each) for name, each in value.items()}}}
        case datetime():
            return {"timestampValue": value.isoformat()}
        case _:
            raise TypeError(type(value))
