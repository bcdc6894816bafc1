"""A delivery, and what became of it in words, for the pages that are about one."""

from ledgermail.console.visit import Visit
from ledgermail.ledger import ids
from ledgermail.ledger.delivery import Delivery
from ledgermail.support.question import Answer
from ledgermail.web import Refused


def explained(visit: Visit, delivery_id: str) -> tuple[Answer, Delivery]:
    """Reads the delivery, its user, its audit and, where it is unfinished, the gate. Raises InvalidId, and Refused where there
    is none that can be read.
    """
    ids.user_of(delivery_id)
    answer = visit.app.enquiries.of(delivery_id)
    visit.bill.several(answer.reads)
    if answer.delivery is None:
        raise Refused(404, answer.sentence.rstrip("."))
    return answer, answer.delivery
