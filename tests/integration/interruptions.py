"""What may happen between two steps: the process dies, or somebody else is faster. Works on any Firestore.

Not a fault of Firestore (the embedded one has those) but of the process that asks it: the copy of a part that is made here
is the real one, except that at one call of one method something happens first, or afterwards.
"""

import copy
import itertools
from collections.abc import Callable
from threading import Lock
from typing import Any, TypeVar

Part = TypeVar("Part")


class Died(BaseException):
    """The process is gone: nothing in the product catches this."""


def die() -> None:
    """End the process, as far as the product can tell."""
    raise Died


def before(part: Part, method: str, happens: Callable[[], object], *, call: int = 1) -> Part:
    """A copy of this part, where `happens` comes before this call of the method."""
    return _interrupted(part, method, call, lambda work: (happens(), work())[1])


def after(part: Part, method: str, happens: Callable[[], object], *, call: int = 1) -> Part:
    """A copy of this part, where `happens` comes after this call of the method, before anybody knows its result."""
    return _interrupted(part, method, call, lambda work: (work(), happens())[0])


def _interrupted(part: Part, method: str, call: int, how: Callable[[Callable[[], Any]], Any]) -> Part:
    changed, whole, calls, lock = copy.copy(part), getattr(part, method), itertools.count(1), Lock()

    def interrupted(*arguments: Any, **named: Any) -> Any:
        with lock:
            number = next(calls)
        return how(lambda: whole(*arguments, **named)) if number == call else whole(*arguments, **named)

    object.__setattr__(changed, method, interrupted)
    return changed
