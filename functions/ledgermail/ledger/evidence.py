"""Evidence: what proves that the provider took a mail, other than the answer to the claim that holds it.

That is an event which the provider posts later, or the answer to an attempt whose claim another has taken over. Every event
about a mail proves it, one that it was dropped too: accepted is not delivered. Evidence may come in any order and any number
of copies, and leads to the same delivery.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from ledgermail.ledger.delivery import Delivery, Stage, Status
from ledgermail.ledger.policy import Policy
from ledgermail.ledger.transitions import EMAIL, finish, on_record

EARLY = timedelta(minutes=10)  # by how much the provider's clock may be behind ours


def is_about(delivery: Delivery, at: datetime) -> bool:
    """Whether what happened to a mail at this time may have happened to that of this delivery.

    One that was pruned may have had the same id, and its mail be opened or complained about since: the job was matched anew.
    """
    return delivery.attempt > 0 and at >= delivery.created_at - EARLY


def observe(
    delivery: Delivery, *, seen: Mapping[str, datetime], proof: Stage, webhook: bool, now: datetime, policy: Policy
) -> Delivery:
    """any -> accepted, as `prove` says; `seen` are the events by type, of which the earliest time of each is kept."""
    first = {kind: min(at, delivery.events.get(kind, at)) for kind, at in seen.items()}
    known = delivery.changed(events={**delivery.events, **first})
    return prove(known, proof=proof, webhook=webhook, now=now, policy=policy)


def prove(delivery: Delivery, *, proof: Stage, webhook: bool, now: datetime, policy: Policy) -> Delivery:
    """any -> accepted: the mail was taken, as `proof` says when and by which reference.

    With a `webhook` to follow, what is unfinished stays so: its email is on record as the first proof says, which the customer
    may have been told, and only the webhook is owed.
    """
    known, owed = delivery.stages.get(EMAIL), webhook and delivery.unfinished
    if known is None:
        proven = on_record(delivery, EMAIL, proof.reference, proof.at).changed(evidence_at=now)
        return proven if owed else finish(proven, Status.ACCEPTED, None, now, policy)
    if delivery.evidence_at is not None and not owed and (proof.at, proof.reference) < (known.at, known.reference):
        return on_record(delivery, EMAIL, proof.reference, proof.at)
    return delivery
