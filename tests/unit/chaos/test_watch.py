"""What the watch sees in the ledger's file: an identity that does not hold after a commit, a doubt, an end that is undone."""

from typing import Any

from google.cloud.firestore_v1._helpers import encode_dict

from emulator.chaos.watch import History, allowed
from emulator.firestore.messages import Document, Message
from emulator.firestore.paths import DocumentName, document_name
from ledgermail.ledger.delivery import Failure, Guarantee, Status, to_document
from tests.samples import a_delivery

ONCE, AGAIN = Guarantee.AT_MOST_ONCE, Guarantee.AT_LEAST_ONCE
RUN = "job-alert:2026-08-16"


def named(path: str) -> DocumentName:
    return document_name(f"projects/p/databases/(default)/documents/{path}")


def document(fields: dict[str, Any]) -> Message:
    message = Document()
    for name, value in encode_dict(fields).items():
        message.fields[name].CopyFrom(value._pb)
    return message


def delivery(status: Status = Status.PENDING, guarantee: Guarantee = ONCE, category: str = "") -> Message:
    error = Failure(category=category) if category else None
    fields = to_document(a_delivery(guarantee=guarantee, run_key=RUN, last_error=error)) | {"status": status}
    return document(fields)


def history(*commits: dict[str, Message | None]) -> History:
    seen = History()
    for changes in commits:
        seen.committed({named(path): message for path, message in changes.items()})
    return seen


def run(intended: int, pruned: int = 0, state: str | None = None) -> Message:
    return document({"intended": intended, "pruned": pruned} | ({"state": state} if state else {}))


def test_a_delivery_that_no_run_intends_is_seen_in_its_commit() -> None:
    assert history({f"runs/{RUN}": run(1), "deliveries/a": delivery()}).broken == []
    (problem,) = history({f"runs/{RUN}": run(1), "deliveries/a": delivery(), "deliveries/b": delivery()}).broken
    assert problem == f"{RUN}: 1 intended, 2 there, 0 pruned"


def test_a_delivery_that_goes_without_being_counted_is_seen() -> None:
    start = {f"runs/{RUN}": run(1), "deliveries/a": delivery(Status.ACCEPTED)}
    assert history(start, {"deliveries/a": None, f"runs/{RUN}": run(1, pruned=1)}, {f"runs/{RUN}": None}).broken == []
    assert history(start, {"deliveries/a": None}).broken == [f"{RUN}: 1 intended, 0 there, 0 pruned"]


def test_a_run_under_planning_has_no_identity_yet() -> None:
    assert history({f"runs/{RUN}": run(0, state="planning"), "deliveries/a": delivery()}).broken == []


def test_what_was_accepted_stays_so() -> None:
    start = {f"runs/{RUN}": run(1), "deliveries/a": delivery(Status.ACCEPTED)}
    assert history(start, {"deliveries/a": delivery(Status.UNKNOWN)}).broken == ["a: accepted became unknown"]


def test_each_lost_answer_allows_a_digest_one_more_mail_and_an_alert_none() -> None:
    for guarantee, most in ((AGAIN, 3), (ONCE, 1)):
        claimed, lost = delivery(Status.IN_FLIGHT, guarantee), delivery(Status.PENDING, guarantee, "lease_ended")
        refused = delivery(Status.PENDING, guarantee, "transient")
        seen = history(
            {f"runs/{RUN}": run(1), "deliveries/a": claimed}, *[{"deliveries/a": d} for d in (lost, claimed)]
        )
        for after in (refused, claimed, delivery(Status.PENDING, guarantee, "ambiguous"), claimed):
            seen.committed({named("deliveries/a"): after})
        assert allowed(seen.deliveries["a"]) == most
        assert seen.unfinished == 1
