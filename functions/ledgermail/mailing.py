"""A mailing: a declared kind of mail. Each folder in `mailings/` is one; adding a folder adds a mailing."""

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType

from ledgermail.backoff import Backoff
from ledgermail.declared import Declared, refuse
from ledgermail.delivery import Guarantee
from ledgermail.errors import ConfigurationError
from ledgermail.ids import encode_part
from ledgermail.policy import Policy

TEMPLATES = ("subject.txt", "body.mjml", "body.txt")
HASH_CHARS = 16  # of a SHA-256: names a version of the templates


@dataclass(frozen=True, kw_only=True)
class Mailing:
    """One kind of mail, as its folder declares it."""

    name: str
    guarantee: Guarantee
    policy: Policy
    max_age: timedelta  # a match older than this is never planned
    look_back: timedelta  # how far back matches that were committed late are looked for
    promise: timedelta  # the oldest unfinished delivery must be younger
    templates: Mapping[str, str]  # file name -> text
    version: str  # of the templates


def load(folder: Path) -> Mapping[str, Mailing]:
    """Every mailing by name. Raises ConfigurationError with the problems of all of them, each by file and key."""
    mailings: dict[str, Mailing] = {}
    problems: list[str] = []
    for path in sorted(path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else ():
        try:
            mailings[path.name] = _load_one(path)
        except ConfigurationError as error:
            problems.extend(error.problems)
    if not mailings and not problems:
        problems.append(f"{folder.name}: has no mailing")
    refuse(problems)
    return MappingProxyType(mailings)


def _load_one(path: Path) -> Mailing:
    place = f"{path.name}/mailing.toml "
    templates, missing = _templates(path)
    try:
        values = tomllib.loads((path / "mailing.toml").read_text("utf-8"))
    except FileNotFoundError as error:
        raise ConfigurationError([*missing, f"{path.name}/mailing.toml: is missing"]) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError([*missing, f"{path.name}/mailing.toml: {error}"]) from error
    declared = Declared(values, place)
    mailing = _read(path.name, declared, templates)
    declared.unknown()
    _check(declared, mailing)
    refuse([*missing, *declared.problems])
    return mailing


def _templates(path: Path) -> tuple[Mapping[str, str], list[str]]:
    found, problems = {}, []
    for name in TEMPLATES:
        try:
            found[name] = (path / name).read_text("utf-8")
        except FileNotFoundError:
            problems.append(f"{path.name}/{name}: is missing")
        except UnicodeDecodeError as error:
            problems.append(f"{path.name}/{name}: {error}")
    return found, problems


def _read(name: str, declared: Declared, templates: Mapping[str, str]) -> Mailing:
    return Mailing(
        name=name,
        guarantee=declared.choice("guarantee", Guarantee),
        policy=Policy(
            backoff=Backoff(
                base=declared.duration("retry_base", Backoff().base),
                cap=declared.duration("retry_cap", Backoff().cap),
                deadline=declared.duration("retry_deadline", Backoff().deadline),
            ),
            slack=declared.duration("slack", Policy().slack),
            retention=declared.duration("retention", Policy().retention),
        ),
        max_age=declared.duration("max_age", timedelta(days=3)),
        look_back=declared.duration("look_back", timedelta(days=1)),
        promise=declared.duration("promise", timedelta(minutes=15)),
        templates=templates,
        version=hashlib.sha256("\0".join(map(str, sorted(templates.items()))).encode()).hexdigest()[:HASH_CHARS],
    )


def _check(declared: Declared, mailing: Mailing) -> None:
    """Note what would break the promise although each value by itself is sound."""
    if encode_part(mailing.name, "mailing") != mailing.name:
        declared.problem("name", "the folder's name may hold only letters, digits, dots and hyphens")
    for longer, shorter in (("retention", "max_age"), ("retention", "look_back"), ("max_age", "look_back")):
        long, short = (getattr(mailing, n, None) or getattr(mailing.policy, n) for n in (longer, shorter))
        # A pruned delivery is forgotten: a match that could still be planned then would be mailed again.
        if (long <= short) if longer == "retention" else (long < short):
            declared.problem(longer, f"must be longer than {shorter}")
    if mailing.policy.backoff.cap < mailing.policy.backoff.base:
        declared.problem("retry_cap", "must not be shorter than retry_base")
