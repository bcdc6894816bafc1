"""Every event of the log: its name, its fields, and what it says. `python -m ledgermail.log_table` writes docs/logs.md.

The functions only write events; this table is what tests hold them to, and what deploy makes its log-based metrics from.
"""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ledgermail.ledger.delivery import Status

ENVELOPE = ("severity", "message", "event", "logging.googleapis.com/trace")
DELIVERY = ("delivery_id", "mailing", "run_key", "status", "attempt", "generation")
MATCHES = ("matches", "created", "woken", "duplicates", "too_old", "not_wanted", "invalid")
RUNS = ("opened", "missed", "created", "woken", "resumed", "unpublished")
SWEPT = (*map(str, Status), "woken", "passed_over", "invalid", "not_swept")
TAKEN = ("events", "deliveries", "unknown_deliveries", "proven", "doubts_settled", "suppressed")
UNTAKEN = ("unmatched", "malformed", "not_ours")


@dataclass(frozen=True, kw_only=True)
class Event:
    """One kind of line. Fields may be absent where they do not apply; `measured` ones are numbers that are worth a curve."""

    name: str
    severities: tuple[str, ...] = ("INFO",)
    fields: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()  # fields that are how many came to what; none where there was none
    measured: tuple[str, ...] = ()
    says: str


WARNING, ERROR = ("WARNING",), ("ERROR",)
OUTCOMES = {
    Status.PENDING: "An attempt sent nothing, or its answer was lost and it may be made again: there will be another.",
    Status.IN_FLIGHT: "The mail is on record, and the webhook comes next.",
    Status.ACCEPTED: "The provider took the mail, or a webhook's last call has ended.",
    Status.REJECTED: "The provider, or we, refused it for good.",
    Status.EXPIRED: "Its last day for an attempt has passed.",
    Status.SUPPRESSED: "The recipient may not or does not want to get it.",
    Status.EMPTY: "There was nothing to say.",
    Status.CANCELLED: "An operator called it off.",
    Status.UNKNOWN: "The answer was lost, and it is never sent again.",
}

EVENTS = (
    Event(name="delivery.claimed", fields=DELIVERY, says="A worker has the right to one attempt."),
    *(
        Event(name=f"delivery.{status}", fields=(*DELIVERY, "outcome", "reason"), says=says)
        for status, says in OUTCOMES.items()
    ),
    Event(
        name="delivery.proven",
        severities=WARNING,
        fields=(*DELIVERY, "reference"),
        says="A mail was taken although the claim that sent it is another's now.",
    ),
    Event(
        name="delivery.not_settled",
        severities=ERROR,
        fields=(*DELIVERY, "outcome", "reference"),
        says="A mail's outcome could not be put on record; this line is its only trace.",
    ),
    Event(name="delivery.not_mine", fields=("delivery_id", "reason"), says="Another worker was faster."),
    Event(
        name="delivery.put_off",
        severities=WARNING,
        fields=("delivery_id", "error"),
        says="The ledger was away, or the delivery is of a newer release: its task comes again.",
    ),
    Event(name="delivery.no_such", severities=WARNING, fields=("delivery_id",), says="A task for no delivery."),
    Event(
        name="delivery.gone",
        severities=ERROR,
        fields=("delivery_id", "problem"),
        says="A delivery was deleted, or made unreadable, under our hands.",
    ),
    Event(
        name="delivery.invalid",
        severities=ERROR,
        fields=("delivery_id", "problem"),
        says="A delivery cannot be read; it is set aside as rejected.",
    ),
    Event(
        name="delivery.not_read",
        severities=WARNING,
        fields=("delivery_id", "problem"),
        says="A delivery that is asked about cannot be read, and is passed over.",
    ),
    Event(name="delivery.swept", fields=(*DELIVERY, "before"), says="The sweep moved it on."),
    Event(
        name="delivery.not_swept",
        severities=WARNING,
        fields=("delivery_id", "error"),
        says="The sweep could not write it; the next one tries again.",
    ),
    Event(
        name="scan.done",
        fields=("look_back", "mailing", "more", "stopped"),
        counts=MATCHES,
        says="A scan, or a look-back, ended.",
    ),
    Event(
        name="scan.lock_left",
        severities=WARNING,
        fields=("book", "error"),
        says="A scan could not release its lock, which heals by its age.",
    ),
    Event(
        name="match.invalid",
        severities=WARNING,
        fields=("match_id", "problem"),
        says="A match cannot be read, and is passed over.",
    ),
    Event(
        name="plan.done", fields=("more", "run_key", "part"), counts=RUNS, says="A tick, or a part of a plan, ended."
    ),
    Event(
        name="run.opened",
        fields=("run_key", "mailing", "parts", "intended"),
        says="A run was opened, with its first page.",
    ),
    Event(
        name="run.missed",
        severities=ERROR,
        fields=("mailing", "due_at"),
        says="A run is too old to be made, and on record as missed.",
    ),
    Event(
        name="run.mailing_gone",
        severities=ERROR,
        fields=("run_key",),
        says="A run is half planned, and its mailing is not there.",
    ),
    Event(
        name="run.not_deleted",
        severities=WARNING,
        fields=("run_key", "error"),
        says="An emptied run could not be deleted; the next prune tries again.",
    ),
    Event(name="part.overtaken", fields=("run_key", "part"), says="Another planner works on the same part."),
    Event(
        name="plan.not_remembered",
        severities=ERROR,
        fields=("mailing", "cohorts"),
        says="More schedules are in use than one document can remember; the others are looked at anew by each tick.",
    ),
    Event(
        name="schedule.changed",
        fields=("mailing",),
        says="The mailing's own schedule is another than at the last tick.",
    ),
    Event(
        name="schedule.invalid",
        severities=WARNING,
        fields=("mailing", "problem"),
        says="A user's schedule is none; the mailing's own is taken.",
    ),
    Event(
        name="task.not_created",
        severities=WARNING,
        fields=("subject", "queue", "error"),
        says="Cloud Tasks did not take a task; the sweep makes it anew.",
    ),
    Event(name="sweep.done", fields=("go_on_at",), counts=SWEPT, says="A sweep ended, or goes on at a shard."),
    Event(name="prune.done", fields=("prune_id", "deleted"), says="A prune ended."),
    Event(name="prune.goes_on", fields=("prune_id", "deleted"), says="A prune ran out of time and goes on as a task."),
    Event(
        name="status.reported",
        severities=("INFO", "ERROR"),
        fields=(
            *("healthy", "problems", "identity", "oldest_seconds", "reads"),
            *("oldest_unfinished_seconds", "oldest_unread_match_seconds"),
        ),
        measured=("oldest_seconds", "reads"),
        says="Somebody looked at the promise; ERROR when it is not kept.",
    ),
    Event(
        name="events.taken",
        severities=("INFO", "WARNING"),
        counts=(*TAKEN, *UNTAKEN),
        says="The provider told what became of mails; WARNING when something in it could not be read.",
    ),
    Event(
        name="breaker.opened",
        severities=WARNING,
        fields=("until", "reason"),
        says="The provider's answer has all mail held back.",
    ),
    Event(
        name="operator.acted",
        fields=("action", "news", *DELIVERY),
        says="An operator did something, which is on record in `audits`.",
    ),
    Event(
        name="preferences.changed",
        fields=("user_id", "mailing", "how", "fields"),
        says="A user changed what they get; which fields, not what is in them.",
    ),
    Event(name="preferences.refused", severities=WARNING, fields=("reason",), says="A link is none of ours."),
    Event(
        name="request.refused",
        severities=WARNING,
        fields=("status", "reason"),
        says="A request was answered with this HTTP status.",
    ),
    Event(name="console.signed_in", says="An operator has opened a session by Firebase."),
    Event(name="request.put_off", severities=WARNING, fields=("error",), says="The ledger was away: 503."),
    Event(name="request.failed", severities=ERROR, fields=("error",), says="A fault of ours."),
)

FIELDS: Mapping[str, str] = {
    "severity": "INFO, WARNING or ERROR, as Cloud Logging has them",
    "message": "the event's name once more, for the list of lines",
    "event": "the event's name",
    "logging.googleapis.com/trace": "the request's trace, by which Cloud Logging groups lines",
    "delivery_id": "the delivery; it begins with the user's id, so do not use addresses for ids",
    "mailing": "the mailing",
    "run_key": "the run",
    "status": "of a delivery, where it stands now; of a request, the HTTP status",
    "before": "where it stood before",
    "attempt": "calls to the provider so far",
    "generation": "of the delivery's task",
    "outcome": "of the attempt: Accepted, Rejected, Transient, Ambiguous, Misconfigured",
    "reason": "why: a category of ours, or a code and words of the provider",
    "reference": "the provider's own id of the mail",
    "problem": "the field that is wrong, and how",
    "error": "what failed, by the name of the error",
    "look_back": "whether it was the look-back",
    "more": "whether it ran out of time and goes on",
    "stopped": "why a scan gave way: overlap or fence",
    "book": "the scan's book",
    "match_id": "the match's document",
    "part": "the number of a part of a run",
    "parts": "how many parts a run has",
    "cohorts": "how many schedules, or pairs of schedule and topic, it is about",
    "intended": "deliveries that were owed at once",
    "due_at": "when it was due",
    "subject": "what the task is about: a delivery, or a function",
    "queue": "the queue",
    "go_on_at": "the shard at which it goes on",
    "prune_id": "the prune's audit",
    "deleted": "deliveries deleted",
    "healthy": "whether the promise is kept",
    "problems": "the kinds of what is not well",
    "identity": "holds, unsettled, broken, or not counted",
    "oldest_seconds": "since the oldest unfinished delivery of all mailings was due; 0 without any",
    "reads": "billed reads that the report cost",
    "oldest_unfinished_seconds": "the same by mailing",
    "oldest_unread_match_seconds": "since the oldest match that no scan has read, by mailing",
    "until": "until when",
    "action": "what the operator did",
    "news": "whether it changed anything",
    "user_id": "the user's id",
    "how": "by which way the user changed it",
    "fields": "the names of what was changed",
}

# What no field may be called, in whole or in part: it would hold what is nobody's business in a log.
SECRET = ("address", "email", "mail_to", "recipient", "body", "html", "text", "secret", "token", "password", "key")
NOT_SECRET = ("run_key",)  # a name, and no key to anything


def markdown() -> str:
    """The table as a page."""
    return "\n".join([*_head(), *_events(), "", *_fields(), ""])


def _head() -> Iterator[str]:
    yield "# The log"
    yield ""
    yield "Made from [log_table.py](../functions/ledgermail/log_table.py) by `python -m ledgermail.log_table`; do not edit."
    yield ""
    yield "Each event is one line of JSON with a dotted name. No line bears an address, a body or a key: what looks like an"
    yield "address is masked, whatever field it is in. `deploy` counts all events by name and mailing in one log-based metric,"
    yield "and makes a distribution of each field marked with *."
    yield ""


def _events() -> Iterator[str]:
    yield "| event | severity | fields | what it says |"
    yield "|---|---|---|---|"
    for event in EVENTS:
        marked = [f"`{name}`{'*' if name in event.measured else ''}" for name in event.fields]
        counted = [f"counts: {', '.join(event.counts)}"] if event.counts else []
        fields = "; ".join([*([", ".join(marked)] if marked else []), *counted])
        yield f"| `{event.name}` | {', '.join(event.severities)} | {fields} | {event.says} |"


def _fields() -> Iterator[str]:
    yield "| field | what it is |"
    yield "|---|---|"
    for name, says in FIELDS.items():
        yield f"| `{name}` | {says} |"


if __name__ == "__main__":
    sys.stdout.write(markdown())
