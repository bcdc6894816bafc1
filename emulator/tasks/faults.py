"""Which tasks are delivered in the ways that at-least-once delivery allows and no worker expects."""

import random
from dataclasses import dataclass, fields
from datetime import timedelta


@dataclass(frozen=True)
class Faults:
    """What goes wrong, each for every n-th task created (0: none) or for a seeded share of the task names.

    A fault strikes a task at most once. The choice depends on creation order (every) or on seed and name (rate) only,
    never on the timing of attempts.
    """

    seed: int = 0
    duplicate_every: int = 0  # the first attempt reaches the target twice, at the same time
    duplicate_rate: float = 0.0
    lose_response_every: int = 0  # the target's 2xx is treated as a failure, so the task is tried again
    lose_response_rate: float = 0.0
    after_done_every: int = 0  # the target gets the task once more after it is done and deleted
    after_done_rate: float = 0.0
    late_rate: float = 0.0  # of tasks that may not start before so many seconds have passed
    late_seconds: float = 0.0

    def __post_init__(self) -> None:
        """Raise ValueError for a value of the wrong kind or sign."""
        for field in fields(self):
            value = getattr(self, field.name)
            kind = float if field.name.endswith(("_rate", "_seconds")) else int
            if not isinstance(value, int | kind) or isinstance(value, bool):
                raise ValueError(f"{field.name} must be of type {kind.__name__}, not {value!r}")
            if value < 0 and field.name != "seed":
                raise ValueError(f"{field.name} must not be negative, but is {value!r}")

    def duplicates(self, number: int, name: str) -> bool:
        """Whether the first attempt of this task is sent twice."""
        return self._strikes("duplicate", self.duplicate_every, self.duplicate_rate, number, name)

    def loses_response(self, number: int, name: str) -> bool:
        """Whether the first success of this task is lost."""
        return self._strikes("lose_response", self.lose_response_every, self.lose_response_rate, number, name)

    def repeats_after_done(self, number: int, name: str) -> bool:
        """Whether this task is sent once more after it is done."""
        return self._strikes("after_done", self.after_done_every, self.after_done_rate, number, name)

    def lateness(self, number: int, name: str) -> timedelta:
        """How much later than it might this task starts."""
        late = self._strikes("late", 0, self.late_rate, number, name)
        return timedelta(seconds=self.late_seconds if late else 0)

    def _strikes(self, kind: str, every: int, rate: float, number: int, name: str) -> bool:
        if every and number % every == 0:
            return True
        return rate > 0 and random.Random(f"{self.seed}:{kind}:{name}").random() < rate
