"""The verb cost: what a month costs at Google, by what is mailed and at dated prices that can be changed."""

import tomllib
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ledgermail.cli.codes import Code, Failed
from ledgermail.cli.options import Json
from ledgermail.cli.printed import print_json, print_lines, print_table
from ledgermail.costs.cost import Estimate, Usage, Volume
from ledgermail.costs.cost import cost as estimated
from ledgermail.costs.prices import LISTED, overridden
from ledgermail.errors import ConfigurationError


def cost(
    customers: Annotated[int, typer.Option(min=0, help="Who is mailed.")],
    runs: Annotated[float, typer.Option(min=0, help="Digests or reports that each of them gets within the days.")] = 0,
    alerts: Annotated[float, typer.Option(min=0, help="Instant alerts that each of them gets within the days.")] = 0,
    attempts: Annotated[float, typer.Option(min=1, help="Calls to the provider for a delivery, on average.")] = 1,
    days: Annotated[float, typer.Option(help="The days that these are of.")] = 30,
    matches: Annotated[float, typer.Option(min=0, help="Matches that a digest lists; 0 for reports.")] = 7,
    webhooks: Annotated[float, typer.Option(min=0, max=1, help="The share of customers with a webhook.")] = 0,
    events: Annotated[bool, typer.Option(help="Whether the provider tells what became of each mail.")] = True,
    prices: Annotated[Path | None, typer.Option(help="A TOML file with prices in the place of those listed.")] = None,
    as_json: Json = False,
) -> None:
    """What a month costs: operations, tasks, invocations, stored bytes, by a model that is tested against a meter."""
    volume = {"customers": customers, "runs": runs, "alerts": alerts, "attempts": attempts, "days": days}
    try:
        asked = Volume(**volume, matches=matches, webhooks=webhooks, events=events)  # type: ignore[arg-type]
        changed = {} if prices is None else tomllib.loads(prices.read_text("utf-8"))
        estimate = estimated(asked, overridden(LISTED, changed))
    except ConfigurationError as error:
        raise Failed(Code.USAGE, error.problems) from error
    except (OSError, ValueError) as error:  # not there; no TOML, no UTF-8
        raise Failed(Code.USAGE, [f"{prices}: {error}"]) from error
    if as_json:
        print_json({**asdict(estimate), "dollars": estimate.dollars})
    else:
        _print(estimate)


VERBS = (cost,)


def _print(estimate: Estimate) -> None:
    rows = {**estimate.rows, "all": estimate.total}
    print_table(["a month", "reads", "writes", "deletes", "tasks", "invocations"], [_row(*row) for row in rows.items()])
    print_lines("", f"At the prices of {estimate.prices.at}: {estimate.prices.source}.", "")
    charges = [(one.what, f"{one.quantity:,.0f}", f"{one.dollars:,.2f}") for one in estimate.charges]
    print_table(["charged", "quantity", "dollars"], [*charges, ("all", "", f"{estimate.dollars:,.2f}")])


def _row(name: str, usage: Usage) -> list[object]:
    counts = (usage.reads, usage.writes, usage.deletes, usage.tasks, usage.invocations)
    return [name, *(round(count) for count in counts)]
