"""What somebody is woken for: the promise (late, missing, broken, in doubt), and not the length of a queue."""

from dataclasses import dataclass

MINUTE, HOUR = 60, 3600  # seconds


@dataclass(frozen=True, kw_only=True)
class Count:
    """More than `above` of these events within `seconds`; with `only`, a filter of Cloud Logging, of those that pass it."""

    name: str
    events: tuple[str, ...]
    only: str = ""
    above: int = 0
    seconds: int = 10 * MINUTE
    says: str


@dataclass(frozen=True, kw_only=True)
class Absence:
    """None of these events for `seconds`, at most 23.5 hours. Seen only once there has been one."""

    name: str
    event: str
    seconds: int
    says: str


@dataclass(frozen=True, kw_only=True)
class Probe:
    """`status`, asked every `minutes` from three continents: it must answer 200."""

    name: str
    minutes: int = 15  # the longest there is
    says: str


COUNTS = (
    Count(
        name="late",
        events=("status.reported",),
        only='jsonPayload.healthy=false AND NOT jsonPayload.identity="broken"',
        says="The promise is not kept: an unfinished delivery, or a match that no scan has read, is older than its mailing "
        "promises, a run that should exist does not, or the breaker is open. The log line says which in `problems`, and "
        "`status` in words. Look at its `held_back`, then at the other alerts, then at the queue.",
    ),
    Count(
        name="identity",
        events=("status.reported",),
        only='jsonPayload.identity="broken"',
        seconds=2 * HOUR,  # it is counted once an hour
        says="intended = pending + in_flight + accepted + terminal others + pruned has not held for ten minutes for a run: "
        "deliveries were deleted or written by something else.",
    ),
    Count(
        name="missed",
        events=("run.missed",),
        says="A run came due while nothing planned it, and is too old to be made now: `catch_up` of its mailing. "
        "The log line names the mailing and the time.",
    ),
    Count(
        name="unknown",
        events=("delivery.unknown",),
        seconds=HOUR,
        says="The provider's answer was lost for alerts that are never sent again. Nothing needs to be done for these; "
        "many at a time say that the provider, or the way to it, is in trouble.",
    ),
    Count(
        name="not-settled",
        events=("delivery.not_settled",),
        says="Mail went out whose outcome could not be put on record. The log line bears the outcome and the reference.",
    ),
    Count(
        name="breaker",
        events=("breaker.opened",),
        says="All mail is held back: 401 or 403 is a wrong key or an unverified sender, 429 a limit of the provider. "
        "`state/gate` says which and until when. Nothing is lost; the sweep goes on by itself.",
    ),
    Count(
        name="invalid",
        events=("delivery.invalid", "match.invalid"),
        says="Documents that cannot be read: the log line names the document and the field. A match is skipped, "
        "a delivery is set aside as rejected.",
    ),
    Count(name="failed", events=("request.failed",), says="A fault of ours: the log line has the error."),
    Count(
        name="ledger-away",
        events=("delivery.put_off", "request.put_off"),
        above=20,
        says="Firestore did not answer, or deliveries of a newer schema_version meet an older worker during a rollout.",
    ),
    Count(
        name="tasks-away",
        events=("task.not_created",),
        above=20,
        says="Cloud Tasks did not take tasks. The sweep makes them anew; mail is late until then.",
    ),
)

ABSENCES = (
    Absence(name="no-scan", event="scan.done", seconds=15 * MINUTE, says="No scan has ended for a quarter of an hour."),
    Absence(name="no-plan", event="plan.done", seconds=30 * MINUTE, says="No plan has ended for half an hour."),
    Absence(name="no-sweep", event="sweep.done", seconds=30 * MINUTE, says="No sweep has ended for half an hour."),
    Absence(
        name="no-prune",
        event="prune.done",
        seconds=23 * HOUR,
        says="A prune has not ended, and the last one that did is 23 hours ago. There are two a day, and the next one does "
        "what this one left: one missed is no harm yet.",
    ),
    Absence(
        name="no-status",
        event="status.reported",
        seconds=30 * MINUTE,
        says="Nobody has looked at the promise for half an hour: the alerts that go by it are blind.",
    ),
)

PROBE = Probe(
    name="status",
    says="`status` does not answer 200 to the world outside: its answer names what is not well. This holds also where "
    "Cloud Scheduler or the log is what is in trouble.",
)
