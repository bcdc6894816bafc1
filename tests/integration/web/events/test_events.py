"""The Event Webhook: what events do to the ledger and to whom mail goes, over HTTP, signed."""

import random
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from emulator.firestore import Firestore
from ledgermail.app import App
from ledgermail.ledger.delivery import Guarantee, Stage, Status
from ledgermail.ledger.ids import delivery_id
from tests.integration import delivering
from tests.integration.conftest import Ground
from tests.integration.delivering import JOB
from tests.integration.web.conftest import Call
from tests.integration.web.events.conftest import Post
from tests.integration.web.events.signing import AT, an_event
from tests.samples import NOW, a_user

WHEN = NOW  # of the events, and of the planning of what they are about
owed = partial(delivering.owed, at=NOW)


def document(ground: Ground, delivery: str = JOB) -> dict[str, Any]:
    return ground.deliveries()[delivery]


def user(ground: Ground, user_id: str = "u1") -> dict[str, Any]:
    return ground.db.collection("users").document(user_id).get().to_dict() or {}


@pytest.fixture
def accepted(ground: Ground) -> Ground:
    """An alert of u1 that the provider took."""
    ground.user("u1", a_user())
    taken: dict[str, Any] = {"attempt": 1, "stages": {"email": Stage(at=WHEN, reference="m1")}}
    ground.delivery(owed(status=Status.ACCEPTED, settled_at=WHEN, prune_at=WHEN, **taken))
    return ground


# What comes later is kept, in any order and number


def test_what_was_accepted_and_then_dropped_is_told_and_the_address_is_suppressed(accepted: Ground, post: Post) -> None:
    answer = post([an_event("processed"), an_event("dropped", reason="Bounced Address", sg_event_id="e2")])
    assert (answer.status_code, answer.json["suppressed"]) == (200, 1)  # type: ignore[index]
    assert document(accepted)["events"] == {"processed": WHEN, "dropped": WHEN}
    assert document(accepted)["status"] == "accepted"
    expected = {"reason": "bounce", "at": WHEN, "event": "e2", "address": "u1@example.com"}
    assert user(accepted)["suppressed"] == expected


def test_a_batch_that_comes_46_times_changes_the_ledger_once(
    accepted: Ground, post: Post, controlled: Firestore, project: str
) -> None:
    batch = [an_event("processed"), an_event("delivered", timestamp=AT + 1), an_event("open", timestamp=AT + 9)]
    post(batch)
    once = document(accepted)
    controlled.reset_usage(project)
    for _ in range(45):
        assert post(batch).status_code == 200
    assert document(accepted) == once
    assert controlled.usage(project).writes == 0


def test_a_batch_with_2000_copies_is_one_read_and_one_write(
    accepted: Ground, post: Post, controlled: Firestore, project: str
) -> None:
    controlled.reset_usage(project)
    copies = [an_event(sg_event_id=f"e{number}", timestamp=AT + number % 7) for number in range(2000)]
    assert post(copies).json["events"] == 2000  # type: ignore[index]
    usage = controlled.usage(project)
    assert (usage.reads, usage.writes) == (1, 1)
    assert document(accepted)["events"] == {"delivered": WHEN}


@pytest.mark.parametrize("change", [{"sg_event_id": "another"}, {"sg_event_id": None}, {"sg_message_id": None}])
def test_the_same_event_with_another_id_or_none_counts_once(
    accepted: Ground, post: Post, change: dict[str, Any]
) -> None:
    post([an_event()])
    once = document(accepted)
    post([an_event(**change)])
    assert document(accepted) == once


@pytest.mark.parametrize("status", [Status.PENDING, Status.IN_FLIGHT, Status.UNKNOWN, Status.EXPIRED])
@pytest.mark.parametrize("guarantee", list(Guarantee))
def test_an_event_that_comes_before_the_answer_is_on_record_settles_the_delivery(
    ground: Ground, post: Post, call: Call, status: Status, guarantee: Guarantee
) -> None:
    ground.user("u1", a_user())
    ground.delivery(owed(status=status, guarantee=guarantee, attempt=1, doubted_at=WHEN, **_of(status)))
    answer = post([an_event("processed")])
    assert {"proven": 1, "doubts_settled": 1}.items() <= (answer.json or {}).items()
    assert {"proven": 0, "doubts_settled": 0}.items() <= (post([an_event("open")]).json or {}).items()
    assert document(ground)["status"] == "accepted"
    assert document(ground)["stages"]["email"] == {"at": WHEN, "reference": "m1"}
    assert call("deliver", json={"delivery_id": JOB}).json == {"delivery": "finished"}
    ground.assert_identity()


def _of(status: Status) -> dict[str, Any]:
    match status:
        case Status.PENDING:
            return {}
        case Status.IN_FLIGHT:
            return {"claim_id": "c1", "lease_expires_at": WHEN, "wake_at": WHEN}
        case _:
            return {"settled_at": WHEN, "prune_at": WHEN}


@pytest.mark.parametrize("seed", range(5))
def test_thousands_of_events_in_any_order_leave_one_state_with_one_write_a_delivery_and_post(
    ground: Ground, post: Post, controlled: Firestore, project: str, seed: int
) -> None:
    shuffled = random.Random(seed)
    ids = [delivery_id("u1", f"j{number}") for number in range(150)]
    ground.put([owed(f"j{number}", attempt=1, doubted_at=WHEN) for number in range(150)])
    kinds = ("processed", "delivered", "open")
    events = [an_event(kind, delivery_id=name, timestamp=AT + n) for name in ids for n, kind in enumerate(kinds)] * 3
    shuffled.shuffle(events)
    for first in range(0, len(events), 400):
        controlled.reset_usage(project)
        posted = events[first : first + 400]
        post(posted)
        usage = controlled.usage(project)
        assert usage.reads == len({event["delivery_id"] for event in posted})
        assert usage.writes <= len({event["delivery_id"] for event in posted})
    documents = ground.deliveries()
    expected = {kind: datetime.fromtimestamp(AT + n, UTC) for n, kind in enumerate(kinds)}
    assert {name: documents[name]["events"] for name in ids} == dict.fromkeys(ids, expected)
    assert {document["status"] for document in documents.values()} == {"accepted"}


# Whom it is about


def test_a_bounce_without_our_argument_suppresses_its_address_and_is_counted_unmatched(
    accepted: Ground, post: Post
) -> None:
    accepted.user("twin", a_user())
    accepted.user("other", a_user(email="other@example.com"))
    answer = post([an_event("bounce", delivery_id=None, sg_message_id=None, email="U1@example.com")])
    assert {"unmatched": 1, "suppressed": 2}.items() <= (answer.json or {}).items()
    assert user(accepted)["suppressed"]["reason"] == user(accepted, "twin")["suppressed"]["reason"] == "bounce"
    assert "suppressed" not in user(accepted, "other")


def test_an_address_is_found_however_its_domain_is_written(ground: Ground, post: Post) -> None:
    """The provider tells a domain in ASCII, the user's document has what the user typed."""
    ground.user("u1", a_user(email="u1@münchen.example"))
    answer = post([an_event("bounce", delivery_id=None, sg_message_id=None, email="u1@xn--mnchen-3ya.example")])
    assert (answer.json or {})["suppressed"] == 1
    assert user(ground)["suppressed"]["reason"] == "bounce"


def test_an_unknown_delivery_is_answered_200_and_still_suppresses_its_user(ground: Ground, post: Post) -> None:
    """A pruned delivery is forgotten; a complaint about it is not, whatever else is told of the address."""
    ground.user("u1", a_user())
    answer = post([an_event("spamreport"), an_event(delivery_id="nobody_j1"), an_event("bounce", delivery_id=None)])
    assert (answer.status_code, ground.deliveries()) == (200, {})
    assert {"unknown_deliveries": 2, "suppressed": 1}.items() <= (answer.json or {}).items()
    assert user(ground)["suppressed"]["reason"] == "spam_report"


@pytest.mark.parametrize("fields", [{"type": "blocked"}, {"status": "4.2.2"}])
def test_a_block_or_a_soft_bounce_is_told_and_suppresses_nobody(
    accepted: Ground, post: Post, fields: dict[str, str]
) -> None:
    post([an_event("bounce", **fields)])
    assert set(document(accepted)["events"]) == {"blocked"}
    assert "suppressed" not in user(accepted)


def test_who_is_suppressed_between_queue_and_send_gets_no_mail(ground: Ground, post: Post, call: Call) -> None:
    ground.user("u1", a_user())
    ground.delivery(delivering.owed("j2"))
    post([an_event("spamreport")])
    assert call("deliver", json={"delivery_id": delivery_id("u1", "j2")}).json == {"delivery": "suppressed"}


def test_copies_of_a_bounce_that_was_lifted_do_not_suppress_again(accepted: Ground, post: Post, app: App) -> None:
    bounce = [an_event("bounce")]
    post(bounce)
    app.operations.lift("u1", by="ada")
    assert post(bounce).json["suppressed"] == 0  # type: ignore[index]
    assert "suppressed" not in user(accepted)


def test_a_complaint_of_whose_id_a_delivery_keeps_a_part_is_of_the_person(ground: Ground, post: Post) -> None:
    long = "u" * 300
    ground.user(long, a_user(email="new@example.com"))
    ground.put([replace(owed(attempt=1), id=delivery_id(long, "j1"), user_id=long)])
    post([an_event("spamreport", delivery_id=delivery_id(long, "j1"))])
    assert user(ground, long)["suppressed"]["reason"] == "spam_report"


def test_a_user_id_that_no_document_can_have_is_nobody(ground: Ground, post: Post) -> None:
    answer = post([an_event("bounce", delivery_id=delivery_id("a/b", "j1"))])
    assert (answer.status_code, answer.json["suppressed"]) == (200, 0)  # type: ignore[index]


def test_an_event_of_a_mail_before_it_does_not_take_the_place_of_a_mail(ground: Ground, post: Post, call: Call) -> None:
    """The same job, matched anew when its delivery was pruned, has the same id; and people open mail months later."""
    ground.user("u1", a_user())
    anew = delivering.owed()
    ground.delivery(anew)
    answer = post([an_event("open", timestamp=int(anew.created_at.timestamp()))])
    assert {"proven": 0, "deliveries": 1}.items() <= (answer.json or {}).items()
    assert document(ground)["events"] == {}
    assert call("deliver", json={"delivery_id": JOB}).json == {"delivery": "accepted"}


def test_what_happened_before_a_delivery_was_planned_is_not_about_its_mail(ground: Ground, post: Post) -> None:
    ground.delivery(owed(status=Status.UNKNOWN, attempt=1, **_of(Status.UNKNOWN)))
    post([an_event("click", timestamp=AT - 86_400), an_event("open", timestamp=AT - 86_400)])
    assert (document(ground)["status"], document(ground).get("events", {})) == ("unknown", {})
    post([an_event("click", timestamp=AT - 86_400), an_event("delivered")])
    assert (document(ground)["status"], document(ground)["events"]) == ("accepted", {"delivered": WHEN})


# One bad event, one bad document


def test_a_malformed_event_is_counted_and_the_others_are_taken(accepted: Ground, post: Post) -> None:
    answer = post([an_event(timestamp="x"), None, an_event("account_status_change"), an_event("delivered")])
    assert {"malformed": 2, "not_ours": 1, "events": 1}.items() <= (answer.json or {}).items()
    assert set(document(accepted)["events"]) == {"delivered"}


def test_text_that_no_document_can_hold_has_no_batch_posted_for_ever(accepted: Ground, post: Post) -> None:
    fields = ("email", "sg_message_id", "sg_event_id")
    answer = post([*(an_event("bounce", **{name: "\ud800"}) for name in fields), an_event("delivered")])
    assert {"malformed": 3, "events": 1}.items() <= (answer.json or {}).items()
    assert set(document(accepted)["events"]) == {"delivered"}


def test_a_document_that_cannot_be_read_stands_in_nobodys_way(accepted: Ground, post: Post) -> None:
    accepted.delivery(owed("broken"), status="queued")
    events = [an_event(delivery_id=delivery_id("u1", name)) for name in ("broken", "j1")]
    assert post(events).json["deliveries"] == 1  # type: ignore[index]
    assert document(accepted)["events"] == {"delivered": WHEN}


def test_events_of_what_a_newer_version_wrote_are_posted_again_and_all_others_are_taken(
    accepted: Ground, post: Post
) -> None:
    """Between two versions, too, an event may be the only proof that there will ever be."""
    accepted.delivery(owed("newer"), schema_version=99)
    batch = [an_event("spamreport", delivery_id=delivery_id("u1", name)) for name in ("newer", "j1")]
    assert post(batch).status_code == 503
    assert document(accepted)["events"] == {"spamreport": WHEN}
    assert user(accepted)["suppressed"]["reason"] == "spam_report"


def test_events_of_a_mailing_whose_folder_is_gone_are_kept(ground: Ground, post: Post) -> None:
    ground.delivery(owed(mailing="gone", attempt=1))
    post([an_event()])
    assert document(ground)["status"] == "accepted"


# Races and lost answers


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("code", ["INTERNAL", "ABORTED"])
def test_a_commit_without_an_answer_is_settled_one_by_one(
    ground: Ground, post: Post, controlled: Firestore, project: str, when: str, code: str
) -> None:
    ground.put([owed("j1", attempt=1), owed("j2", attempt=1)])
    controlled.fail("Commit", project=project, code=code, when=when)
    post([an_event(delivery_id=delivery_id("u1", name)) for name in ("j1", "j2")])
    assert {fields["status"] for fields in ground.deliveries().values()} == {"accepted"}


def test_a_ledger_that_does_not_answer_has_the_batch_posted_again(
    accepted: Ground, post: Post, controlled: Firestore, project: str
) -> None:
    controlled.fail("BatchGetDocuments", project=project, code="INTERNAL", times=None)
    assert post([an_event()]).status_code == 503
    controlled.clear_faults()
    assert post([an_event()]).status_code == 200
    assert document(accepted)["events"] == {"delivered": WHEN}


def test_an_event_of_a_finished_delivery_changes_nothing_but_what_is_known_of_its_mail(
    accepted: Ground, post: Post
) -> None:
    before = document(accepted)
    post([an_event("open")])
    assert document(accepted) == before | {"events": {"open": WHEN}}
