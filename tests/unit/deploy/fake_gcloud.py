"""A gcloud that keeps what it is told: it refuses to create what is there and to change what is not.

The program on the PATH is a few lines of shell that hand each call through two pipes to a thread of the test's own process:
hundreds of calls would else be hundreds of interpreters.
"""

import json
import os
import threading
from pathlib import Path
from typing import Any

from tests.unit.deploy import gcloud_filters as filters
from tests.unit.deploy import gcloud_shapes as shapes

PROGRAM = r"""#!/bin/sh
case "$*" in *--data-file=-*) given=$(cat) ;; *) given= ;; esac
printf '%s\0' "$given" "$@" >"$FAKE_GCLOUD/asked"
{ read -r code; if [ "$code" = 0 ]; then cat; else cat >&2; fi; } <"$FAKE_GCLOUD/answered"
exit "$code"
"""
TRACKS = ("alpha", "beta")
VERBS = (
    "describe",
    "create",
    "update",
    "delete",
    "list",
    "list-configs",
    "add",
    "deploy",
    "enable",
    "print-access-token",
)
IAM = ("get-iam-policy", "add-iam-policy-binding", "remove-iam-policy-binding")
Resources = dict[str, dict[str, Any]]


class Refused(Exception):
    """What the real one prints after ERROR."""


class FakeGcloud:
    """Resources by kind and key, role bindings, and every call."""

    def __init__(self, folder: Path) -> None:
        """Put the program into `folder`/bin and serve it until `stop`."""
        self.path = folder / "bin"
        self.path.mkdir()
        (self.path / "gcloud").write_text(PROGRAM)
        (self.path / "gcloud").chmod(0o755)
        self.kinds: dict[str, Resources] = {}
        self.bindings: list[tuple[str, str, str]] = []
        self.calls: list[list[str]] = []
        self.fail_at = ""  # a call that contains this fails
        self._asked, self._answered = folder / "asked", folder / "answered"
        os.mkfifo(self._asked)
        os.mkfifo(self._answered)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Serve no more."""
        assert self._thread.is_alive(), "a call was too much for it: see the traceback above"
        self._asked.write_bytes(b"")
        self._thread.join()

    def _serve(self) -> None:
        while asked := self._asked.read_bytes():
            given, *arguments = asked.decode().split("\0")[:-1]
            self.calls.append(arguments)
            try:
                answer = f"0\n{self._act(arguments, given)}"
            except Refused as refused:
                answer = f"1\nERROR: (gcloud) {refused}\n"
            except (AssertionError, LookupError, StopIteration, ValueError) as fault:
                answer = f"1\nERROR: (fake gcloud) {fault!r}\n"
            self._answered.write_text(answer)

    def _act(self, arguments: list[str], given: str) -> str:
        """What a call prints, having done what it asks."""
        if self.fail_at and self.fail_at in " ".join(arguments):
            raise Refused("PERMISSION_DENIED: told to fail")
        words = [word for word in arguments if not word.startswith("--") and word not in TRACKS]
        flags = flags_of(arguments) | {"stdin": [given]}
        place = next(place for place, word in enumerate(words) if word in VERBS + IAM)
        kind, verb, name = " ".join(words[:place]), words[place], words[-1]
        if verb in IAM:
            return self._iam(f"{kind}/{name}", verb, flags)
        if kind == "projects":
            return printed([{"projectNumber": "123456789012"}], flags)
        if verb in ("enable", "print-access-token") or kind == "services identity":
            return "token\n"
        if verb == "deploy":
            self._open(f"run services/{name}", everybody="allow-unauthenticated" in flags)
            kind = "run services"
        return self._resource(kind, verb, name, flags)

    def _iam(self, where: str, verb: str, flags: shapes.Flags) -> str:
        if verb == "get-iam-policy":
            held = [{"bindings": {"role": role, "members": who}} for on, role, who in self.bindings if on == where]
            return printed(filters.matching(held, flags), flags)
        binding = (where, flags["role"][0], flags["member"][0])
        if verb.startswith("add"):
            self.bindings.append(binding)
        elif binding in self.bindings:
            self.bindings.remove(binding)
        else:
            raise Refused("NOT_FOUND: no such binding")
        return ""

    def _open(self, where: str, *, everybody: bool) -> None:
        binding = (where, "roles/run.invoker", "allUsers")
        self.bindings = [one for one in self.bindings if one != binding] + ([binding] if everybody else [])

    def _resource(self, kind: str, verb: str, name: str, flags: shapes.Flags) -> str:
        there, key = self.kinds.setdefault(kind, {}), shapes.key(kind, name, flags)
        if verb.startswith("list"):
            those = [one for at, one in there.items() if kind != "secrets versions" or at == key]
            return printed(filters.matching(those, flags), flags)
        if verb == "create" and key in there:
            raise Refused(f"ALREADY_EXISTS: {kind} {key}")
        changing = verb == "update" and kind not in shapes.MADE_BY_UPDATE
        if (changing or verb in ("describe", "delete")) and key not in there:
            raise Refused(f"NOT_FOUND: {kind} {key}")
        if verb == "describe":
            return printed([there[key]], flags, single=True)
        if "disable-ttl" in flags:
            return f"{there.pop(key)['name']}\n"
        if verb == "delete":
            if there.pop(key).get("deleteProtectionState") == "DELETE_PROTECTION_ENABLED":
                raise Refused("FAILED_PRECONDITION: the database is protected")
            return ""
        try:
            there[key] = shapes.shape(kind, key, flags, there.get(key, {}))
        except ValueError as error:
            raise Refused(str(error)) from error
        return ""


def flags_of(arguments: list[str]) -> shapes.Flags:
    """The values of each flag, in order."""
    flags: shapes.Flags = {}
    for word in arguments:
        if word.startswith("--"):
            name, _, value = word.removeprefix("--").partition("=")
            flags.setdefault(name, []).append(value)
    return flags


def printed(found: list[Any], flags: shapes.Flags, *, single: bool = False) -> str:
    """As --format and --limit want it."""
    found = found[: int(flags["limit"][0])] if "limit" in flags else found
    form = flags.get("format", ["none"])[0]
    if form == "json":
        return json.dumps(found[0] if single else found)
    if form.startswith("value("):
        return "".join(f"{filters.value(one, form[6:-1])}\n" for one in found)
    return ""
