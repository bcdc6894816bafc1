"""The floor: what a program must do at the least that keeps the same records, by the raw clients and with nothing around.

The same calls as ours, with the same documents: to plan a page, one query, one read of the users, one commit, a task for each
delivery; to deliver, one read of two documents, the claim, the request to the provider, and the settling, both under a
precondition. It decides nothing, checks nothing, renders nothing, logs nothing and recovers from nothing.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import httpcore
from google.cloud import firestore, tasks_v2
from google.cloud.firestore_v1.base_query import FieldFilter

from bench.ground import USERS, delivery, delivery_document
from emulator.cloud import LOCATION, PROJECT
from emulator.inbox import DEFAULT_KEY

PAGE = 200
AT_ONCE = 32
PARENT = f"projects/{PROJECT}/locations/{LOCATION}/queues/deliver"


class Floor:
    """The raw clients, made once."""

    def __init__(self, db: firestore.Client, queues: tasks_v2.CloudTasksClient, provider: str, request: bytes) -> None:
        self._db = db
        self._queues = queues
        self._request = request
        self._http = httpcore.ConnectionPool(max_connections=100)
        self._url = f"{provider}/v3/mail/send"
        self._deliveries = db.collection("deliveries")
        self._users = db.collection("users")

    def plan(self) -> None:
        """Page by page until the end, as the scan does."""
        query = self._db.collection("matches").order_by("matched_at").order_by("__name__").limit(PAGE)
        query = query.where(filter=FieldFilter("matched_at", "<", datetime.now(UTC)))
        page, start = list(query.stream()), 0
        while page:
            self._plan_page(page, start)
            start += len(page)
            page = list(query.start_after(page[-1]).stream()) if len(page) == PAGE else []

    def _plan_page(self, page: Sequence[firestore.DocumentSnapshot[Any]], start: int) -> None:
        owners = {snapshot.get("user_id") for snapshot in page}
        list(self._db.get_all([self._users.document(owner) for owner in owners]))
        owed = [delivery_document(delivery(number, users=USERS)) for number in range(start, start + len(page))]
        batch = self._db.batch()
        for delivery_id, document in owed:
            batch.create(self._deliveries.document(delivery_id), document)
        batch.set(self._db.document("state/floor"), {"at": page[-1].get("matched_at"), "match_id": page[-1].id})
        batch.set(self._db.document("runs/floor"), {"intended": firestore.Increment(len(page))}, merge=True)
        batch.commit()
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(self._enqueue, [delivery_id for delivery_id, _ in owed]))

    def _enqueue(self, delivery_id: str) -> None:
        target = {"url": "http://127.0.0.1:9/deliver", "body": delivery_id.encode(), "http_method": "POST"}
        self._queues.create_task(request={"parent": PARENT, "task": {"http_request": target}})

    def deliver(self, delivery_id: str) -> None:
        """Read, claim, send, settle."""
        reference, now = self._deliveries.document(delivery_id), datetime.now(UTC)
        user = self._users.document(delivery_id.partition("_")[0])
        found = {snapshot.id: snapshot for snapshot in self._db.get_all([reference, user])}
        update = partial(self._update, reference)
        found[user.id].to_dict()  # who is mailed must be looked at
        claimed = update(found[delivery_id].update_time, CLAIM | {"lease_expires_at": now + timedelta(minutes=2)})
        assert self._http.request("POST", self._url, headers=HEADERS, content=self._request).status == 202
        update(claimed.update_time, SETTLED | {"settled_at": now, "prune_at": now + timedelta(days=30)})

    def _update(self, reference: firestore.DocumentReference, known: Any, fields: Mapping[str, Any]) -> Any:
        return reference.update(dict(fields), option=self._db.write_option(last_update_time=known))

    def close(self) -> None:
        """Close the connections to the provider; the others are whose they are."""
        self._http.close()


HEADERS = [("Authorization", f"Bearer {DEFAULT_KEY}"), ("Content-Type", "application/json")]
TIME = datetime(2026, 1, 1, tzinfo=UTC)
CLAIM: dict[str, Any] = {
    "status": "in_flight",
    "stages": {"render": {"at": TIME, "reference": "0" * 64}},
    "claim_id": "0" * 32,
    "attempt": 1,
    "first_claimed_at": TIME,
    "first_attempt_at": TIME,
    "wake_at": TIME,
}
SETTLED: dict[str, Any] = {
    "status": "accepted",
    "stages": {"render": {"at": TIME, "reference": "0" * 64}, "email": {"at": TIME, "reference": "0" * 22}},
    "content": {"hash": "0" * 64},
    "lease_expires_at": firestore.DELETE_FIELD,
    "wake_at": firestore.DELETE_FIELD,
    "unfinished_since": firestore.DELETE_FIELD,
}
