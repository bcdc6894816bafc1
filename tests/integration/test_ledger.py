"""ledger.change: read, apply, commit if nobody was faster; one owner, whatever answers are lost."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from functools import partial
from threading import Barrier
from typing import Any

import pytest
from google.api_core.exceptions import Aborted, RetryError
from google.cloud import firestore

from emulator.firestore import Firestore
from ledgermail.errors import ClaimLost, InvalidDocument, InvalidId, LedgerUnavailable, NewerSchema
from ledgermail.ledger import transitions
from ledgermail.ledger.delivery import Delivery, Status
from ledgermail.ledger.ledger import Ledger
from ledgermail.store import ledger_errors
from tests.integration.conftest import AppMaker, Ground
from tests.integration.interruptions import after, before
from tests.samples import LEASE, NOW, REFUSED, a_delivery, a_mailing

POLICY = a_mailing().policy
Verb = Callable[[Delivery], Delivery]
ID = a_delivery().id
# How a commit may fail: Google's client tries the first two again by itself, and then meets what it wrote.
LOST = ["UNAVAILABLE", "ABORTED", "DEADLINE_EXCEEDED", "INTERNAL", "UNKNOWN", "CANCELLED"]


def claim(claim_id: str) -> Verb:
    return lambda d: transitions.claim(d, claim_id=claim_id, content=d.content, now=NOW, lease=LEASE)


def accept(claim_id: str) -> Verb:
    return lambda d: transitions.accept(d, claim_id=claim_id, reference="m1", now=NOW, policy=POLICY)


def reject(claim_id: str) -> Verb:
    return lambda d: transitions.reject(d, claim_id=claim_id, failure=REFUSED, now=NOW, policy=POLICY)


def retry(claim_id: str) -> Verb:
    return lambda d: transitions.retry(
        d, claim_id=claim_id, failure=REFUSED, now=NOW, policy=POLICY, delay=timedelta(minutes=1)
    )


@pytest.fixture
def ledger(db: firestore.Client) -> Ledger:
    """The ledger."""
    return Ledger(db)


def test_a_change_is_read_back_as_it_was_made(ledger: Ledger, ground: Ground) -> None:
    ground.delivery(a_delivery())
    changed = ledger.change(ID, claim("c1"))
    assert changed.delivery.status is Status.IN_FLIGHT
    assert ledger.read(ID).delivery == changed.delivery
    assert ledger.read(ID).written_at == changed.written_at


def test_a_change_that_changes_nothing_writes_nothing(
    ledger: Ledger, ground: Ground, project: str, controlled: Firestore
) -> None:
    ground.delivery(a_delivery(Status.ACCEPTED))
    controlled.reset_usage(project)
    ledger.change(ID, accept("c1"))
    assert (controlled.usage(project).reads, controlled.usage(project).writes) == (1, 0)


def test_what_only_a_newer_version_knows_stays_untouched(ledger: Ledger, ground: Ground) -> None:
    ground.delivery(a_delivery(), colour="blue")
    ledger.change(ID, claim("c1"))
    assert ground.deliveries()[ID]["colour"] == "blue"


def test_the_end_leaves_no_field_that_the_sweep_would_see(ledger: Ledger, ground: Ground) -> None:
    ground.delivery(a_delivery(Status.IN_FLIGHT))
    ledger.change(ID, accept("c1"))
    document = ground.deliveries()[ID]
    assert not {"wake_at", "lease_expires_at", "unfinished_since", "next_attempt_at"} & set(document)
    assert "items" not in document["content"]


def test_fifty_workers_that_claim_one_delivery_have_one_winner(make_app: AppMaker, ground: Ground) -> None:
    ground.delivery(a_delivery())
    app, together = make_app(), Barrier(50)

    def work(number: int) -> str:
        together.wait()
        try:
            return app.ledger.change(ID, claim(f"c{number}")).delivery.claim_id or ""
        except ClaimLost:
            return "lost"

    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(work, range(50)))
    (winner,) = set(answers) - {"lost"}
    assert answers.count("lost") == 49
    assert ground.deliveries()[ID]["claim_id"] == winner


def test_who_loses_a_race_sees_what_the_winner_did(ledger: Ledger, ground: Ground) -> None:
    ground.delivery(a_delivery())
    slow = before(ledger, "_write", lambda: ledger.change(ID, claim("first")))
    with pytest.raises(ClaimLost):
        slow.change(ID, claim("second"))
    assert ground.deliveries()[ID]["claim_id"] == "first"


def test_a_document_that_was_read_before_somebody_wrote_it_is_read_again(ledger: Ledger, ground: Ground) -> None:
    ground.delivery(a_delivery())
    known = ledger.read(ID)
    ledger.change(ID, claim("first"))
    with pytest.raises(ClaimLost):
        ledger.change(ID, claim("second"), known=known)


def test_a_race_that_is_lost_again_and_again_ends_as_unavailable(ledger: Ledger, ground: Ground) -> None:
    ground.delivery(a_delivery())
    touch = ground.db.collection("deliveries").document(ID)

    def restless(delivery: Delivery) -> Delivery:
        touch.update({"touched": firestore.Increment(1)})
        return claim("c1")(delivery)

    with pytest.raises(LedgerUnavailable):
        ledger.change(ID, restless)
    assert ground.deliveries()[ID]["status"] == "pending"


@pytest.mark.parametrize("code", LOST)
@pytest.mark.parametrize(
    ("start", "verb", "end"),
    [
        (Status.PENDING, claim("c1"), Status.IN_FLIGHT),
        (Status.IN_FLIGHT, accept("c1"), Status.ACCEPTED),
        (Status.IN_FLIGHT, reject("c1"), Status.REJECTED),
        (Status.IN_FLIGHT, retry("c1"), Status.PENDING),
    ],
)
def test_a_commit_that_was_applied_but_not_answered_is_known_for_our_own(
    code: str,
    start: Status,
    verb: Verb,
    end: Status,
    ledger: Ledger,
    ground: Ground,
    controlled: Firestore,
    project: str,
) -> None:
    before_it = a_delivery(start)
    ground.delivery(before_it)
    controlled.fail("Commit", project=project, when="after", code=code)
    changed = ledger.change(ID, verb).delivery
    assert (changed.status, changed) == (end, verb(before_it))
    assert ledger.read(ID).delivery == changed


@pytest.mark.parametrize(
    "code", [*LOST, "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ALREADY_EXISTS", "INVALID_ARGUMENT"]
)
def test_a_commit_that_was_not_applied_is_made_again(
    code: str, ledger: Ledger, ground: Ground, controlled: Firestore, project: str
) -> None:
    """AlreadyExists and Aborted are one family (409): neither may pass for a change that was made."""
    ground.delivery(a_delivery())
    controlled.fail("Commit", project=project, code=code)
    assert ledger.change(ID, claim("c1")).delivery.claim_id == "c1"
    assert ground.deliveries()[ID]["attempt"] == 1


def test_a_lost_answer_and_a_faster_worker_leave_one_owner(
    ledger: Ledger, ground: Ground, controlled: Firestore, project: str
) -> None:
    """Our claim was applied, its answer lost; before we could look, the lease was ended and the delivery claimed anew."""
    ground.delivery(a_delivery())
    controlled.fail("Commit", project=project, when="after", code="INTERNAL")

    def meanwhile() -> None:
        ledger.change(ID, retry("ours"))
        ledger.change(ID, lambda d: claim("theirs")(d.changed(next_attempt_at=NOW)))

    slow = after(ledger, "_write", meanwhile)
    with pytest.raises(ClaimLost):
        slow.change(ID, claim("ours"))
    assert ground.deliveries()[ID]["claim_id"] == "theirs"


@pytest.mark.parametrize(
    ("meanwhile", "found"),
    [
        (lambda document: document.delete(), {}),
        (lambda document: document.update({"shard": "0"}), {}),
        (lambda document: document.update({"schema_version": 2}), {ID: None}),
        (lambda document: document.update({"colour": "blue"}), {ID: claim("c1")(a_delivery())}),
    ],
    ids=["deleted", "broken", "newer", "changed"],
)
def test_what_became_of_one_of_several_since_they_were_read_is_told_of_it_alone(
    meanwhile: Callable[[firestore.DocumentReference], object],
    found: dict[str, Delivery | None],
    ledger: Ledger,
    ground: Ground,
) -> None:
    other = a_delivery(id="u2_j1", user_id="u2")
    ground.put([a_delivery(), other])
    slow, turns = claim("c1"), iter([meanwhile])

    def overtaken(delivery: Delivery) -> Delivery:
        for turn in turns:
            turn(ground.db.collection("deliveries").document(ID))
        return slow(delivery)

    changed = ledger.change_all({ID: overtaken, other.id: slow})
    assert changed == {**found, other.id: slow(other)}
    assert ground.deliveries()[other.id]["claim_id"] == "c1"


@pytest.mark.parametrize("rpc", ["BatchGetDocuments", "Commit"])
@pytest.mark.parametrize("code", ["INTERNAL", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED"])
def test_a_firestore_that_does_not_answer_is_one_error_of_ours(
    rpc: str, code: str, ledger: Ledger, ground: Ground, controlled: Firestore, project: str
) -> None:
    ground.delivery(a_delivery())
    controlled.fail(rpc, project=project, times=None, code=code)
    with pytest.raises(LedgerUnavailable):
        ledger.change(ID, claim("c1"))


@pytest.mark.parametrize("error", [ValueError(), Aborted("busy"), RetryError("too long", None)])  # type: ignore[no-untyped-call]
def test_however_googles_client_gives_up_it_is_one_error_of_ours(error: Exception) -> None:
    """Bare ValueErrors, too: it raises them for a transaction that is exhausted."""
    with pytest.raises(LedgerUnavailable, match=type(error).__name__), ledger_errors("read"):
        raise error


@pytest.mark.parametrize("delivery_id", ["a_b/c", "a_b/c/d", "a_b_c", "ab", "_", "../a_b", "a_"])
def test_what_cannot_be_the_id_of_a_delivery_is_refused_before_it_addresses_anything(
    delivery_id: str, ledger: Ledger
) -> None:
    with pytest.raises(InvalidId, match="delivery_id"):
        ledger.find(delivery_id)


@pytest.mark.parametrize(
    "document",
    [
        {"schema_version": None},
        {"status": "sent"},
        {"guarantee": "exactly_once"},
        {"due_at": "tomorrow"},
        {"shard": "0"},
        {"content": "text"},
        {"wake_at": None},
        {"claim_id": 7, "status": "in_flight"},
        {"claim_id": "", "status": "in_flight", "lease_expires_at": NOW},
        {"last_error": {"why": "?"}},
        {"stages": {"email": {}}},
    ],
)
def test_what_is_no_delivery_is_named_and_set_aside(
    document: dict[str, object], ledger: Ledger, ground: Ground, db: firestore.Client
) -> None:
    ground.delivery(a_delivery(), **document)
    with pytest.raises(InvalidDocument) as problem:
        ledger.change(ID, claim("c1"))
    ledger.set_aside(db.collection("deliveries").document(ID).get(), problem.value, POLICY)
    written = ground.deliveries()[ID]
    assert (written["status"], written["last_error"]["category"]) == ("rejected", "invalid")
    assert str(problem.value) == written["last_error"]["detail"]
    assert not {"wake_at", "unfinished_since", "lease_expires_at"} & set(written)
    assert written["prune_at"] - written["settled_at"] == POLICY.retention


def test_a_delivery_of_a_newer_version_is_not_touched(ledger: Ledger, ground: Ground) -> None:
    ground.delivery(a_delivery(), schema_version=2)
    before_it = ground.deliveries()
    with pytest.raises(NewerSchema):
        ledger.change(ID, claim("c1"))
    assert ground.deliveries() == before_it


def test_a_time_without_a_zone_never_gets_into_the_ledger(ledger: Ledger, ground: Ground) -> None:
    ground.delivery(a_delivery(Status.IN_FLIGHT))
    naive = datetime(2026, 8, 16, 9, 30)
    for field in ("due_at", "next_attempt_at", "wake_at"):
        changes: dict[str, Any] = {field: naive}
        with pytest.raises(InvalidDocument, match=f"{field}: has no time zone"):
            ledger.change(ID, partial(Delivery.changed, **changes))
    assert ledger.read(ID).delivery == a_delivery(Status.IN_FLIGHT)
