"""The exit codes, in one table, and the failure that ends a verb with one of them."""

from collections.abc import Sequence
from enum import IntEnum


class Code(IntEnum):
    """How a verb ended."""

    WELL = 0
    PROBLEM = 1
    USAGE = 2
    UNAVAILABLE = 3
    UNUSABLE = 4
    NOT_CONFIRMED = 5


MEANINGS = {
    Code.WELL: "done, and all is well",
    Code.PROBLEM: "something is wrong: not healthy, not found, refused, or a mailing or a line at fault",
    Code.USAGE: "the arguments, or a file that they name, are at fault",
    Code.UNAVAILABLE: "the ledger gave no answer: it may have done what was asked; asking again does no harm",
    Code.UNUSABLE: "the settings are missing or wrong, or the command line is not installed whole",
    Code.NOT_CONFIRMED: "it was not confirmed, and nothing was changed",
}
TOLD = "Exit codes: " + "; ".join(f"{code.value} {meaning}" for code, meaning in MEANINGS.items()) + "."


class Failed(Exception):
    """A verb that cannot go on: the code, and a line for each thing that is wrong."""

    def __init__(self, code: Code, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.code = code
        self.problems = tuple(problems)
