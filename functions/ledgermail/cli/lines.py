"""The lines of a large file, one at a time, whatever is in them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

LINE_BYTES = 900_000  # what becomes a document surely fits one, which may have 1 MiB


@dataclass(frozen=True)
class Line:
    """One line: its number from 1, its bytes (None: it is too long), and where it ends in the file."""

    number: int
    text: bytes | None
    end: int


def lines(file: BinaryIO) -> Iterator[Line]:
    """Every line that is not blank. At most one is in memory, and of one that is too long only the beginning."""
    number = 0
    while text := file.readline(LINE_BYTES + 1):
        number += 1
        too_long = len(text) > LINE_BYTES
        while too_long and text and not text.endswith(b"\n"):
            text = file.readline(LINE_BYTES + 1)
        if too_long:
            yield Line(number, None, file.tell())
        elif text.strip():
            yield Line(number, text, file.tell())
