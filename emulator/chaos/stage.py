"""What there is before and during the chaos: the demo's scene in waves, and a past that is due to be pruned."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from google.api_core.exceptions import GoogleAPICallError, RetryError
from google.cloud import firestore

from emulator.demo import play
from emulator.demo.scene import MAILING, Scene, make, make_postings
from ledgermail import ids
from ledgermail.book import RUNS
from ledgermail.delivery import Delivery, Guarantee, Status, to_document
from ledgermail.ledger import DELIVERIES, USERS
from ledgermail.matches import MATCHES

Documents = Mapping[str, Mapping[str, Any]]

DELIVERIES_A_USER = 4.5  # of all four mailings together: what the scene's shares come to with three matches a user
MATCHES_A_USER = 3
PAST_SHARE = 0.1  # of the deliveries, about so many more that are past their retention
RUN_SIZE = 50  # of theirs
PAST = timedelta(days=60)
PATIENCE = {"slack": "20s", "retry_cap": "2m"}
WRITES = 200  # documents a commit
TRIES = 20  # of a commit that faults may hit


def make_scene(deliveries: int, seed: int, now: datetime, webhook: str) -> Scene:
    """A scene that obliges to about so many deliveries; every delivery of it is at its customer's `webhook`, if at any."""
    users = max(20, round(deliveries / DELIVERIES_A_USER))
    return make(
        postings=make_postings(300, seed),
        users=users,
        matches=users * MATCHES_A_USER,
        seed=seed,
        now=now,
        webhook=webhook,
    )


def patient_mailings(folder: Path, now: datetime, grace: int) -> Path:
    """The demo's hurried mailings, a little more patient: a queue that is behind is no queue that has lost its tasks, and
    evidence is waited for, `grace` seconds.
    """
    play.hurried_mailings(folder, now)
    patience = {**PATIENCE, "evidence_grace": f"{grace}s"}
    for declared in folder.glob("*/mailing.toml"):
        lines = [line for line in declared.read_text("utf-8").splitlines() if line.split(" ")[0] not in patience]
        declared.write_text("\n".join([*lines, *(f'{key} = "{value}"' for key, value in patience.items())]), "utf-8")
    return folder


def waves(scene: Scene) -> list[Documents]:
    """The matches as they come: half of them before it begins, a quarter committed late, a quarter as of their moment."""
    matches = [(f"{MATCHES}/{name}", match) for name, match in scene.matches.items()]
    half, quarter = len(matches) // 2, len(matches) // 4
    fresh = {path: {**match, "matched_at": firestore.SERVER_TIMESTAMP} for path, match in matches[half + quarter :]}
    return [dict(matches[:half]), dict(matches[half : half + quarter]), fresh]


def people(scene: Scene) -> Documents:
    """The users and reports."""
    return {f"{USERS}/{user_id}": user for user_id, user in scene.users.items()} | dict(scene.reports)


def past(deliveries: int, now: datetime) -> Iterator[Documents]:
    """Finished deliveries whose retention is over, with their runs: each to be written in one commit, as the identity asks."""
    for first in range(0, max(1, round(deliveries * PAST_SHARE)), RUN_SIZE):
        then = now - PAST - timedelta(days=first // RUN_SIZE)
        run_key = ids.run_key(MAILING, then.date().isoformat())
        old = [_old(number, run_key, then, now) for number in range(first, first + RUN_SIZE)]
        run = {"mailing": MAILING, "opened_at": then, "intended": len(old)}
        yield {f"{RUNS}/{run_key}": run} | {f"{DELIVERIES}/{one.id}": to_document(one) for one in old}


def _old(number: int, run_key: str, then: datetime, now: datetime) -> Delivery:
    return Delivery(
        id=ids.delivery_id(f"old-{number}", "j"),
        mailing=MAILING,
        guarantee=Guarantee.AT_MOST_ONCE,
        run_key=run_key,
        user_id=f"old-{number}",
        subject="j",
        status=Status.ACCEPTED,
        due_at=then,
        created_at=then,
        settled_at=then,
        prune_at=now - timedelta(hours=1),
        shard=number % play.SHARDS,
    )


def leave(db: firestore.Client, scene: Scene) -> None:
    """Some users unsubscribe from everything."""
    changed = {}
    for user_id in scene.leaving:
        user = scene.users[user_id]
        off = {name: {**preferences, "active": False} for name, preferences in user["mailings"].items()}
        changed[f"{USERS}/{user_id}"] = {**user, "mailings": off}
    write(db, changed)


def write(db: firestore.Client, documents: Documents) -> None:
    """Write these documents by path, again and again where the ledger fails."""
    for page in _pages(documents):
        batch = db.batch()
        for path, document in page:
            batch.set(db.document(path), dict(document))
        _commit(batch)


def _pages(documents: Documents) -> Iterator[list[tuple[str, Mapping[str, Any]]]]:
    pairs = list(documents.items())
    return (pairs[start : start + WRITES] for start in range(0, len(pairs), WRITES))


def _commit(batch: firestore.WriteBatch) -> None:
    for tried in range(1, TRIES + 1):
        try:
            batch.commit(timeout=10)
        except (GoogleAPICallError, RetryError):
            if tried == TRIES:
                raise
        else:
            return
