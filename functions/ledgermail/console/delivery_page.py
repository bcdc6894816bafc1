"""A delivery: what became of it in one sentence, its history, and what an operator may do about it."""

from flask import Response

from ledgermail import ids
from ledgermail.console import acts, pages
from ledgermail.console.visit import Visit
from ledgermail.web import Refused


def show(visit: Visit, delivery_id: str) -> Response:
    """Reads the delivery, its user, the gate, and its audit. Raises Refused, and InvalidId for no id of a delivery."""
    ids.user_of(delivery_id)
    answer = visit.app.enquiries.of(delivery_id)
    visit.bill.several(answer.reads)
    delivery = answer.delivery
    if delivery is None:
        raise Refused(404, answer.sentence.rstrip("."))
    return pages.page(
        visit,
        "delivery.html",
        answer=answer,
        delivery=delivery,
        mailing=visit.app.mailings.get(delivery.mailing),
        offered=acts.offered(delivery),
        done=acts.DONE.get(visit.request.args.get("done", ""), ""),
    )
