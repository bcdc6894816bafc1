"""One step of a deployment: how to find a thing, make it, change it, verify it, and take it away."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Command = tuple[str, ...]
PLACEHOLDER = re.compile(r"@([A-Z][A-Z0-9_]*)@")  # @NAME@ in a command or file: what is known only when it runs
FOUND = "@FOUND@"  # what `find` of the same step has printed
FILES = "@FILES@"  # the folder that `files` are written to
Path = tuple[str, ...]  # into JSON; a list is entered by index, or by the `name` or `type` of an entry
MISSING = "nothing"  # what stands at a path where there is none, as it is said, and expected


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What a command that prints JSON should say, by path."""

    command: Command
    values: Mapping[Path, object]


@dataclass(frozen=True, kw_only=True)
class Step:
    """A thing that is to be there. What `find` prints says that it is, and which; nothing printed, or an error, that it is not.

    But for an error of one that `lists`: Google itself would not refuse to make such a thing a second time.

    Without `create` it must be there already; without `update` it is left as it is once it is there; without `find` it is
    made anew each time, by a command that does not mind. `captures` names a placeholder for later steps. `stdin` names the
    environment variable whose value `create` reads.
    """

    title: str
    why: str = ""
    find: Command | None = None
    create: Command | None = None
    update: Command | None = None
    delete: Command | None = None
    expected: tuple[Expected, ...] = ()
    captures: str | None = None
    required: bool = True
    unwanted: bool = False  # it is not to be there: where it is, `delete` takes it away
    stdin: str | None = None
    generated: bool = False  # the value for `stdin` may be made up
    files: Mapping[str, str] = field(default_factory=dict)
    fix: str = ""

    @property
    def lists(self) -> bool:
        """Whether `find` looks through a list: then an error never means that it is not there."""
        return self.find is not None and not {"list", "list-configs"}.isdisjoint(self.find)

    def commands(self) -> list[Command]:
        """Every command of the step."""
        shown = (expected.command for expected in self.expected)
        return [command for command in (self.find, self.create, self.update, self.delete, *shown) if command]


def filled(text: str, value_of: Callable[[str], str]) -> str:
    """The text with every placeholder replaced by the value of its name."""
    return PLACEHOLDER.sub(lambda match: value_of(match[1]), text)
