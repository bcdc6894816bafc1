"""The program: its verbs, what holds for all of them, and how their failures are told."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperGroup
from typing_extensions import override

from ledgermail import log
from ledgermail.cli import acting, costing, deployment, examining, importing, looking, previewing, pruning, suppressed
from ledgermail.cli.codes import TOLD, Code, Failed
from ledgermail.cli.options import Json
from ledgermail.cli.printed import plain, print_json
from ledgermail.errors import (
    ConfigurationError,
    InvalidDocument,
    InvalidId,
    LedgermailError,
    LedgerUnavailable,
    WrongStatus,
)

Done = TypeVar("Done")
ANYWHERE = "--local"  # may stand behind the verb, too
USAGE_ERROR: Any = typer.BadParameter.__base__  # what the arguments make no sense by, which typer gives no name
VERBS = (looking, acting, suppressed, pruning, importing, previewing, costing, examining)
PLAIN = {"rich_markup_mode": None, "pretty_exceptions_enable": False, "add_completion": False}


class Verbs(TyperGroup):
    """The verbs; what one raises on purpose becomes lines on standard error, or one JSON document, and a code."""

    @override
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Note how an error is wanted, before there can be one."""
        ctx.obj = {"as_json": "--json" in args}
        return _told(ctx, lambda: super(Verbs, self).parse_args(ctx, args))

    @override
    def invoke(self, ctx: Any) -> Any:
        """Run the verb."""
        return _told(ctx, lambda: super(Verbs, self).invoke(ctx))


def _told(ctx: Any, work: Callable[[], Done]) -> Done:
    """What the work comes to; of what it raises on purpose it is told, as that is wanted, and it ends with its code."""
    try:
        return work()
    except Failed as failed:
        problems, code = failed.problems, failed.code
    except LedgermailError as error:
        problems, code = _problems(error)
    except USAGE_ERROR as error:
        if not ctx.obj["as_json"]:
            raise
        problems, code = (error.format_message(),), Code.USAGE
    if ctx.obj["as_json"]:
        print_json({"error": problems, "code": code})
    else:
        sys.stderr.writelines(f"ledgermail: {plain(problem)}\n" for problem in problems)
    raise typer.Exit(code)


program = typer.Typer(cls=Verbs, no_args_is_help=True, epilog=TOLD, **PLAIN)  # type: ignore[arg-type]


@program.callback()
def everything(
    context: typer.Context,
    local: Annotated[bool, typer.Option(ANYWHERE, help="Use the local cloud that `make up` runs.")] = False,
    env_file: Annotated[Path | None, typer.Option(help="Take settings from a file of NAME=VALUE lines first.")] = None,
    as_json: Json = False,
) -> None:
    """See and steer what ledgermail owes and sends. Settings are those of the functions: environment variables."""
    context.call_on_close(log.aside())
    if as_json:  # before the verb, too
        context.default_map = {verb.__name__: {"as_json": True} for verbs in VERBS for verb in verbs.VERBS}
    if env_file is not None or local:
        deployment.use(env_file or deployment.LOCAL)


for verbs in VERBS:
    for verb in verbs.VERBS:
        program.command(verb.__name__, epilog=TOLD)(verb)


def run(arguments: Sequence[str]) -> int:
    """Do what the arguments ask; the exit code."""
    asked = [*arguments]
    if ANYWHERE in asked:
        asked = [ANYWHERE, *(argument for argument in asked if argument != ANYWHERE)]
    try:
        program(asked, prog_name="ledgermail")
    except SystemExit as ended:
        return int(ended.code or 0)
    return Code.WELL


def _problems(error: LedgermailError) -> tuple[tuple[str, ...], Code]:
    match error:
        case ConfigurationError():
            return error.problems, Code.UNUSABLE
        case LedgerUnavailable():
            return (f"the ledger is not available: {error}",), Code.UNAVAILABLE
        case InvalidId():
            return (str(error),), Code.USAGE
        case WrongStatus() | InvalidDocument():
            return (str(error),), Code.PROBLEM
        case _:
            return (f"{type(error).__name__}: {error}",), Code.PROBLEM
