"""A run: what it intended, what became of it, and its deliveries of one status at a time."""

from flask import Response
from google.cloud.firestore_v1.base_query import FieldFilter

from ledgermail.console import pages
from ledgermail.console.visit import Visit
from ledgermail.ledger import ids
from ledgermail.ledger.delivery import Delivery, Status
from ledgermail.ledger.ledger import DELIVERIES, readable
from ledgermail.planning.runs import RunCounts, Runs
from ledgermail.store import call, ledger_errors
from ledgermail.web import Refused

SHOWN = 50  # deliveries a page
# Which are shown first: what somebody may have to do something about.
ASKED_FIRST = (
    Status.UNKNOWN,
    Status.REJECTED,
    Status.EXPIRED,
    Status.IN_FLIGHT,
    Status.PENDING,
    Status.SUPPRESSED,
    Status.CANCELLED,
    Status.ACCEPTED,
    Status.EMPTY,
)


def show(visit: Visit, run_key: str) -> Response:
    """Reads the run, its counts, and at most 50 deliveries of the status that is asked for, after the one that is named."""
    runs = Runs(visit.app.client)
    account = runs.account(run_key, visit.bill)
    if account is None:
        raise Refused(404, f"there is no run {run_key}")
    counts = runs.counted(account, visit.bill)
    status = _asked(visit, counts)
    after = visit.request.args.get("after", "")
    listed = _listed(visit, run_key, status, after) if counts.statuses.get(status) else []
    more = listed[-1].id if len(listed) == SHOWN else ""
    return pages.page(
        visit,
        "run.html",
        counts=counts,
        account=account,
        shown=status,
        listed=listed,
        after=after,
        more=more,
        statuses=[status for status in Status if counts.statuses.get(status)],
    )


def _asked(visit: Visit, counts: RunCounts) -> Status:
    asked = visit.request.args.get("status", "")
    if asked:
        if asked not in set(Status):
            raise Refused(404, f"there is no status {asked}")
        return Status(asked)
    return next((status for status in ASKED_FIRST if counts.statuses.get(status)), Status.PENDING)


def _listed(visit: Visit, run_key: str, status: Status, after: str) -> list[Delivery]:
    deliveries = visit.app.client.collection(DELIVERIES)
    query = deliveries.where(filter=FieldFilter("run_key", "==", run_key))
    query = query.where(filter=FieldFilter("status", "==", status)).order_by("__name__").limit(SHOWN)
    if after:
        ids.user_of(after)
        query = query.start_after({"__name__": deliveries.document(after)})
    with ledger_errors("list a run"):
        found = visit.bill.documents(list(query.stream(**call())))
    return [one.delivery for one in readable(found).values()]
