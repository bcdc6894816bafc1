"""A delivery: what became of it in one sentence, its history, and what an operator may do about it."""

from flask import Response

from ledgermail.console import acts, pages
from ledgermail.console.explaining import explained
from ledgermail.console.visit import Visit


def show(visit: Visit, delivery_id: str) -> Response:
    """Reads what explaining it needs."""
    answer, delivery = explained(visit, delivery_id)
    return pages.page(
        visit,
        "delivery.html",
        answer=answer,
        delivery=delivery,
        mailing=visit.app.mailings.get(delivery.mailing),
        offered=acts.offered(delivery),
        done=acts.DONE.get(visit.request.args.get("done", ""), ""),
    )
