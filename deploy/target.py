"""Where to deploy, and what this deployment decides: the command line and deploy.toml, with every problem reported at once."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from deploy import ROOT
from deploy.table import FUNCTIONS, TASK_ACCOUNT, Function
from ledgermail import mailing, settings
from ledgermail.declared import refuse
from ledgermail.delivering.addresses import usable_address
from ledgermail.delivering.content import must_compile
from ledgermail.errors import ConfigurationError
from ledgermail.settings import ConsoleAuth

NUMBER = "@PROJECT_NUMBER@"  # known only to the project itself: filled in when a command is run
PREFIX = re.compile(r"[a-z][a-z0-9-]{0,16}[a-z0-9]")  # with any function's name still within an account's 30 characters
PROJECT = re.compile(r"[a-z][a-z0-9-]{4,28}[a-z0-9]")
DATABASE = re.compile(r"\(default\)|[a-z][a-z0-9-]{2,61}[a-z0-9]")
MEMORY = re.compile(r"[1-9]\d*[MG]i?")
REGION = re.compile(r"[a-z]+-[a-z]+\d+")
KEYS = {"prefix": str, "database": str, "firestore_location": str, "notify": list, "ttl": bool}
TABLES = ("settings", "functions")
TUNABLE = {"memory": str, "cpu": int, "concurrency": int, "min_instances": int, "max_instances": int}
SOURCE = ROOT / "functions"
OURS = ("PROJECT", "DATABASE", "LOCATION", "QUEUE", "UPKEEP_QUEUE", "FUNCTION_URL", "TASK_ACCOUNT")  # by the deployment


@dataclass(frozen=True, kw_only=True)
class Target:
    """One deployment. Everything it makes bears the prefix, so that a project may hold others, and other things."""

    project: str
    region: str
    prefix: str
    database: str
    firestore_location: str
    notify: tuple[str, ...]  # the addresses that alerts go to
    ttl: bool
    settings: Mapping[str, str]  # LEDGERMAIL_... as the README lists them, without the prefix
    functions: tuple[Function, ...]
    timeout: timedelta = timedelta(seconds=60)  # of every function: LEDGERMAIL_FUNCTION_TIMEOUT

    def name(self, part: str) -> str:
        """What something of ours is called: a service, an account, a queue, a job, a metric."""
        return f"{self.prefix}-{part}"

    def account(self, part: str) -> str:
        """The address of a service account of ours."""
        return f"{self.name(part)}@{self.project}.iam.gserviceaccount.com"

    def host(self, function: str) -> str:
        """Where a function answers: Cloud Run's deterministic address, known before the first deployment."""
        return f"{self.name(function)}-{NUMBER}.{self.region}.run.app"

    def url(self, function: str) -> str:
        """The address of a function."""
        return f"https://{self.host(function)}"

    def environment(self) -> dict[str, str]:
        """The variables of every function, without THREADS and the secrets."""
        ours = {
            "PROJECT": self.project,
            "DATABASE": self.database,
            "LOCATION": self.region,
            "QUEUE": self.name("deliver"),
            "UPKEEP_QUEUE": self.name("upkeep"),
            "FUNCTION_URL": self.url("{function}"),
            "TASK_ACCOUNT": self.account(TASK_ACCOUNT),
        }
        return {f"{settings.PREFIX}{name}": value for name, value in {**ours, **self.settings}.items()}


def read(project: str, region: str, path: Path | None) -> Target:
    """The target that the command line and the file name. Raises ConfigurationError with everything that is wrong."""
    try:
        declared = tomllib.loads(path.read_text("utf-8")) if path else {}
    except (OSError, ValueError) as error:
        raise ConfigurationError([f"{path}: {error}"]) from error
    problems = _problems(project, region, declared)
    target = _target(project, region, _sound(declared))
    try:
        checked = _check_settings(target)
    except ConfigurationError as error:
        raise ConfigurationError([*problems, *error.problems]) from error
    refuse(problems)
    functions = tuple(_with_secrets(function, checked.provider) for function in target.functions)
    return replace(target, functions=functions, timeout=checked.function_timeout)


def _target(project: str, region: str, declared: Mapping[str, Any]) -> Target:
    return Target(
        project=project,
        region=region,
        prefix=declared.get("prefix", "ledgermail"),
        database=declared.get("database", "(default)"),
        firestore_location=declared.get("firestore_location", region),
        notify=tuple(declared.get("notify", ())),
        ttl=declared.get("ttl", False),
        settings={name: _text(value) for name, value in declared.get("settings", {}).items()},
        functions=tuple(_tuned(function, declared) for function in FUNCTIONS),
    )


def _sound(declared: Mapping[str, Any]) -> dict[str, Any]:
    """What can be looked at further, although something else is wrong: so that all of it is told at once."""
    kinds = {**KEYS, **dict.fromkeys(TABLES, dict)}
    sound = {name: value for name, value in declared.items() if name in kinds and _is(declared, name, kinds[name])}
    given = sound.get("settings", {})
    sound["settings"] = {name: given[name] for name in given if name not in OURS and name not in settings.SECRET_NAMES}
    functions = sound.get("functions", {})
    sound["functions"] = {name: functions[name] for name in functions if not _function_problems(name, functions[name])}
    return sound


def check_mailings(target: Target) -> None:
    """Look at the mailings as `deliver` will at its start. Raises ConfigurationError with everything that is wrong.

    A folder named by an absolute path is one of the image, and is not here.
    """
    folder = Path(target.settings.get("MAILINGS", settings.FOLDER.name))
    if not folder.is_absolute():
        mailings = mailing.load(SOURCE / folder)
        must_compile(mailings.values())


def _problems(project: str, region: str, declared: Mapping[str, Any]) -> list[str]:
    problems = [] if PROJECT.fullmatch(project) else [f"--project: {project!r} is no project id"]
    problems += [] if REGION.fullmatch(region) else [f"--region: {region!r} is no region, such as europe-west1"]
    problems += [f"{name}: is not known" for name in declared if name not in KEYS and name not in TABLES]
    problems += [f"{name}: must be {kind.__name__}" for name, kind in KEYS.items() if not _is(declared, name, kind)]
    problems += [f"{name}: must be a table" for name in TABLES if not _is(declared, name, dict)]
    declared = {name: value for name, value in declared.items() if _is(declared, name, KEYS.get(name, dict))}
    if not PREFIX.fullmatch(declared.get("prefix", "ledgermail")):
        problems.append("prefix: must be 2 to 18 of a-z, 0-9 and -, beginning with a letter")
    if not DATABASE.fullmatch(declared.get("database", "(default)")):
        problems.append("database: must be (default), or 4 to 63 of a-z, 0-9 and -, beginning with a letter")
    problems += [f"notify: {to!r} is no address" for to in declared.get("notify", ()) if usable_address(to) is None]
    problems += [f"settings.{name}: is set by the deployment" for name in declared.get("settings", {}) if name in OURS]
    secrets = settings.SECRET_NAMES
    problems += [f"settings.{name}: is a secret" for name in declared.get("settings", {}) if name in secrets]
    for name, values in declared.get("functions", {}).items():
        problems += _function_problems(name, values)
    return problems


def _function_problems(name: str, values: object) -> list[str]:
    if name not in {function.name for function in FUNCTIONS} or not isinstance(values, dict):
        return [f"functions.{name}: there is no such function"]
    problems = [
        f"functions.{name}.{key}: must be one of {', '.join(TUNABLE)}, of the right kind"
        for key in values
        if key not in TUNABLE or not _is(values, key, TUNABLE[key])
    ]
    if problems:
        return problems
    least = {key: 0 if key == "min_instances" else 1 for key in TUNABLE if key != "memory"}
    problems = [f"functions.{name}.{k}: must be {n} or more" for k, n in least.items() if values.get(k, n) < n]
    if not MEMORY.fullmatch(values.get("memory", "512Mi")):
        problems.append(f"functions.{name}.memory: must be as 512Mi or 1Gi")
    return problems


def _is(declared: Mapping[str, Any], name: str, kind: type) -> bool:
    value = declared.get(name)
    return name not in declared or (isinstance(value, kind) and (kind is bool or not isinstance(value, bool)))


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _tuned(function: Function, declared: Mapping[str, Any]) -> Function:
    """The function with what deploy.toml says of it. Where Firebase signs operators in, it is the console that lets them in."""
    tuned = replace(function, **declared.get("functions", {}).get(function.name, {}))
    opened = function.name == "console" and declared.get("settings", {}).get("CONSOLE_AUTH") == ConsoleAuth.FIREBASE
    return replace(tuned, public=True) if opened else tuned


def _with_secrets(function: Function, provider: settings.Provider) -> Function:
    """The function with the secrets that it reads where this is the provider."""
    read = settings.secrets_of(function.name, provider)
    return replace(function, secrets=tuple(name for name in function.secrets if name in read))


def _check_settings(target: Target) -> settings.Settings:
    """What a function will say at its start, said before anything is deployed."""
    secrets = {
        f"{settings.PREFIX}{name}": "deployed-apart".ljust(settings.KEY_CHARS, "-") for name in settings.SECRET_NAMES
    }
    return settings.read({**target.environment(), **secrets, "K_SERVICE": "deploy"})
