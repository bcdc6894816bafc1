"""The embedded Firestore answers as the official emulator does: random requests, put to both.

Each round has a seed; a difference prints it with the request. ``SAME_ANSWERS_ROUNDS=200`` asks for more rounds,
``SAME_ANSWERS_FIRST=17`` begins with that seed.
"""

import os
from collections.abc import Iterator

import pytest

from emulator.firestore import Firestore, start
from emulator.firestore.official_jar import find
from tests.integration.same_answers.ask import answer
from tests.integration.same_answers.draw import Draw

ROUNDS = int(os.environ.get("SAME_ANSWERS_ROUNDS", "6"))
FIRST = int(os.environ.get("SAME_ANSWERS_FIRST", "1"))
REQUESTS = 150  # a round, two to four seconds

pytestmark = pytest.mark.skipif(find() is None, reason="the official Firestore emulator is not on this machine")


@pytest.fixture(scope="module")
def official() -> Iterator[Firestore]:
    with start("official") as server:
        yield server


@pytest.fixture(scope="module")
def embedded() -> Iterator[Firestore]:
    with start("embedded", indexes=None) as server:
        yield server


@pytest.mark.parametrize("seed", range(FIRST, FIRST + ROUNDS))
def test_random_requests_are_answered_alike(official: Firestore, embedded: Firestore, seed: int) -> None:
    project = f"same-{seed}"
    draw, theirs, ours = Draw(seed), official.client(project), embedded.client(project)
    for number in range(REQUESTS):
        request = draw.write() if number < REQUESTS // 4 else draw.request()
        assert answer(ours, request) == answer(theirs, request), f"seed {seed}, request {number}: {request}"
