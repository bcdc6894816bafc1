"""Search: by a user's id or address, by a delivery's, a run's or a job's id.

The question is posted, so that no address is ever part of a URL, and so of no log.
"""

from dataclasses import dataclass
from datetime import timedelta

from flask import Response
from google.cloud.firestore_v1.base_query import FieldFilter

from ledgermail.console import pages
from ledgermail.console.visit import Visit
from ledgermail.errors import InvalidId
from ledgermail.ledger import ids
from ledgermail.ledger.delivery import Delivery
from ledgermail.ledger.ledger import DELIVERIES, USERS, readable
from ledgermail.planning.book import RUNS
from ledgermail.planning.matches import MATCHES
from ledgermail.store import Snapshot, call, ledger_errors

VALID = timedelta(hours=12)  # the field is on every page, and some stay open all day
WORDS_CHARS = 1500  # the longest id there is
MOST_OF_JOB = 50


@dataclass(frozen=True)
class Hit:
    """Somebody whom a job was matched with, and the delivery, if one was planned."""

    user_id: str
    delivery_id: str
    delivery: Delivery | None
    planned: bool  # there is one, if perhaps one that cannot be read


def search(visit: Visit) -> Response:
    """Go to the page of what was found; list what was found where it is several. At most 4 reads, and 100 for a job."""
    visit.check("search", valid=VALID)
    words = visit.form.get("q", "").strip()[:WORDS_CHARS]
    if not words:
        return pages.redirected(visit.url("overview"))
    found = _named(visit, words)
    if found:
        return pages.redirected(found)
    users = visit.bill.documents(visit.app.suppressions.of_address(words)) if "@" in words else []
    if len(users) == 1:
        return pages.redirected(visit.url("recipient", user_id=users[0]))
    hits = _of_job(visit, words) if ids.can_be_asked_for(words) and not users else []
    if len(hits) == 1 and hits[0].delivery:
        return pages.redirected(visit.url("delivery", delivery_id=hits[0].delivery_id))
    return pages.page(visit, "found.html", 200 if users or hits else 404, words=words, users=users, hits=hits)


def _named(visit: Visit, words: str) -> str:
    """The page of what has exactly this id."""
    client = visit.app.client
    candidates = [("recipient", "user_id", USERS), ("run", "run_key", RUNS)]
    try:
        ids.user_of(words)
        candidates.insert(0, ("delivery", "delivery_id", DELIVERIES))
    except InvalidId:
        pass
    try:
        ids.user_key(words)
    except InvalidId:
        return ""
    references = [client.collection(collection).document(words) for _, _, collection in candidates]
    with ledger_errors("search"):
        snapshots: list[Snapshot] = list(client.get_all(references, field_paths=["user_id"], **call()))
    visit.bill.documents(snapshots)
    there = {snapshot.reference.parent.id for snapshot in snapshots if snapshot.exists}
    for endpoint, name, collection in candidates:
        if collection in there:
            return visit.url(endpoint, **{name: words})
    return ""


def _of_job(visit: Visit, job_id: str) -> list[Hit]:
    """Whom the matches that there still are say that it was found for."""
    query = visit.app.client.collection(MATCHES).where(filter=FieldFilter("job_id", "==", job_id)).limit(MOST_OF_JOB)
    with ledger_errors("search a job"):
        matches = visit.bill.documents(list(query.select(["user_id"]).stream(**call())))
    users = sorted({str((snapshot.to_dict() or {}).get("user_id") or "") for snapshot in matches} - {""})
    wanted = {ids.delivery_id(user_id, job_id): user_id for user_id in users}
    documents = visit.bill.documents(visit.app.ledger.documents(list(wanted))) if wanted else []
    deliveries = {delivery_id: stored.delivery for delivery_id, stored in readable(documents).items()}
    return [Hit(wanted[one.id], one.id, deliveries.get(one.id), one.exists) for one in documents]
