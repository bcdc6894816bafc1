"""The postings that wait, by when they are due: to look for the next one costs the same, however many there are."""

import heapq
from collections import deque
from dataclasses import dataclass
from datetime import datetime
from itertools import count
from random import Random

from emulator.inbox.events.happening import Happened


@dataclass(frozen=True)
class Posting:
    """One event that is to be posted once, for the time after so many tries."""

    happened: Happened
    due: datetime
    tries: int = 0


class Waiting:
    """Postings that are due, and those that will be. Not safe to use from many threads."""

    def __init__(self) -> None:
        self._numbers = count()
        self._later: list[tuple[datetime, int, Posting]] = []  # a heap
        self._due: deque[Posting] = deque()

    def __len__(self) -> int:
        return len(self._later) + len(self._due)

    def put(self, posting: Posting) -> None:
        """Let this one wait."""
        heapq.heappush(self._later, (posting.due, next(self._numbers), posting))

    def next_due(self, now: datetime) -> datetime | None:
        """When the next posting is due: now, later, or None when none waits."""
        if self._due:
            return now
        return self._later[0][0] if self._later else None

    def take(self, most: int, now: datetime, shuffled_by: Random | None) -> list[Posting]:
        """Take what is due, at most so many, the earliest first unless shuffled. An event and its copy are never together."""
        while self._later and self._later[0][0] <= now:
            self._due.append(heapq.heappop(self._later)[2])
        chosen, left = dict[int, Posting](), list[Posting]()
        while self._due and len(chosen) < most:
            posting = self._next(shuffled_by)
            if id(posting.happened) in chosen:
                left.append(posting)
            else:
                chosen[id(posting.happened)] = posting
        self._due.extendleft(reversed(left))
        return list(chosen.values())

    def hurry(self) -> None:
        """Everything is due."""
        self._due.extend(posting for _, _, posting in sorted(self._later, key=lambda entry: entry[1]))
        self._later.clear()

    def clear(self) -> None:
        """Nothing waits any more."""
        self._later.clear()
        self._due.clear()

    def _next(self, shuffled_by: Random | None) -> Posting:
        if shuffled_by is None:
            return self._due.popleft()
        place = shuffled_by.randrange(len(self._due))
        self._due[place], self._due[-1] = self._due[-1], self._due[place]
        return self._due.pop()
