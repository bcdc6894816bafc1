"""Read declared values (environment variables, a mailing.toml) and report every problem at once, each by name."""

import re
from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Any, TypeVar

from ledgermail.errors import ConfigurationError

Choice = TypeVar("Choice", bound=StrEnum)
DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}


class Declared:
    """Named values as they were written down. A reader returns a usable value and notes what was wrong with the real one."""

    def __init__(self, values: Mapping[str, Any], place: str = "") -> None:
        """`place` comes before each name in a problem: the file, or the prefix of the variables."""
        self._values = values
        self._place = place
        self._read: set[str] = set()
        self.problems: list[str] = []

    def problem(self, name: str, what: str) -> None:
        """Note that the value called `name` will not do."""
        self.problems.append(f"{self._place}{name}: {what}")

    def text(self, name: str, default: str | None = None) -> str:
        """Non-empty text without the space around it; without a default it must be there."""
        value = self._get(name, default)
        if value is None:
            return ""
        if not isinstance(value, str) or (not value.strip() and value != default):
            self.problem(name, "must be text, and not empty")
            return ""
        return value.strip()

    def integer(self, name: str, default: int, *, least: int, most: int) -> int:
        """A whole number from `least` to `most`."""
        value = self._get(name, default)
        if not re.fullmatch(r"-?\d+", str(value)) or not least <= int(value) <= most:
            self.problem(name, f"must be a whole number from {least} to {most}, not {value!r}")
            return default
        return int(value)

    def duration(self, name: str, default: timedelta) -> timedelta:
        """A number and its unit, above zero: 250ms, 30s, 5m, 6h, 7d."""
        value = self._get(name, None, required=False)
        if value is None:
            return default
        match = DURATION.fullmatch(value) if isinstance(value, str) else None
        seconds = float(match[1]) * UNITS[match[2]] if match else 0.0
        if not 0 < seconds <= 3650 * UNITS["d"]:
            self.problem(name, f"must be a duration above zero such as 30s, 5m, 6h or 7d, not {value!r}")
            return default
        return timedelta(seconds=seconds)

    def flag(self, name: str, *, default: bool) -> bool:
        """true or false."""
        value = self._get(name, default)
        if not isinstance(value, bool):
            self.problem(name, f"must be true or false, not {value!r}")
            return default
        return value

    def choice(self, name: str, kind: type[Choice], default: Choice | None = None) -> Choice:
        """One of the values of an enumeration; without a default it must be there."""
        value = self._get(name, default)
        if isinstance(value, str) and value in set(kind):
            return kind(value)
        if value is not None:
            self.problem(name, f"must be one of {', '.join(kind)}, not {value!r}")
        return next(iter(kind))

    def unknown(self) -> None:
        """Note every value that nobody has asked for: a misspelt setting must not pass for its default."""
        for name in sorted(set(self._values) - self._read):
            self.problem(name, "is not known")

    def _get(self, name: str, default: Any, *, required: bool = True) -> Any:
        self._read.add(name)
        value = self._values.get(name, default)
        if value is None and required:
            self.problem(name, "is missing")
        return value


def refuse(problems: list[str]) -> None:
    """Raise ConfigurationError with all of them, if there are any."""
    if problems:
        raise ConfigurationError(problems)
