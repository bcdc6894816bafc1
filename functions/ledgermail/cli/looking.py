"""The verbs that only look: status, runs, show, why."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ledgermail.cli.codes import Code, Failed
from ledgermail.cli.deployment import deployment
from ledgermail.cli.options import Json
from ledgermail.cli.printed import print_facts, print_json, print_lines, print_table
from ledgermail.ledger.delivery import Delivery, Status, to_document

if TYPE_CHECKING:
    from ledgermail.support.question import Answer

SHOWN_RUNS = 20
MOST_RUNS = 1_000
OTHERS = [status for status in Status if status not in {Status.PENDING, Status.IN_FLIGHT, Status.ACCEPTED}]
RUN_COLUMNS = ["run", "state", "intended", "pending", "in flight", "accepted", "others", "pruned", "identity"]


def status(
    runs: Annotated[
        int, typer.Option(min=0, max=MOST_RUNS, help="How many runs to count; 0: only the ages.")
    ] = SHOWN_RUNS,
    as_json: Json = False,
) -> None:
    """Whether the promise is kept: ages, runs, the identity, and what is wrong. Ends with 1 when something is."""
    from ledgermail.status.report import as_json as told_of

    found = deployment().statuses.report(runs)
    told = told_of(found)
    if as_json:
        print_json(told)
    else:
        print_lines(*(f"problem: {problem}" for problem in told["problems"]), *_held(told["held_back"]))
        _print_mailings(told)
        if told["runs"]:
            print_lines("")
            print_table(RUN_COLUMNS, map(_run_row, told["runs"]))
        cost = f"{told['cost']['reads']} reads"
        print_lines("", f"{'healthy' if found.healthy else 'NOT HEALTHY'}; identity: {told['identity']}; {cost}")
    if not found.healthy:
        raise typer.Exit(Code.PROBLEM)


def runs(
    limit: Annotated[int, typer.Option(min=1, max=MOST_RUNS, help="At most so many, the newest first.")] = SHOWN_RUNS,
    days: Annotated[int, typer.Option(min=1, max=3_650, help="Those opened in so many days.")] = 2,
    mailing: Annotated[str, typer.Option(help="Of one mailing only.")] = "",
    as_json: Json = False,
) -> None:
    """The newest runs: what each intended and what became of it, counted now."""
    from ledgermail.planning.runs import Runs
    from ledgermail.status.bill import Bill
    from ledgermail.status.report import run_as_json

    app, bill = deployment(), Bill()
    since = app.clock.now() - timedelta(days=days)
    newest = Runs(app.client).accounts(since, MOST_RUNS if mailing else limit, bill)
    accounts = [one for one in newest if mailing in ("", one.mailing)][:limit]
    if mailing and not accounts and mailing not in app.mailings:  # one that is gone may still have runs
        raise Failed(Code.USAGE, [f"--mailing: there is no {mailing!r}; there are {', '.join(app.mailings)}"])
    counted = [Runs(app.client).counted(one, bill) for one in accounts]
    told = [run_as_json(one) for one in counted]
    if as_json:
        print_json({"runs": told, "cost": {"reads": bill.reads}})
    else:
        print_table(RUN_COLUMNS, map(_run_row, told))


def show(
    name: Annotated[str, typer.Argument(metavar="ID", help="A delivery's id, or a run's key.")], as_json: Json = False
) -> None:
    """A delivery, with what became of it in a sentence and step by step; or a run, counted."""
    from ledgermail.ledger.ids import DELIVERY_ID

    if not DELIVERY_ID.fullmatch(name):
        return _show_run(name, as_json)
    return _tell(deployment().enquiries.of(name), as_json, facts=True)


def why(
    user: Annotated[str, typer.Argument(help="A user's id, or an e-mail address.")],
    subject: Annotated[
        str,
        typer.Argument(
            help="A job's id, a mailing (its last, or of a date: daily-digest:2026-08-16), a run, a delivery."
        ),
    ],
    as_json: Json = False,
) -> None:
    """Did they get it? One sentence, and what happened step by step. Ends with 1 when there is no such delivery."""
    _tell(deployment().enquiries.ask(user, subject), as_json, facts=False)


VERBS = (status, runs, show, why)


def _show_run(run_key: str, as_json: bool) -> None:
    from ledgermail.planning.runs import Runs
    from ledgermail.status.bill import Bill
    from ledgermail.status.report import run_as_json

    found, bill = Runs(deployment().client), Bill()
    account = found.account(run_key, bill)
    if account is None:
        raise Failed(Code.PROBLEM, [f"there is no run {run_key}, and no delivery has such an id"])
    told = run_as_json(found.counted(account, bill)) | {"opened_at": account.opened_at}
    if as_json:
        print_json(told)
    else:
        print_facts(told)


def _tell(answer: "Answer", as_json: bool, *, facts: bool) -> None:
    from ledgermail.support.explain import Why

    document = delivery_as_json(answer.delivery) if answer.delivery else None
    if as_json:
        steps = [step._asdict() for step in answer.history]
        print_json({**_answer(answer), "delivery": document, "history": steps})
    else:
        print_lines(answer.sentence)
        if answer.history:
            print_lines("")
            print_table(
                [f"when ({answer.zone})", "what"], [(_local(s.at, answer.zone), s.words) for s in answer.history]
            )
        if facts and document:
            print_lines("")
            print_facts(document)
    if answer.delivery is None:
        raise typer.Exit(Code.USAGE if answer.why is Why.NOT_A_SUBJECT else Code.PROBLEM)


def delivery_as_json(delivery: Delivery) -> dict[str, Any]:
    """Its facts; what the mail says is left out."""
    document = {"id": delivery.id, **to_document(delivery)}
    document["content"] = {k: v for k, v in document.get("content", {}).items() if k != "items"}
    return document


def _answer(answer: "Answer") -> dict[str, Any]:
    return {name: getattr(answer, name) for name in ("why", "sentence", "user_id", "zone", "reads")}


def _local(at: datetime, zone: str) -> str:
    from ledgermail.support.wording import zone_of

    return f"{at.astimezone(zone_of(zone)):%Y-%m-%d %H:%M:%S}"


def _held(held: dict[str, Any]) -> list[str]:
    paused = ["mail is paused by an operator"] if held["paused"] else []
    return paused + ([f"the breaker is open until {held['until']}: {held['reason']}"] if held["breaker_open"] else [])


def _print_mailings(told: dict[str, Any]) -> None:
    ages, unread = told["oldest_unfinished_seconds"], told["oldest_unread_match_seconds"]
    rows = [(name, _age(age), _age(unread.get(name))) for name, age in ages.items()]
    print_table(["mailing", "oldest unfinished", "oldest unread match"], rows)


def _age(seconds: float | None) -> str:
    return "-" if seconds is None else str(timedelta(seconds=round(seconds)))


def _run_row(run: dict[str, Any]) -> list[object]:
    counts = [run.get(name) for name in ("pending", "in_flight", "accepted")]
    others = sum(run.get(status, 0) for status in OTHERS) if "accepted" in run else None
    return [run["run_key"], run["state"] or "open", run["intended"], *counts, others, run["pruned"], run["identity"]]
