"""A provider's words, as they may be kept."""

import re

WORDS_CHARS = 2000  # of an answer are looked at: an error page may be as large as it likes
ADDRESS = re.compile(r"[^\s<>\"']+@[^\s<>\"']+")


def said(words: str) -> str:
    """The words, without any address and not too many."""
    return ADDRESS.sub("<address>", written(words))


def written(words: str) -> str:
    """The words, not too many, and only such as can be written down: JSON may hold half of a character."""
    return words[:WORDS_CHARS].encode(errors="replace").decode()
