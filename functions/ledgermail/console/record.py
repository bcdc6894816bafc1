"""The record: what operators did, and what was pruned."""

from typing import Any

from flask import Response
from google.cloud import firestore

from ledgermail.console import pages
from ledgermail.console.visit import Visit
from ledgermail.store import call, ledger_errors
from ledgermail.upkeep.upkeep import PRUNES

SHOWN = 20  # prunes


def show(visit: Visit) -> Response:
    """Reads the newest 50 acts and the newest 20 prunes."""
    entries = visit.bill.documents(visit.app.operations.audits.newest())
    return pages.page(visit, "record.html", entries=entries, prunes=_prunes(visit))


def _prunes(visit: Visit) -> list[dict[str, Any]]:
    query = visit.app.client.collection(PRUNES).order_by("last_at", direction=firestore.Query.DESCENDING).limit(SHOWN)
    with ledger_errors("read the prunes"):
        found = visit.bill.documents(list(query.stream(**call())))
    return [snapshot.to_dict() or {} for snapshot in found]
