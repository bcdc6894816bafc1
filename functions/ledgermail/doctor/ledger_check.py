"""The doctor's look at Firestore: whether it answers, has every index, and whether the gate lets mail out."""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING

from google.api_core.exceptions import FailedPrecondition

from ledgermail.delivering.gate import Gate
from ledgermail.doctor.finding import Finding, ok, problem, unseen, warning
from ledgermail.doctor.google_refusal import DEPLOY, REFUSED, Service, cause_of, diagnosis, words
from ledgermail.errors import LedgerUnavailable
from ledgermail.ledger.delivery import Status
from ledgermail.planning.book import STATE
from ledgermail.store import CALL_SECONDS, RETRY

if TYPE_CHECKING:
    from ledgermail.app import App
    from ledgermail.settings import Settings

NOBODY = "ledgermail-doctor"  # a user, run, schedule and topic that nothing is of: a query for it costs one read
EARLY, LATE = datetime(1970, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)  # before and after everything
PATIENCE = 2.0  # seconds in which a first try that failed is made again
SECONDS = "%Y-%m-%dT%H:%M:%SZ"
CLOSE = "To close it at once, delete `breaker` of state/gate"
DEPLOY_INDEXES = f"{DEPLOY}, or `firebase deploy --only firestore:indexes`"


def ledger(app: "App") -> Iterator[Finding]:
    """Firestore, and if it answers its indexes and the gate."""
    where = f"database {app.settings.database} of {app.settings.project}"
    try:
        document = app.client.collection(STATE).document(NOBODY)
        document.get(retry=RETRY.with_timeout(PATIENCE), timeout=CALL_SECONDS)
    except REFUSED as error:
        yield diagnosis("firestore", service(app.settings), error)
        yield from (unseen(check, "needs Firestore") for check in ("indexes", "gate"))
        return
    yield ok("firestore", f"{where} answers, and may be read")
    yield from indexes(app)
    yield gate(app)


def service(settings: "Settings") -> Service:
    """Firestore as this deployment uses it."""
    return Service(
        api="firestore.googleapis.com",
        host_variable="FIRESTORE_EMULATOR_HOST",
        grant=f"gcloud projects add-iam-policy-binding {settings.project} "
        "--member=serviceAccount:ACCOUNT --role=roles/datastore.user",
        create=f"gcloud firestore databases create --database='{settings.database}' --location={settings.location} "
        f"--type=firestore-native --project={settings.project}",
    )


def indexes(app: "App") -> Iterator[Finding]:
    """Ask everything that the product asks, about nobody, and tell of each index that is not there."""
    asked = queries(app)
    refused: dict[str, Finding] = {}  # by what was said: two queries may want the same index
    for name, ask in asked.items():
        try:
            ask()
        except LedgerUnavailable as error:
            cause = _cause(error)
            refused.setdefault(words(cause), _refused(app, name, cause))
            if not isinstance(cause, FailedPrecondition):
                break  # the others would fare no better, and each would take its time
    yield from refused.values()
    if not refused:
        yield ok("indexes", f"all {len(asked)} kinds of query are served")


def queries(app: "App") -> Mapping[str, Callable[[], object]]:
    """Each kind of query by what it asks for, in a form that finds nothing, or one document: one read each."""
    from ledgermail.console.days import count_days
    from ledgermail.delivering.items import Items
    from ledgermail.planning.audience import Audience, Cohort
    from ledgermail.planning.matches import Matches
    from ledgermail.planning.runs import Runs
    from ledgermail.status.bill import Bill
    from ledgermail.upkeep.upkeep import Upkeep

    client, mailing = app.client, next(iter(app.mailings), NOBODY)
    audience, matches, runs, upkeep = Audience(client), Matches(client), Runs(client), Upkeep(client)
    cohort = Cohort(mailing=mailing, schedule=NOBODY, topic=NOBODY)
    return {
        "new matches": lambda: matches.after(LATE, "", before=LATE, limit=1),
        "the number of matches": lambda: matches.count(LATE, LATE),
        "a digest's matches": lambda: Items(client, app.reports).newest(NOBODY, EARLY, LATE),
        "the newest report": lambda: app.reports.newest(NOBODY, EARLY, LATE),
        "users' schedules": lambda: list(islice(audience.schedules(mailing), 1)),
        "an audience": lambda: audience.page(cohort, "", ""),
        "a user's last digest": lambda: audience.covered_until(NOBODY, mailing),
        "the newest runs": lambda: runs.since(LATE, 1),
        "the counts of a run, and of a day": lambda: count_days(client, [mailing], [EARLY.date()], Bill()),
        "the oldest delivery": lambda: app.statuses.ages.oldest(mailing, Bill()),
        "overdue deliveries": lambda: upkeep.overdue(0, EARLY, None),
        "overdue deliveries of a status": lambda: upkeep.overdue(0, EARLY, None, only=Status.PENDING),
        "a user's deliveries": lambda: app.ledger.newest_of(NOBODY, 1),
        "the audit of a delivery": lambda: app.operations.audits.newest(delivery_id=NOBODY),
        "the audit of a user": lambda: app.operations.audits.newest(user_id=NOBODY),
        "deliveries to prune": lambda: upkeep.prunable(0, EARLY, None),
    }


def _refused(app: "App", name: str, cause: Exception) -> Finding:
    if not isinstance(cause, FailedPrecondition):
        return diagnosis("indexes", service(app.settings), cause)
    if "currently building" in words(cause):  # Firestore's own words of an index that is on its way
        return problem("indexes", f"{name}: {words(cause)}", "wait until it is built")
    return problem("indexes", f"{name}: {words(cause)}", DEPLOY_INDEXES)


def gate(app: "App") -> Finding:
    """Whether mail may go out now."""
    try:
        return _gate(app.gates.read(), app.clock.now())
    except LedgerUnavailable as error:
        return diagnosis("gate", service(app.settings), _cause(error))
    except (AttributeError, TypeError, ValueError) as error:  # written by hand, and not as we do
        return problem("gate", f"state/gate cannot be read: {words(error)}", CLOSE)


def _gate(gate: Gate, now: datetime) -> Finding:
    since = f"since {gate.written_at:{SECONDS}}" if gate.written_at else ""
    if gate.open_until is not None and now < gate.open_until:
        paused = ", and mail is paused" if gate.paused else ""
        said = f"the breaker is open {since}, until {gate.open_until:{SECONDS}}: {gate.reason}{paused}"
        return problem("gate", said, f"mend what the provider says; it closes by itself then. {CLOSE}")
    if gate.paused:
        return warning(
            "gate", f"mail is paused {since} or before", "`ledgermail resume`, or the console: both put it on record"
        )
    return ok("gate", "mail may go out")


def _cause(error: LedgerUnavailable) -> Exception:
    return cause_of(error.__cause__) if isinstance(error.__cause__, Exception) else error
