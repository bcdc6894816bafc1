"""Overrides: what an operator may ask of a delivery, as pure as every other verb. Who asked is in the audit, not here."""

from datetime import datetime

from ledgermail.errors import WrongStatus
from ledgermail.ledger.delivery import Delivery, Failure, Stage, Status
from ledgermail.ledger.evidence import prove
from ledgermail.ledger.policy import Policy
from ledgermail.ledger.transitions import EMAIL, close

REOPENABLE = frozenset({Status.REJECTED, Status.EXPIRED, Status.SUPPRESSED, Status.CANCELLED, Status.UNKNOWN})
CANCELLED = Failure(category="cancelled", detail="an operator called it off")
VOUCHED = "operator"  # the reference of a mail that somebody vouched for


def reopen(delivery: Delivery, *, now: datetime, policy: Policy) -> Delivery:
    """rejected | expired | suppressed | cancelled | unknown -> pending, due at once: it is tried again from the beginning.

    Its items are read anew, and its last day is counted from now. Of an unknown one the mail may come twice: whoever asks has
    decided that. The claim stays on record, so that a late yes to it is still proof; a late no does not count.
    """
    if delivery.reopened_at == now:
        return delivery
    if delivery.status not in REOPENABLE:
        raise WrongStatus(f"{delivery.status}: only {_words(REOPENABLE)} can be tried again")
    return delivery.changed(
        status=Status.PENDING,
        generation=delivery.generation + 1,
        content=None,
        stages={},
        first_attempt_at=None,
        doubted_at=None,
        reopened_at=now,
        wake_at=now + policy.slack,
        settled_at=None,
        prune_at=None,
    )


def cancel(delivery: Delivery, *, now: datetime, policy: Policy) -> Delivery:
    """pending -> cancelled: it is called off; accepted, where only its webhook was owed. What a worker holds cannot be."""
    if delivery.last_error == CANCELLED and delivery.settled_at == now:
        return delivery
    if delivery.status not in {Status.PENDING, Status.CANCELLED}:
        raise WrongStatus(f"{delivery.status}: only what is pending can be cancelled")
    return close(delivery, Status.CANCELLED, CANCELLED, now, policy)


def vouch(delivery: Delivery, *, now: datetime, policy: Policy) -> Delivery:
    """pending | unknown | expired ... -> accepted, where it is in doubt: somebody has seen that the mail arrived."""
    proof = Stage(at=now, reference=VOUCHED)
    if delivery.stages.get(EMAIL) == proof:
        return delivery
    if delivery.status is not Status.UNKNOWN and (delivery.doubted_at is None or delivery.status is Status.IN_FLIGHT):
        raise WrongStatus(f"{delivery.status}: only what may have been sent, and nobody knows, can be settled by hand")
    return prove(delivery, proof=proof, webhook=False, now=now, policy=policy)


def _words(statuses: frozenset[Status]) -> str:
    return ", ".join(status for status in Status if status in statuses)
