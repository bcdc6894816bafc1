"""Compares the embedded Firestore with the official emulator: ``python -m bench.firestore``, about a minute.

Both run side by side, and each round asks the one and then the other, so that a busy machine slows both. A claim is
what the ledger does: read a document, then update it under the condition that nobody else did.
"""

import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from statistics import median
from typing import Literal
from uuid import uuid4

from google.cloud.firestore import Client

from bench.rounds import interleaved
from emulator.firestore import start
from emulator.firestore.official_jar import find

ROUNDS = 5
STARTS = 3
CLAIMS = 300  # a round; about a second
DOCUMENT = {f"field_{number:02}": "x" * 20 for number in range(14)} | {"status": "pending"}

Kind = Literal["official", "embedded"]


def seconds_to_first_commit(kind: Kind) -> float:
    """Return how long it takes from nothing to a stored document, the client library being there already."""
    begun = time.perf_counter()
    with start(kind, indexes=None) as firestore:
        firestore.client("bench").document("c/d").set(DOCUMENT)
        return time.perf_counter() - begun


def claims_a_second(client: Client, threads: int) -> float:
    """Return how many fresh documents are claimed in a second by so many threads with one client."""
    collection = client.collection(f"c-{uuid4().hex}")
    references = [collection.document(str(number)) for number in range(CLAIMS)]
    batch = client.batch()
    for reference in references:
        batch.create(reference, DOCUMENT)
    batch.commit()

    def claim(number: int) -> None:
        known = references[number].get()
        unchanged = client.write_option(last_update_time=known.update_time)
        references[number].update({"status": "in_flight", "claim_id": uuid4().hex}, option=unchanged)

    with ThreadPoolExecutor(threads) as pool:
        begun = time.perf_counter()
        list(pool.map(claim, range(CLAIMS)))
        return CLAIMS / (time.perf_counter() - begun)


def claims(clients: dict[Kind, Client], threads: int, kind: Kind) -> float:
    """Return the claims a second of one kind."""
    return claims_a_second(clients[kind], threads)


def lines(kinds: list[Kind]) -> Iterator[str]:
    """Measure everything, one line of the report after the other."""
    yield report("start to first commit, s", interleaved(kinds, STARTS, seconds_to_first_commit))
    with ExitStack() as servers:
        clients = {kind: servers.enter_context(start(kind, indexes=None)).client("bench") for kind in kinds}
        for client in clients.values():
            claims_a_second(client, 8)  # Java compiles what it meets often
        for threads in (1, 8):
            yield report(
                f"claims a second, {threads} threads", interleaved(kinds, ROUNDS, partial(claims, clients, threads))
            )


def report(name: str, measured: dict[Kind, list[float]]) -> str:
    """Return one line: each kind's median, and the embedded one's share of the official one's."""
    medians = {kind: median(values) for kind, values in measured.items()}
    values = "  ".join(f"{kind} {value:8.2f}" for kind, value in medians.items())
    ratio = f"  ratio {medians['embedded'] / medians['official']:.2f}" if "official" in medians else ""
    return f"{name:28}{values}{ratio}"


def main() -> None:
    """Print the report."""
    kinds: list[Kind] = ["embedded", "official"] if find() else ["embedded"]
    if "official" not in kinds:
        sys.stdout.write("the official emulator is not on this machine: only the embedded one is measured\n")
    for line in lines(kinds):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
