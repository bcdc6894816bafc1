"""The functions: one Cloud Run service each, built from functions/ by `gcloud run deploy --source`, and who may call it."""

import json

from deploy.foundation import grant, secret_name
from deploy.step import MISSING, Command, Expected, Path, Step
from deploy.table import BASE_IMAGE, BUILD_ACCOUNT, BUILD_ENVIRONMENT, TASK_ACCOUNT, Function
from deploy.target import Target
from ledgermail.settings import PREFIX

INVOKER = "roles/run.invoker"
CONTAINER: Path = ("spec", "template", "spec", "containers", "0")
BUILT: Path = ("metadata", "annotations")  # where gcloud notes what it has built with


def functions(target: Target) -> list[Step]:
    """Every function, in the order of a rollout."""
    return [_service(target, function) for function in target.functions]


def callers(target: Target) -> list[Step]:
    """The task account may call what tasks and schedules call; nothing else may."""
    member = f"serviceAccount:{target.account(TASK_ACCOUNT)}"
    called = [function.name for function in target.functions if function.called]
    return [invoker(target, name, member) for name in called]


def invoker(target: Target, function: str, member: str) -> Step:
    """The right of a member to call a function."""
    where = (f"--region={target.region}",)
    return grant(target, ("run", "services"), target.name(function), member, INVOKER, where=where)


def _service(target: Target, function: Function) -> Step:
    describe = _run(target, "services", "describe", target.name(function.name))
    deploy = _run(target, "deploy", target.name(function.name), *_flags(target, function))
    return Step(
        title=f"function {function.name}",
        why="Anybody may call it: it checks a key or a signature itself." if function.public else "Private, by IAM.",
        find=(*describe, "--format=value(metadata.name)"),
        create=deploy,
        update=deploy,
        delete=_run(target, "services", "delete", target.name(function.name), "--quiet"),
        expected=(
            Expected(command=(*describe, "--format=json"), values=_shown(target, function)),
            _access(target, function),
        ),
        fix="Read the build's or the revision's log, whose address is above. "
        "A revision that refuses its settings names each of them there.",
    )


def _flags(target: Target, function: Function) -> list[str]:
    return [
        "--source=functions",
        f"--function={function.name}",
        f"--base-image={BASE_IMAGE}",
        f"--build-service-account=projects/{target.project}/serviceAccounts/{target.account(BUILD_ACCOUNT)}",
        f"--service-account={target.account(function.name)}",
        "--allow-unauthenticated" if function.public else "--no-allow-unauthenticated",
        f"--memory={function.memory}",
        f"--cpu={function.cpu}",
        f"--concurrency={function.concurrency}",
        f"--timeout={_seconds(target)}s",
        f"--min-instances={function.min_instances}",
        f"--max-instances={function.max_instances}",
        *(f"--set-env-vars={_pair(name, value)}" for name, value in _environment(target, function).items()),
        *([f"--set-secrets={_secrets(target, function)}"] if function.secrets else ["--clear-secrets"]),
        *(f"--set-build-env-vars={_pair(name, value)}" for name, value in BUILD_ENVIRONMENT.items()),
        "--quiet",
    ]


def _environment(target: Target, function: Function) -> dict[str, str]:
    """THREADS is what gunicorn serves at once; without it requests would wait inside an instance that took them.

    An empty PYTHONTZPATH has the pinned tzdata decide when a schedule is due, and not whatever the base image holds today.
    """
    return {"THREADS": str(function.concurrency), "PYTHONTZPATH": "", **target.environment()}


def _pair(name: str, value: str) -> str:
    """gcloud splits at commas, unless another delimiter is named."""
    return f"^;;^{name}={value}" if "," in value else f"{name}={value}"


def _secrets(target: Target, function: Function) -> str:
    return ",".join(f"{PREFIX}{secret}={secret_name(target, secret)}:latest" for secret in function.secrets)


def _seconds(target: Target) -> int:
    return int(target.timeout.total_seconds())


def _shown(target: Target, function: Function) -> dict[Path, object]:
    """Where `describe` shows what `deploy` was told."""
    scale: Path = ("spec", "template", "metadata", "annotations")
    spec: Path = ("spec", "template", "spec")
    values: dict[Path, object] = {
        ("status", "conditions", "Ready", "status"): "True",
        (*BUILT, "run.googleapis.com/build-function-target"): function.name,
        (*BUILT, "run.googleapis.com/build-environment-variables"): json.dumps(BUILD_ENVIRONMENT),
        (*scale, "autoscaling.knative.dev/maxScale"): function.max_instances,
        (*scale, "autoscaling.knative.dev/minScale"): function.min_instances or MISSING,
        (*spec, "containerConcurrency"): function.concurrency,
        (*spec, "timeoutSeconds"): _seconds(target),
        (*spec, "serviceAccountName"): target.account(function.name),
        (*CONTAINER, "resources", "limits", "memory"): function.memory,
        (*CONTAINER, "resources", "limits", "cpu"): function.cpu,
    }
    for name, value in _environment(target, function).items():
        values[*CONTAINER, "env", name, "value" if value else "name"] = value or name  # an empty value is not shown
    for secret in function.secrets:
        kept: Path = ("valueFrom", "secretKeyRef", "name")
        values[*CONTAINER, "env", f"{PREFIX}{secret}", *kept] = secret_name(target, secret)
    return values


def _access(target: Target, function: Function) -> Expected:
    """Whether anybody may call it."""
    policy = _run(target, "services", "get-iam-policy", target.name(function.name))
    everybody = f'--filter=bindings.role="{INVOKER}" AND bindings.members="allUsers"'
    shown = ("--flatten=bindings[].members", everybody, "--format=json")
    values: dict[Path, object] = {("0", "bindings", "members"): "allUsers"} if function.public else {(): []}
    return Expected(command=(*policy, *shown), values=values)


def _run(target: Target, *words: str) -> Command:
    return ("gcloud", "run", *words, f"--region={target.region}", f"--project={target.project}")
