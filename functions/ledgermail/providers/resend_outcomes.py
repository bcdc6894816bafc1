"""What the errors of Resend say of an attempt, beyond their HTTP status."""

from ledgermail.delivering.outcomes import Kind, kind_of_status

# What its documented errors (https://resend.com/docs/api-reference/errors) say other than their status does.
RESEND_BY_NAME = {
    # Only what has been sent is kept under a key: an earlier attempt of this delivery was taken, and since then its
    # template, sender or address has changed. To send the new one, too, would be the second mail.
    (409, "invalid_idempotent_request"): Kind.ACCEPTED,
    # An earlier attempt is under way at Resend, and may yet be taken.
    (409, "concurrent_idempotent_requests"): Kind.AMBIGUOUS,
    (422, "invalid_from_address"): Kind.MISCONFIGURED,
    (422, "invalid_access"): Kind.MISCONFIGURED,
    (422, "invalid_region"): Kind.MISCONFIGURED,
}
# Where an error that is a message's own, by status and name, is one of ours: a wrong key may be a 400.
RESEND_OURS = ("api key is invalid", "invalid `from`")


def kind_of_resend(status: int, name: str, words: str) -> Kind:
    """What an answer of Resend says of the attempt, by its status, its error's name and words (empty: not JSON)."""
    kind = RESEND_BY_NAME.get((status, name)) or kind_of_status(status)
    return Kind.MISCONFIGURED if kind is Kind.REJECTED and words.lower().startswith(RESEND_OURS) else kind
