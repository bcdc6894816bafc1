"""A mailing: a declared kind of mail. Each folder in `mailings/` is one; adding a folder adds a mailing."""

import hashlib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType

from ledgermail.declared import Declared, refuse
from ledgermail.errors import ConfigurationError, InvalidDocument
from ledgermail.ledger.backoff import Backoff
from ledgermail.ledger.delivery import TERMINAL, Guarantee
from ledgermail.ledger.ids import encode_part
from ledgermail.ledger.policy import Policy
from ledgermail.planning.schedules import Schedule, parse
from ledgermail.settings import Provider, Settings

TEMPLATES = ("subject.txt", "body.mjml", "body.txt")
ATTACHMENT = "attachment.csv"  # optional: its one line names the columns
BODIES = ("body.mjml", "body.txt")
COMMENT = re.compile(r"\{#.*?#\}|<!--.*?-->", re.DOTALL)
# Jinja itself would slow down every start.
SHOWN_LINK = re.compile(r"\{\{-?\s*(unsubscribe|preferences)_url\b[^}]*\}\}")
HASH_CHARS = 16  # of a SHA-256: names a version of the templates


# How long a lost answer waits for evidence, if the mailing does not say. Events come within seconds or minutes.
GRACES = {Guarantee.AT_MOST_ONCE: timedelta(), Guarantee.AT_LEAST_ONCE: timedelta(minutes=10)}


class Source(StrEnum):
    """What a mailing's items are."""

    MATCHES = "matches"  # the user's matches: one an alert, those of a period a digest
    REPORT = "report"  # the rows of a report's version


@dataclass(frozen=True, kw_only=True)
class Mailing:
    """One kind of mail, as its folder declares it. A digest has a schedule, an alert has none."""

    name: str
    title: str  # what a reader calls it
    guarantee: Guarantee
    source: Source
    schedule: Schedule | None  # of users without one of their own; None: not scheduled, each match is an alert at once
    policy: Policy
    webhook: bool  # whether a user's webhook is told of an accepted mail
    item_cap: int  # how many items a digest shows; of more it says how many
    catch_up: timedelta  # a run this late is still made; an older one is recorded as missed
    max_age: timedelta  # a match older than this is never planned
    look_back: timedelta  # how far back matches that were committed late are looked for
    promise: timedelta  # the oldest unfinished delivery must be younger
    templates: Mapping[str, str]  # file name -> text
    attachment: tuple[str, ...]  # the columns of the CSV file that goes with each mail; none: no file
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
    alerts = [name for name, mailing in mailings.items() if mailing.schedule is None]
    if len(alerts) > 1:  # their deliveries would have the same ids: a user and a job
        problems.append(
            f"{alerts[1]}/mailing.toml schedule: is missing, and only one mailing may be without: {alerts[0]} is"
        )
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
    for name in (*TEMPLATES, ATTACHMENT):
        try:
            found[name] = (path / name).read_text("utf-8")
        except FileNotFoundError:
            if name != ATTACHMENT:
                problems.append(f"{path.name}/{name}: is missing")
        except UnicodeDecodeError as error:
            problems.append(f"{path.name}/{name}: {error}")
    shown = {name for name in found if SHOWN_LINK.search(COMMENT.sub("", found[name]))}
    hidden = [name for name in BODIES if name in found and name not in shown]
    problems += [
        f"{path.name}/{name}: must show {{{{ unsubscribe_url }}}}, by which its reader stops it" for name in hidden
    ]
    return found, problems


def _read(name: str, declared: Declared, templates: Mapping[str, str]) -> Mailing:
    guarantee = declared.choice("guarantee", Guarantee)
    return Mailing(
        name=name,
        title=declared.text("title", name.replace("-", " ").capitalize()),
        guarantee=guarantee,
        source=declared.choice("source", Source, Source.MATCHES),
        schedule=_schedule(declared),
        policy=_policy(declared, GRACES[guarantee]),
        webhook=declared.flag("webhook", default=False),
        item_cap=declared.integer("item_cap", 20, least=1, most=200),
        catch_up=declared.duration("catch_up", timedelta(days=1)),
        max_age=declared.duration("max_age", timedelta(days=3)),
        look_back=declared.duration("look_back", timedelta(days=1)),
        promise=declared.duration("promise", timedelta(minutes=15)),
        templates=templates,
        attachment=tuple(name.strip() for name in templates.get(ATTACHMENT, "").split(",") if name.strip()),
        version=hashlib.sha256("\0".join(map(str, sorted(templates.items()))).encode()).hexdigest()[:HASH_CHARS],
    )


def _policy(declared: Declared, grace: timedelta) -> Policy:
    default = Policy()
    retention = declared.duration("retention", default.retention)
    return Policy(
        backoff=Backoff(
            base=declared.duration("retry_base", default.backoff.base),
            cap=declared.duration("retry_cap", default.backoff.cap),
            deadline=declared.duration("retry_deadline", default.backoff.deadline),
        ),
        slack=declared.duration("slack", default.slack),
        evidence_grace=declared.duration("evidence_grace", grace),
        retention=retention,
        retentions={status: declared.duration(f"retention_{status}", retention) for status in sorted(TERMINAL)},
    )


def _schedule(declared: Declared) -> Schedule | None:
    text = declared.text("schedule", "")
    try:
        return parse(text) if text else None
    except InvalidDocument as error:
        declared.problem("schedule", str(error))
        return None


def _check(declared: Declared, mailing: Mailing) -> None:
    """Note what would break the promise although each value by itself is sound."""
    if encode_part(mailing.name, "mailing") != mailing.name:
        declared.problem("name", "the folder's name may hold only letters, digits, dots and hyphens")
    _check_retention(declared, mailing)
    if mailing.policy.evidence_grace >= mailing.promise:
        declared.problem("evidence_grace", "must be shorter than promise: one lost answer would break it")
    if mailing.policy.backoff.deadline <= mailing.catch_up:
        declared.problem(
            "retry_deadline", "must be longer than catch_up: a run that late would expire without an attempt"
        )
    if mailing.max_age < mailing.look_back:
        declared.problem("max_age", "must not be shorter than look_back")
    if mailing.source is Source.REPORT and mailing.schedule is None:
        declared.problem("schedule", "is missing: a report has one")
    if mailing.policy.backoff.cap < mailing.policy.backoff.base:
        declared.problem("retry_cap", "must not be shorter than retry_base")


def _check_retention(declared: Declared, mailing: Mailing) -> None:
    """A pruned delivery is forgotten: what could still be planned then would be mailed again."""
    for name in ("max_age", "look_back", "catch_up"):
        for status, kept in mailing.policy.retentions.items():
            if kept <= getattr(mailing, name):
                declared.problem(f"retention_{status}", f"must be longer than {name}")
        if mailing.policy.retention <= getattr(mailing, name):
            declared.problem("retention", f"must be longer than {name}")


def in_force(mailings: Mapping[str, Mailing], settings: Settings) -> Mapping[str, Mailing]:
    """The mailings with what this deployment knows of its provider: who gets no events does not wait for their evidence."""

    told = bool(settings.events_keys) and settings.provider is Provider.SENDGRID  # whose events alone are read

    def policy(declared: Policy) -> Policy:
        grace = declared.evidence_grace if told else timedelta()
        return replace(declared, evidence_grace=grace, repeatable=settings.provider.repeatable)

    return {name: replace(declared, policy=policy(declared.policy)) for name, declared in mailings.items()}
