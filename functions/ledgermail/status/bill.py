"""What questions cost, in the reads that Firestore bills (Standard edition): counted beside each question."""

from collections.abc import Sized
from typing import TypeVar

ENTRIES_A_READ = 1_000  # index entries that a count() goes over for one read
Found = TypeVar("Found", bound=Sized)


class Bill:
    """The reads so far, and how many questions they were. A question that fails is not billed."""

    def __init__(self) -> None:
        self.reads = 0
        self.questions = 0

    def documents(self, found: Found) -> Found:
        """A query's documents: one read each, and one where there are none."""
        self._add(max(len(found), 1))
        return found

    def count(self, counted: int) -> int:
        """The result of a count(): one read for each thousand that it begins, and one where it is 0."""
        self._add(max(-(-counted // ENTRIES_A_READ), 1))
        return counted

    def one(self) -> None:
        """A document asked for by its name, whether or not there is one."""
        self._add(1)

    def several(self, reads: int) -> None:
        """What another bill has added up."""
        self.reads += reads

    def _add(self, reads: int) -> None:
        self.reads += reads
        self.questions += 1
