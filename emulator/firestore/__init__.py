"""A Firestore on this machine: somebody else's, Google's emulator, or the one in this folder."""

import os
from pathlib import Path
from typing import Literal, assert_never

from emulator.firestore.handle import Firestore, NotOfferedError
from emulator.firestore.official_jar import JAR_VARIABLE, find
from emulator.process import ROOT, spawn

__all__ = ["Firestore", "NoOfficialError", "NotOfferedError", "start"]

HOST_VARIABLE = "FIRESTORE_EMULATOR_HOST"
INDEXES = ROOT / "firestore.indexes.json"


class NoOfficialError(Exception):
    """The official emulator was asked for and is not on this machine."""


def start(
    kind: Literal["auto", "official", "embedded"] = "auto", indexes: Path | None = None, rules: Path | None = None
) -> Firestore:
    """Start a Firestore, ready for the first call, or join the one that is there.

    "auto" is the one FIRESTORE_EMULATOR_HOST names, else the official one where it is found, else the embedded one.
    ``indexes`` (the project's own file by default) is what the embedded one holds queries against; ``rules`` are
    security rules, which only the official one can judge. Raises NoOfficialError, and RuntimeError if none starts.
    """
    if kind == "auto" and os.environ.get(HOST_VARIABLE):
        return Firestore("external", os.environ[HOST_VARIABLE])
    match kind:
        case "auto":
            return start("official" if find() else "embedded", indexes, rules)
        case "official":
            if find() is None:
                raise NoOfficialError(
                    f"no official emulator: needs java on PATH, and {JAR_VARIABLE} or the Cloud SDK's"
                )
            server = spawn("emulator.firestore.official", *(("--rules", str(rules.resolve())) if rules else ()))
            return Firestore("official", server.addresses["host"], server)
        case "embedded":
            file = indexes or (INDEXES if INDEXES.exists() else None)
            server = spawn("emulator.firestore", "--port", "0", *(("--indexes", str(file.resolve())) if file else ()))
            return Firestore("embedded", server.addresses["host"], server)
    assert_never(kind)
