"""Add a page of deliveries to the ledger: one atomic commit with its fence, resolved when the answer is lost."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from google.api_core.exceptions import AlreadyExists
from google.cloud import firestore

from ledgermail.errors import FenceLost, LedgerUnavailable
from ledgermail.ledger.delivery import to_document
from ledgermail.ledger.ledger import DELIVERIES
from ledgermail.planning.page import Page
from ledgermail.store import TROUBLE, call, ledger_errors, moment

COMMIT_TRIES = 4  # the second leaves out what exists; more only where two planners race


@dataclass(frozen=True, kw_only=True)
class Fence:
    """The document that moves with the page: only if nobody has written it since `written_at` (None: since ever)."""

    reference: firestore.DocumentReference
    written_at: datetime | None
    token: str  # that no other commit has: it tells our own from another's when the answer was lost
    fields: Callable[[Page], dict[str, Any]]  # what it says after the page, without the token


@dataclass(frozen=True)
class Added:
    """What a commit came to: the fence's new time, and the page without what had existed."""

    written_at: datetime
    page: Page


Beside = Callable[[firestore.WriteBatch, Page], None]


def add_page(client: firestore.Client, fence: Fence, page: Page, beside: Beside) -> Added:
    """Commit the page's creates, the fence, and what `beside` writes, at once.

    Deliveries that exist already are left out and counted. Raises FenceLost when the fence was moved by another, and
    LedgerUnavailable when Firestore gives no usable answer.
    """
    for _ in range(COMMIT_TRIES):
        try:
            return Added(_commit(client, fence, page, beside), page)
        except TROUBLE as error:
            with ledger_errors("read the fence"):
                now = fence.reference.get(**call())
            if now.exists and (now.to_dict() or {}).get("token") == fence.token:
                return Added(moment(now.update_time), page)  # it was applied, and only its answer was lost
            if now.update_time != fence.written_at:
                raise FenceLost(f"{fence.reference.id} was moved by another") from error
            if isinstance(error, AlreadyExists):
                page = page.without(_existing(client, page))
    raise LedgerUnavailable(f"add page: no commit of {fence.reference.id} came through in {COMMIT_TRIES} tries")


def _commit(client: firestore.Client, fence: Fence, page: Page, beside: Beside) -> datetime:
    batch = client.batch()
    fields = fence.fields(page) | {"token": fence.token}
    if fence.written_at is None:
        batch.create(fence.reference, fields)
    else:
        batch.update(fence.reference, fields, option=client.write_option(last_update_time=fence.written_at))
    for delivery in page.deliveries:
        batch.create(client.collection(DELIVERIES).document(delivery.id), to_document(delivery))
    beside(batch, page)
    return moment(batch.commit(**call())[0].update_time)


def _existing(client: firestore.Client, page: Page) -> set[str]:
    references = [client.collection(DELIVERIES).document(delivery.id) for delivery in page.deliveries]
    with ledger_errors("read which exist"):
        found = client.get_all(references, field_paths=["status"], **call())
        return {snapshot.id for snapshot in found if snapshot.exists}
