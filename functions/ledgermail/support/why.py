"""Why somebody got a mail, or did not: what a question is about is found, and answered in one plain sentence with the history.

It only reads: some five documents a question, and as many audit entries as the delivery has.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from google.cloud import firestore

from ledgermail.clock import Clock
from ledgermail.delivering.gate import Gates
from ledgermail.events.suppressions import Suppressions
from ledgermail.ledger.ledger import Ledger
from ledgermail.mailing import Mailing
from ledgermail.planning.book import Books
from ledgermail.planning.reports import Reports
from ledgermail.support.audits import Audits
from ledgermail.support.question import Answer, Question


@dataclass(frozen=True, kw_only=True)
class Enquiries:
    """What answering works with. Every method raises LedgerUnavailable when Firestore gives no usable answer."""

    client: firestore.Client
    ledger: Ledger
    audits: Audits
    gates: Gates
    suppressions: Suppressions
    reports: Reports
    books: Books
    mailings: Mapping[str, Mailing]
    clock: Clock

    def ask(self, who: str, subject: str) -> Answer:
        """Did this user (an id, or an e-mail address) get this (a job, a mailing, perhaps of a date, a run, a delivery)?

        A delivery that is found by its id or its job: a read each for the user, the delivery, the gate and its audit, at least
        one. A mailing's last: as many. One that is not there: at most five more.
        """
        return Question(self, self.clock.now()).ask(who, subject)

    def of(self, delivery_id: str) -> Answer:
        """What became of this delivery: two reads, one of the gate, and its audit. Raises InvalidId for no id of a delivery."""
        return Question(self, self.clock.now()).of(delivery_id)
