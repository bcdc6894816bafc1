"""A Firestore on this machine: somebody else's, Google's emulator, or the one in this folder."""

import os
from pathlib import Path
from typing import Literal, assert_never

from emulator.firestore.handle import Firestore, NotOfferedError
from emulator.firestore.official_jar import JAR_VARIABLE, find
from emulator.process import ROOT, Server, spawn

__all__ = ["Firestore", "NoOfficialError", "NotOfferedError", "start"]

HOST_VARIABLE = "FIRESTORE_EMULATOR_HOST"
INDEXES = ROOT / "firestore.indexes.json"


class NoOfficialError(Exception):
    """The official emulator was asked for and is not on this machine."""


def start(
    kind: Literal["auto", "official", "embedded"] = "auto",
    indexes: Path | None = INDEXES,
    rules: Path | None = None,
    *,
    port: int = 0,
    data: Path | None = None,
) -> Firestore:
    """Start a Firestore, ready for the first call, or join the one that is there.

    "auto" is the one FIRESTORE_EMULATOR_HOST names, else the official one where it is found, else the embedded one.
    The embedded one refuses queries that ``indexes`` does not serve (None: it serves all, as the official one does);
    ``rules`` are security rules, which only the official one can judge. Port 0 is any free one. ``data`` is a file of the
    embedded one's, from which it goes on when it is started again. Raises NoOfficialError, and RuntimeError if it does
    not start.
    """
    if kind == "auto" and os.environ.get(HOST_VARIABLE):
        return Firestore("external", os.environ[HOST_VARIABLE])
    match kind:
        case "auto":
            return start("official" if find() else "embedded", indexes, rules, port=port)
        case "official":
            if find() is None:
                raise NoOfficialError(
                    f"no official emulator: needs java on PATH, and {JAR_VARIABLE} or the Cloud SDK's"
                )
            return _spawned("official", "emulator.firestore.official", port, rules=rules)
        case "embedded":
            return _spawned("embedded", "emulator.firestore", port, indexes=indexes, data=data)
    assert_never(kind)


def _spawned(kind: Literal["official", "embedded"], module: str, port: int, **files: Path | None) -> Firestore:
    given = [f"--{option}={path.resolve()}" for option, path in files.items() if path]

    def spawned(port: int) -> Server:
        return spawn(module, f"--port={port}", *given)

    server = spawned(port)
    return Firestore(kind, server.addresses["host"], server, spawned)
