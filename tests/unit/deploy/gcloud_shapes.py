"""Resources in the shape in which gcloud shows them, made from the flags that they were told with."""

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

Flags = dict[str, list[str]]
Shape = dict[str, Any]
MADE_BY_UPDATE = ("firestore indexes fields", "firestore fields ttls")


def key(kind: str, name: str, flags: Flags) -> str:
    """What tells a resource from others of its kind."""
    group = flags.get("collection-group", [""])[0]
    match kind:
        case "iam service-accounts":
            return name.partition("@")[0]
        case "firestore databases":
            return flags["database"][0]
        case "firestore indexes composite":
            return f"{group} {flags.get('field-config')}"
        case "firestore indexes fields" | "firestore fields ttls":
            return f"{group}/{name}"
        case "monitoring channels" if "channel-labels" in flags:
            return f"projects/p/notificationChannels/{flags['channel-labels'][0].partition('=')[2]}"
        case "monitoring policies" if name == "create":
            return f"projects/p/alertPolicies/{_file(flags, 'policy-from-file')['displayName']}"
        case "monitoring dashboards" if name == "create":
            return "d1"
        case "monitoring uptime" if "resource-labels" in flags:
            return f"{name}-x1"
    return name


def shape(kind: str, name: str, flags: Flags, before: Shape) -> Shape:
    """The resource after a create or an update. Raises ValueError when it is refused."""
    made = SHAPES.get(kind, _named)(name, flags)
    if kind == "monitoring dashboards":
        if made.get("etag", "") != before.get("etag", ""):
            raise ValueError("ABORTED: the etag is not that of the dashboard")
        made["etag"] = f"e{int(before.get('etag', 'e0')[1:]) + 1}"
    return {**before, **made}


def _named(name: str, _flags: Flags) -> Shape:
    return {"name": name}


def _one(flags: Flags, name: str) -> str:
    return flags[name][-1]


def _file(flags: Flags, name: str) -> Shape:
    document: Shape = json.loads(Path(_one(flags, name)).read_text())
    return document


def _pairs(values: list[str]) -> dict[str, str]:
    return dict(value.removeprefix("^;;^").split("=", 1) for value in values)


def _service(name: str, flags: Flags) -> Shape:
    if not (Path(_one(flags, "source")) / "main.py").exists():
        raise ValueError("the source has no main.py")
    env: list[Shape] = [{"name": k} | ({"value": v} if v else {}) for k, v in _pairs(flags["set-env-vars"]).items()]
    for pair in ",".join(flags.get("set-secrets", [])).split(","):
        if pair:
            variable, _, secret = pair.partition("=")
            kept = {"name": secret.partition(":")[0], "key": secret.partition(":")[2]}
            env.append({"name": variable, "valueFrom": {"secretKeyRef": kept}})
    container = {"env": env, "resources": {"limits": {"cpu": _one(flags, "cpu"), "memory": _one(flags, "memory")}}}
    spec = {
        "containerConcurrency": int(_one(flags, "concurrency")),
        "timeoutSeconds": int(_one(flags, "timeout").removesuffix("s")),
        "serviceAccountName": _one(flags, "service-account"),
        "containers": [container],
    }
    scales = {"maxScale": _one(flags, "max-instances"), "minScale": _one(flags, "min-instances")}
    shown = {f"autoscaling.knative.dev/{scale}": value for scale, value in scales.items() if value != "0"}
    scale = {"annotations": shown}
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    built = {
        "run.googleapis.com/build-function-target": _one(flags, "function"),
        "run.googleapis.com/build-environment-variables": json.dumps(_pairs(flags["set-build-env-vars"])),
    }
    metadata = {"name": name, "annotations": built}
    return {"metadata": metadata, "spec": {"template": {"metadata": scale, "spec": spec}}, "status": ready}


def _queue(name: str, flags: Flags) -> Shape:
    rates = {
        "maxDispatchesPerSecond": float(_one(flags, "max-dispatches-per-second")),
        "maxConcurrentDispatches": int(_one(flags, "max-concurrent-dispatches")),
    }
    retries = {
        "maxAttempts": int(_one(flags, "max-attempts")),
        "minBackoff": _one(flags, "min-backoff"),
        "maxBackoff": _one(flags, "max-backoff"),
        "maxDoublings": int(_one(flags, "max-doublings")),
    }
    return {"name": name, "state": "RUNNING", "rateLimits": rates, "retryConfig": retries}


def _job(name: str, flags: Flags) -> Shape:
    retries = int(_one(flags, "max-retry-attempts"))
    target: Shape = {
        "uri": _one(flags, "uri"),
        "httpMethod": _one(flags, "http-method").upper(),
        "oidcToken": {
            "audience": _one(flags, "oidc-token-audience"),
            "serviceAccountEmail": _one(flags, "oidc-service-account-email"),
        },
    }
    if "message-body" in flags:
        target["body"] = base64.b64encode(_one(flags, "message-body").encode()).decode()
    return {
        "name": name,
        "state": "ENABLED",
        "schedule": _one(flags, "schedule"),
        "timeZone": _one(flags, "time-zone"),
        "attemptDeadline": _one(flags, "attempt-deadline"),
        "httpTarget": target,
        "retryConfig": {"retryCount": retries} if retries else {},
    }


def _database(name: str, _flags: Flags) -> Shape:
    return {
        "name": f"projects/p/databases/{name}",
        "type": "FIRESTORE_NATIVE",
        "pointInTimeRecoveryEnablement": "POINT_IN_TIME_RECOVERY_ENABLED",
        "deleteProtectionState": "DELETE_PROTECTION_" + ("ENABLED" if "delete-protection" in _flags else "DISABLED"),
    }


def _index(_name: str, flags: Flags) -> Shape:
    group = _one(flags, "collection-group")
    fields = []
    for config in flags["field-config"]:
        path, kind = re.fullmatch(r"field-path=(\w+),order=(\w+)", config).groups()  # type: ignore[union-attr]
        fields.append({"fieldPath": path, "order": kind.upper()})
    fields.append({"fieldPath": "__name__", "order": "ASCENDING"})
    name = f"projects/p/databases/d/collectionGroups/{group}/indexes/{abs(hash(str(fields)))}"
    return {"name": name, "queryScope": "COLLECTION", "state": "READY", "fields": fields}


def _exempt(name: str, flags: Flags) -> Shape:
    return {"name": f"projects/p/databases/d/collectionGroups/{name.replace('/', '/fields/')}", "indexConfig": {}}


def _version(name: str, flags: Flags) -> Shape:
    value = flags["stdin"][0]
    if not value:
        raise ValueError("INVALID_ARGUMENT: the payload is empty")
    return {"name": f"projects/p/secrets/{name}/versions/1", "state": "enabled", "payload": value}


def _channel(name: str, flags: Flags) -> Shape:
    labels = _pairs(flags["channel-labels"])
    return {"name": name, "displayName": _one(flags, "display-name"), "labels": labels}


def _check(name: str, _flags: Flags) -> Shape:
    return {"name": f"projects/p/uptimeCheckConfigs/{name}", "displayName": name.removesuffix("-x1")}


SHAPES: dict[str, Callable[[str, Flags], Shape]] = {
    "run services": _service,
    "tasks queues": _queue,
    "scheduler jobs": _job,
    "firestore databases": _database,
    "firestore indexes composite": _index,
    "firestore indexes fields": _exempt,
    "firestore fields ttls": _exempt,
    "secrets versions": _version,
    "monitoring channels": _channel,
    "monitoring uptime": _check,
    "monitoring policies": lambda name, flags: {"name": name, **_file(flags, "policy-from-file")},
    "monitoring dashboards": lambda name, flags: (
        {"name": f"projects/p/dashboards/{name}"} | _file(flags, "config-from-file")
    ),
    "iam service-accounts": lambda name, _flags: {"email": name},
}
