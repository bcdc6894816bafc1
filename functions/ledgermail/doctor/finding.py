"""What the doctor finds: one thing that was looked at, how it is, and what to do about it."""

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """How a thing is."""

    OK = "ok"
    WARNING = "warning"  # it works, and somebody should know
    PROBLEM = "problem"
    UNSEEN = "unseen"  # it may not be, or cannot be, looked at


@dataclass(frozen=True)
class Finding:
    """`check` names what was looked at, `said` says how it is, `to_do` what makes it well."""

    check: str
    verdict: Verdict
    said: str
    to_do: str = ""

    @property
    def line(self) -> str:
        """It all in one line."""
        to_do = f". To do: {self.to_do}" if self.to_do else ""
        return f"{self.verdict:<8} {self.check}: {self.said.rstrip('.')}{to_do}"


def ok(check: str, said: str) -> Finding:
    """It is as it should be."""
    return Finding(check, Verdict.OK, said)


def warning(check: str, said: str, to_do: str) -> Finding:
    """It works, and somebody should know."""
    return Finding(check, Verdict.WARNING, said, to_do)


def problem(check: str, said: str, to_do: str) -> Finding:
    """It is not as it should be."""
    return Finding(check, Verdict.PROBLEM, said, to_do)


def unseen(check: str, said: str, to_do: str = "") -> Finding:
    """It was not looked at."""
    return Finding(check, Verdict.UNSEEN, said, to_do)
