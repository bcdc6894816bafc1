"""What there is before and during the chaos: the demo's scene in waves, and a past that is due to be pruned."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from google.api_core.exceptions import GoogleAPICallError, RetryError
from google.cloud import firestore

from emulator.demo import play
from emulator.demo.scene import MAILING, Scene, make, make_postings
from ledgermail.ledger import ids
from ledgermail.ledger.delivery import Delivery, Guarantee, Status, to_document
from ledgermail.ledger.ledger import DELIVERIES, USERS
from ledgermail.planning.book import RUNS
from ledgermail.planning.matches import MATCHES

Documents = Mapping[str, Mapping[str, Any]]

DELIVERIES_A_USER = 4.0  # of all four mailings, at least: what the scene's shares come to with three matches a user
MATCHES_A_USER = 3
PAST_SHARE = 0.1  # of the deliveries, about so many more that are past their retention
RUN_SIZE = 50  # of theirs
PAST = timedelta(days=60)
RETRY_CAP = "2m"  # also how long a delivery is left alone that a sweep found waiting
FIRST_SHARE = 0.4  # of the matches are there before it begins
WAVE = 100  # matches that come together
LATE_EVERY = 3  # waves, of which one is committed late, behind the cursor of the scan
WRITES = 200  # documents a commit
TRIES = 20  # of a commit that faults may hit


def make_scene(deliveries: int, seed: int, now: datetime, webhook: str) -> Scene:
    """A scene that obliges to so many deliveries or a few more; each of it is at its customer's `webhook`, if at any."""
    users = max(20, round(deliveries / DELIVERIES_A_USER))
    return make(
        postings=make_postings(300, seed),
        users=users,
        matches=users * MATCHES_A_USER,
        seed=seed,
        now=now,
        webhook=webhook,
    )


def patient_mailings(folder: Path, now: datetime, *, slack: int, grace: int) -> Path:
    """The demo's hurried mailings, a little more patient: a queue that is behind is no queue that has lost its tasks, for
    `slack` seconds; evidence is waited for, `grace` seconds.
    """
    play.hurried_mailings(folder, now)
    patience = {"retry_cap": RETRY_CAP, "slack": f"{slack}s", "evidence_grace": f"{grace}s"}
    for declared in folder.glob("*/mailing.toml"):
        lines = [line for line in declared.read_text("utf-8").splitlines() if line.split(" ")[0] not in patience]
        declared.write_text("\n".join([*lines, *(f'{key} = "{value}"' for key, value in patience.items())]), "utf-8")
    return folder


def waves(scene: Scene) -> list[Documents]:
    """The matches as they come: many before it begins, then a few at a time, as of their moment or committed late."""
    matches = [(f"{MATCHES}/{name}", match) for name, match in scene.matches.items()]
    first = round(len(matches) * FIRST_SHARE)
    came: list[Documents] = [dict(matches[:first])]
    for start in range(first, len(matches), WAVE):
        wave = matches[start : start + WAVE]
        if len(came) % LATE_EVERY:
            wave = [(path, {**match, "matched_at": firestore.SERVER_TIMESTAMP}) for path, match in wave]
        came.append(dict(wave))
    return came


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
    """Some users unsubscribe from their digests and reports."""
    changed = {}
    for user_id in scene.leaving:
        user = scene.users[user_id]
        off = {
            name: {**chosen, "active": name == MAILING and chosen["active"]}
            for name, chosen in user["mailings"].items()
        }
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
