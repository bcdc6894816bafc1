"""Firestore: the database, the indexes and exemptions of firestore.indexes.json, the rules, and the optional TTL."""

import json
from collections.abc import Mapping
from typing import Any

from deploy import ROOT
from deploy.step import Command, Expected, Step
from deploy.target import Target

INDEXES = ROOT / "firestore.indexes.json"
Entry = Mapping[str, Any]


def database(target: Target) -> list[Step]:
    """The database, recoverable for seven days and protected from deletion."""
    describe = _firestore(target, "databases", "describe")
    return [
        Step(
            title=f"database {target.database}",
            why="Native mode; what was deleted by mistake can be read back for seven days (PITR).",
            find=(*describe, "--format=value(name)"),
            create=_firestore(
                target,
                "databases",
                "create",
                f"--location={target.firestore_location}",
                "--type=firestore-native",
                "--enable-pitr",
                "--delete-protection",
            ),
            update=_firestore(target, "databases", "update", "--enable-pitr", "--delete-protection"),
            expected=(
                Expected(
                    command=(*describe, "--format=json"),
                    values={
                        ("type",): "FIRESTORE_NATIVE",
                        ("pointInTimeRecoveryEnablement",): "POINT_IN_TIME_RECOVERY_ENABLED",
                        ("deleteProtectionState",): "DELETE_PROTECTION_ENABLED",
                    },
                ),
            ),
            fix="A database in Datastore mode cannot be used: name another with `database` in deploy.toml.",
        )
    ]


def erase(target: Target) -> list[Command]:
    """What deletes the database with all that is in it."""
    return [
        _firestore(target, "databases", "update", "--no-delete-protection"),
        _firestore(target, "databases", "delete", "--quiet"),
    ]


def indexes(target: Target) -> list[Step]:
    """The composite indexes, and the fields that have none: all without waiting, `check` says when they are ready."""
    declared = json.loads(INDEXES.read_text("utf-8"))
    steps = [_composite(target, index) for index in declared["indexes"]]
    steps += [_exemption(target, override) for override in declared["fieldOverrides"]]
    return [*steps, _ttl(target)]


def _composite(target: Target, index: Entry) -> Step:
    group, scope, fields = index["collectionGroup"], index["queryScope"], index["fields"]
    words = ("indexes", "composite")
    return Step(
        title=f"index {group} ({', '.join(field['fieldPath'] for field in fields)})",
        find=_firestore(
            target, *words, "list", f"--filter={_same(index)}", "--limit=1", "--format=value(name.basename())"
        ),
        create=_firestore(
            target,
            *words,
            "create",
            f"--collection-group={group}",
            f"--query-scope={scope.lower().replace('_', '-')}",
            *(f"--field-config={_field(field)}" for field in fields),
            "--async",
        ),
        expected=(
            Expected(
                command=_firestore(target, *words, "list", f"--filter={_same(index)}", "--limit=1", "--format=json"),
                values={("0", "state"): "READY"},
            ),
        ),
        fix="You need roles/datastore.indexAdmin. An index that is being built is not an error: wait, and check again.",
    )


def _same(index: Entry) -> str:
    """The filter for exactly this index. Firestore ends every index with the name of the document."""
    parts = [f'name:"collectionGroups/{index["collectionGroup"]}/"', f"queryScope={index['queryScope']}"]
    for place, field in enumerate(index["fields"]):
        parts.append(f"fields[{place}].fieldPath={field['fieldPath']}")
        parts += [f"fields[{place}].{key}={field[key]}" for key in ("order", "arrayConfig") if key in field]
    return " AND ".join([*parts, f"fields[{len(index['fields'])}].fieldPath=__name__"])


def _field(field: Entry) -> str:
    kind = f"order={field['order'].lower()}" if "order" in field else f"array-config={field['arrayConfig'].lower()}"
    return f"field-path={field['fieldPath']},{kind}"


def _exemption(target: Target, override: Entry) -> Step:
    """A field without single-field indexes: an indexed rising time caps the whole collection at 500 writes a second."""
    if override["indexes"]:
        raise ValueError(f"{override['fieldPath']}: only exemptions without any index are deployed")
    group, path = f"--collection-group={override['collectionGroup']}", override["fieldPath"]
    only = f'--filter=name~"/fields/`?{path}`?$" AND NOT indexConfig.indexes:*'
    return Step(
        title=f"no index on {override['collectionGroup']}.{path}",
        find=_firestore(target, "indexes", "fields", "list", group, only, "--limit=1", "--format=value(name)"),
        create=_firestore(target, "indexes", "fields", "update", path, group, "--disable-indexes", "--async"),
        fix="You need roles/datastore.indexAdmin. Too many at a time: wait a minute, and run again.",
    )


def _ttl(target: Target) -> Step:
    """On or off, as deploy.toml says now: left on, it would go on deleting what no prune has counted."""
    words, group = ("fields", "ttls"), "--collection-group=deliveries"
    update = _firestore(target, *words, "update", "prune_at", group, "--async")
    field = '--filter=name~"/fields/`?prune_at`?$"'
    off = "" if target.ttl else "no "
    return Step(
        title=f"{off}TTL on deliveries.prune_at",
        why="A backstop: what it deletes no prune has counted, so the identity of those runs no longer holds.",
        find=_firestore(target, *words, "list", group, field, "--limit=1", "--format=value(name)"),
        create=(*update, "--enable-ttl") if target.ttl else None,
        delete=None if target.ttl else (*update, "--disable-ttl"),
        required=target.ttl,
        unwanted=not target.ttl,
        fix="You need roles/datastore.indexAdmin. It takes a while to be seen.",
    )


def rules(target: Target) -> list[Step]:
    """The rules, where there are none: gcloud has no command for them, so a module of ours asks the rules API."""
    words = ("python3", "-m", "deploy.rules", f"--project={target.project}", f"--database={target.database}")
    return [
        Step(
            title="rules",
            why="Where the project has rules of its own they are left alone, and it is said what they must keep out.",
            create=(*words, "firestore.rules"),
            fix="You need roles/firebaserules.admin. Or deploy firestore.rules with the Firebase console or CLI.",
        )
    ]


def _firestore(target: Target, *words: str) -> Command:
    return ("gcloud", "firestore", *words, f"--database={target.database}", f"--project={target.project}")
