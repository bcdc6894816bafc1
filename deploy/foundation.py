"""The ground: the project and its APIs, service accounts, secrets, and who may do what."""

from collections.abc import Sequence

from deploy.step import Command, Step
from deploy.table import APIS, BUILD_ACCOUNT, GENERATED, TASK_ACCOUNT
from deploy.target import Target
from ledgermail.settings import PREFIX


def project(target: Target) -> list[Step]:
    """The project is there, and its number is known."""
    return [
        Step(
            title=f"project {target.project}",
            why="Its number is part of every function's address.",
            find=_gcloud(target, "projects", "describe", target.project, "--format=value(projectNumber)"),
            captures="PROJECT_NUMBER",
            fix=f"Create the project, link billing, and log in: gcloud auth login; gcloud projects create {target.project}",
        ),
        Step(
            title="APIs",
            create=_gcloud(target, "services", "enable", *(f"{api}.googleapis.com" for api in APIS)),
            fix="Link a billing account to the project; you need roles/serviceusage.serviceUsageAdmin.",
        ),
    ]


def accounts(target: Target) -> list[Step]:
    """A service account for each function, one that calls them, one that builds them."""
    purposes = {function.name: f"runs {function.name}" for function in target.functions}
    purposes |= {TASK_ACCOUNT: "in whose name tasks and schedules call", BUILD_ACCOUNT: "builds the functions"}
    return [_account(target, part, purpose) for part, purpose in purposes.items()]


def _account(target: Target, part: str, purpose: str) -> Step:
    name, email = target.name(part), target.account(part)
    group = ("iam", "service-accounts")
    return Step(
        title=f"service account {name}",
        why=purpose,
        find=_gcloud(target, *group, "describe", email, "--format=value(email)"),
        create=_gcloud(target, *group, "create", name, f"--display-name={name}: {purpose}"),
        delete=_gcloud(target, *group, "delete", email, "--quiet"),
        fix="You need roles/iam.serviceAccountAdmin.",
    )


def secrets(target: Target) -> list[Step]:
    """Each secret, a value for it, and the functions that may read it."""
    readers: dict[str, list[str]] = {}
    for function in target.functions:
        for secret in function.secrets:
            readers.setdefault(secret, []).append(function.name)
    steps = []
    for secret, functions in readers.items():
        steps += _secret(target, secret)
        steps += [_reader(target, secret, function) for function in functions]
    return steps


def secret_name(target: Target, secret: str) -> str:
    """What Secret Manager calls a secret of ours."""
    return target.name(secret.lower().replace("_", "-"))


def _secret(target: Target, secret: str) -> list[Step]:
    name, variable = secret_name(target, secret), f"{PREFIX}{secret}"
    versions = ("secrets", "versions")
    return [
        Step(
            title=f"secret {name}",
            find=_gcloud(target, "secrets", "describe", name, "--format=value(name)"),
            create=_gcloud(target, "secrets", "create", name, "--replication-policy=automatic"),
            delete=_gcloud(target, "secrets", "delete", name, "--quiet"),
            fix="You need roles/secretmanager.admin.",
        ),
        Step(
            title=f"value of secret {name}",
            why=f"Read once from the environment variable {variable}; never printed. A value that is there is kept.",
            find=_gcloud(
                target, *versions, "list", name, "--filter=state=enabled", "--limit=1", "--format=value(name)"
            ),
            create=_gcloud(target, *versions, "add", name, "--data-file=-"),
            stdin=variable,
            generated=secret in GENERATED,
            fix=f"export {variable}=... and run again.",
        ),
    ]


def _reader(target: Target, secret: str, function: str) -> Step:
    return grant(
        target,
        ("secrets",),
        secret_name(target, secret),
        f"serviceAccount:{target.account(function)}",
        "roles/secretmanager.secretAccessor",
    )


def rights(target: Target) -> list[Step]:
    """What each account may do, and no more."""
    steps = [_project_right(target, BUILD_ACCOUNT, "roles/run.builder", "None")]
    for function in target.functions:
        member = f"serviceAccount:{target.account(function.name)}"
        if function.ledger:
            steps.append(_project_right(target, function.name, function.ledger, _only(target)))
        if function.name == "console" and function.public:  # it opens sessions, and asks whether they were revoked
            steps.append(_project_right(target, function.name, "roles/firebaseauth.admin", "None"))
        for queue in function.queues:
            where = (f"--location={target.region}",)
            steps.append(
                grant(
                    target,
                    ("tasks", "queues"),
                    target.name(queue),
                    member,
                    "roles/cloudtasks.enqueuer",
                    where=where,
                    removed=True,
                )
            )
        if function.queues:  # a task bears the name of the account that it calls in
            group = ("iam", "service-accounts")
            steps.append(grant(target, group, target.account(TASK_ACCOUNT), member, "roles/iam.serviceAccountUser"))
    return steps


def _only(target: Target) -> str:
    """The condition that binds a role on the project to our database."""
    name = f"projects/{target.project}/databases/{target.database}"
    return f'expression=resource.name=="{name}",title={target.prefix}'


def _project_right(target: Target, part: str, role: str, condition: str) -> Step:
    return grant(
        target,
        ("projects",),
        target.project,
        f"serviceAccount:{target.account(part)}",
        role,
        where=(f"--condition={condition}",),
        removed=True,
    )


def grant(
    target: Target,
    group: Sequence[str],
    resource: str,
    member: str,
    role: str,
    *,
    where: Sequence[str] = (),
    removed: bool = False,
) -> Step:
    """A role for a member on a resource. `removed`: by hand, as the resource outlives us."""
    who = (f"--member={member}", f"--role={role}")
    location = tuple(flag for flag in where if not flag.startswith("--condition="))
    shown = ("--flatten=bindings[].members", "--format=value(bindings.role)", "--limit=1")
    only = f'--filter=bindings.role="{role}" AND bindings.members="{member}"'
    take = (*group, "remove-iam-policy-binding", resource, *where, *who)
    return Step(
        title=f"{role.removeprefix('roles/')} on {resource} for {member.partition(':')[2].partition('@')[0] or member}",
        find=_gcloud(target, *group, "get-iam-policy", resource, *location, only, *shown),
        create=_gcloud(target, *group, "add-iam-policy-binding", resource, *where, *who, "--format=none"),
        delete=_gcloud(target, *take, "--format=none") if removed else None,
        fix="You need the right to grant roles here. A new service account may take a minute to be known: run again.",
    )


def _gcloud(target: Target, *words: str) -> Command:
    return ("gcloud", *words, f"--project={target.project}")
