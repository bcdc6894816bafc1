"""What Google charges for what a deployment uses: a dated table, which a TOML file can override. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import date
from math import inf
from typing import Any

from ledgermail.errors import ConfigurationError

GIB = 2**30
DAYS = 30  # of a month, as free amounts a day are counted here


@dataclass(frozen=True)
class Price:
    """Dollars for `per` of something, beyond what is free in a month."""

    dollars: float
    per: float
    free: float = 0


@dataclass(frozen=True, kw_only=True)
class Prices:
    """List prices in US dollars, by what is used."""

    at: date
    source: str
    prices: Mapping[str, Price]


# A region such as us-central1 or europe-west1; the multi-regions nam5 and eur3 cost about twice as much in Firestore.
# The free amounts are those of the first database of a project, and of a billing account that has nothing else.
LISTED = Prices(
    at=date(2026, 12, 1),
    source="cloud.google.com/firestore/pricing, /tasks/pricing, /run/pricing (tier 1, billed by request), /scheduler/pricing "
    "and /stackdriver/pricing, for us-central1, as quoted in public; look yours up",
    prices={
        "reads": Price(0.03, 100_000, 50_000 * DAYS),
        "writes": Price(0.09, 100_000, 20_000 * DAYS),
        "deletes": Price(0.01, 100_000, 20_000 * DAYS),
        "stored_bytes": Price(0.15, GIB, GIB),
        "task_operations": Price(0.40, 1_000_000, 1_000_000),
        "invocations": Price(0.40, 1_000_000, 2_000_000),
        "vcpu_seconds": Price(0.000024, 1, 180_000),
        "gib_seconds": Price(0.0000025, 1, 360_000),
        "scheduler_jobs": Price(0.10, 1, 3),
        "logged_bytes": Price(0.50, GIB, 50 * GIB),
    },
)


def overridden(prices: Prices, values: Mapping[str, Any]) -> Prices:
    """These prices with those of a TOML file: `at` (a date), `source`, and a table for each price that differs, as
    ``[reads]`` with `dollars`, `per` and `free`, each of which may be left out. Raises ConfigurationError naming what is wrong.
    """
    changed, problems = dict(prices.prices), []
    for name in values.keys() - {"at", "source"}:
        if name not in changed or not isinstance(values[name], dict):
            problems.append(f"{name}: is no price; there are {', '.join(changed)}")
            continue
        problems += [
            f"{name}.{key}: {problem}" for key, value in values[name].items() if (problem := _wrong(key, value))
        ]
        if not problems:
            changed[name] = replace(changed[name], **values[name])
    at, source = values.get("at"), values.get("source")
    if values and not isinstance(at, date):
        problems.append("at: must be the date of these prices")
    if values and not (isinstance(source, str) and source):
        problems.append("source: must say where these prices are from")
    if problems:
        raise ConfigurationError(sorted(problems))
    return replace(prices, at=at or prices.at, source=source or prices.source, prices=changed)


def _wrong(key: str, value: object) -> str:
    if key not in {field.name for field in fields(Price)}:
        return "is not known"
    number = isinstance(value, int | float) and not isinstance(value, bool) and value < inf
    return "" if number and (value > 0 or (value == 0 and key != "per")) else "must be a number, and not below 0"  # type: ignore[operator]
