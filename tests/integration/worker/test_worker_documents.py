"""Deliver: whatever a delivery's or its user's document holds by the time its task comes."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from google.cloud import firestore

from ledgermail.app import App
from ledgermail.delivering.worker import INFRASTRUCTURE_WAIT, Answer
from ledgermail.errors import InvalidId
from ledgermail.ledger import ids
from ledgermail.ledger.delivery import Status
from tests.integration.delivering import JOB, Post, least
from tests.integration.interruptions import after
from tests.samples import a_mailing, a_user, about

MINUTE = timedelta(minutes=1)


# What may have happened to a delivery or its user since the task was made


def test_a_task_of_no_delivery_is_over(post: Post) -> None:
    assert post.deliver() == Answer("no_such_delivery")
    assert post.calls() == 0


@pytest.mark.parametrize(
    "delivery_id", ["", "_", "u1", "u1_", "_j1", "u1_a/b", "u1_a/b/c", "a/b_c", "._j1", "u1_\ud800", "é_1"]
)
def test_what_cannot_be_an_id_is_refused_before_it_addresses_anything(delivery_id: str, app: App) -> None:
    with pytest.raises(InvalidId):
        app.worker.deliver(delivery_id)


@pytest.mark.parametrize("status", sorted(set(Status) - {Status.PENDING, Status.IN_FLIGHT}))
@least
def test_what_is_finished_is_never_sent(status: Status, post: Post) -> None:
    post.owe(status=status)
    before = post.document()
    assert post.deliver() == Answer("finished")
    assert (post.document(), post.calls()) == (before, 0)


def test_what_another_holds_is_left_to_it(post: Post) -> None:
    post.owe(status=Status.IN_FLIGHT)
    assert (post.deliver(), post.calls()) == (Answer("held"), 0)


def test_what_is_not_due_yet_is_left_for_its_own_task(post: Post) -> None:
    post.owe(next_attempt_at=datetime.now(UTC) + MINUTE)
    assert (post.deliver(), post.calls()) == (Answer("not_due"), 0)


def test_what_was_due_too_long_ago_is_never_sent(post: Post) -> None:
    post.owe(due_at=datetime.now(UTC) - timedelta(days=8))
    assert (post.deliver(), post.calls()) == (Answer("expired"), 0)


@pytest.mark.parametrize(
    ("user", "category"),
    [
        (None, "no_user"),
        (a_user(suppressed={"reason": "bounce"}), "suppressed"),
        (a_user(mailings={"job-alert": {"active": False}}), "unsubscribed"),
        (a_user(mailings={}), "unsubscribed"),
        (a_user(email="nobody"), "no_usable_address"),
        (a_user(email=None), "no_usable_address"),
    ],
)
def test_whoever_may_not_or_does_not_want_it_any_more_gets_none(
    user: dict[str, Any] | None, category: str, post: Post
) -> None:
    post.owe()
    reference = post.ground.db.collection("users").document("u1")
    reference.delete() if user is None else reference.set(user)
    assert post.deliver() == Answer("suppressed")
    document = post.document()
    assert (document["last_error"]["category"], document["attempt"]) == (category, 0)
    assert (post.calls(), post.tasks()) == (0, {})
    assert post.deliver() == Answer("finished")
    post.ground.assert_identity()


def test_everybody_suppressed_is_a_run_that_ends(post: Post) -> None:
    jobs = [post.owe(f"j{n}") for n in range(5)]
    post.ground.user("u1", a_user(suppressed={"reason": "spam"}))
    assert {post.deliver(delivery_id=job).what for job in jobs} == {"suppressed"}
    assert Counter(d["status"] for d in post.ground.deliveries().values()) == {"suppressed": 5}


def test_a_user_whose_id_is_too_long_to_be_in_the_deliverys_is_found_all_the_same(post: Post) -> None:
    user_id = "u" * 300
    post.ground.user(user_id, a_user())
    delivery_id = post.owe(user_id=user_id)
    long_id = ids.delivery_id(user_id, "j1")
    document = post.ground.db.collection("deliveries").document(delivery_id).get().to_dict() or {}
    post.ground.db.collection("deliveries").document(long_id).set(document)
    assert post.deliver(delivery_id=long_id) == Answer("accepted")


# Documents that cannot be read


def test_a_newer_document_is_left_byte_for_byte_for_a_newer_worker(post: Post) -> None:
    post.owe()
    post.change(schema_version=2, colour="blue")
    reference = post.ground.db.collection("deliveries").document(JOB)
    before: firestore.DocumentSnapshot[Any] = reference.get()
    assert post.deliver() == Answer("put_off", INFRASTRUCTURE_WAIT)
    after = reference.get()
    assert (after.to_dict(), after.update_time) == (before.to_dict(), before.update_time)
    assert post.calls() == 0


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"schema_version": 0}, "schema_version"),
        ({"schema_version": "1"}, "schema_version"),
        ({"user_id": firestore.DELETE_FIELD}, "user_id"),
        ({"mailing": firestore.DELETE_FIELD}, "mailing"),
        ({"created_at": firestore.DELETE_FIELD}, "created_at"),
        ({"status": "queued"}, "status"),
        ({"guarantee": None}, "guarantee"),
        ({"due_at": "tomorrow"}, "due_at"),
        ({"content": "text"}, ""),
        ({"stages": ["email"]}, ""),
        ({"wake_at": firestore.DELETE_FIELD}, "wake_at"),
    ],
)
def test_a_document_that_is_no_delivery_is_rejected_with_its_reason_and_counted(
    fields: dict[str, Any], named: str, post: Post
) -> None:
    post.owe()
    post.change(**fields)
    assert post.deliver() == Answer("invalid")
    document = post.document()
    assert (document["status"], document["last_error"]["category"]) == ("rejected", "invalid")
    assert document["last_error"]["detail"].startswith(named)
    assert not document.keys() & {"wake_at", "unfinished_since", "lease_expires_at"}
    assert document["prune_at"] > document["settled_at"]
    assert post.calls() == 0
    post.ground.assert_identity()


def test_a_document_that_is_no_delivery_any_more_keeps_what_became_of_its_mail(post: Post) -> None:
    post.owe()
    post.deliver()
    post.change(subject=firestore.DELETE_FIELD)
    assert post.deliver() == Answer("invalid")
    assert (post.status(), post.document()["last_error"]["category"]) == ("accepted", "invalid")


def test_an_item_that_no_template_can_take_ends_its_delivery_and_no_other(post: Post) -> None:
    post.owe()
    post.owe("j2")
    post.change(content={"hash": "x", "items": [{"title": "Cook", "logo": b"\x89PNG"}]})
    assert post.deliver() == Answer("rejected")
    assert post.document()["last_error"]["detail"].startswith("content.items: ")
    assert post.deliver(delivery_id=ids.delivery_id("u1", "j2")) == Answer("accepted")


def test_items_that_changed_since_they_were_frozen_are_never_mailed(post: Post) -> None:
    post.owe()
    post.change(JOB, **{"content.items": [{"title": "Another"}]})
    assert post.deliver() == Answer("rejected")
    assert (post.document()["last_error"]["category"], post.calls()) == ("content_changed", 0)


@least
def test_a_mail_that_was_taken_is_so_though_another_refused_its_items_meanwhile(post: Post) -> None:
    """The lease had ended, and nobody has claimed since: the answer comes under the claim that is on record."""

    def another_refuses() -> None:
        post.sweep()
        post.change(**{"content.hash": "another"}, next_attempt_at=datetime.now(UTC))
        assert post.deliver(post.another_instance().worker) == Answer("rejected")

    post.owe()
    late = after(post.app.worker.provider, "send", another_refuses)
    assert post.deliver(post.worker(provider=late)) == Answer("accepted")
    assert (post.status(), post.mails()) == ("accepted", 1)


def test_a_mailing_that_is_not_there_is_named_and_ends_only_its_delivery(post: Post) -> None:
    post.owe(mailing="weekly")
    post.owe("j2")
    assert post.deliver() == Answer("rejected")
    error = post.document()["last_error"]
    assert (error["category"], error["detail"]) == ("content", "mailing: there is no 'weekly'")
    assert post.deliver(delivery_id=ids.delivery_id("u1", "j2")) == Answer("accepted")


def test_a_broken_template_is_named_and_costs_no_attempt(post: Post) -> None:
    post.owe()
    broken = replace(a_mailing(), templates={**a_mailing().templates, "body.mjml": "<mjml>"})
    assert post.deliver(post.worker(mailings={"job-alert": broken})) == Answer("rejected")
    document = post.document()
    assert document["last_error"]["detail"].startswith("job-alert/body.mjml: ")
    assert (document["attempt"], post.calls()) == (0, 0)


def test_an_item_with_a_time_in_it_is_the_same_after_the_ledger_kept_it(post: Post) -> None:
    posted = datetime(2026, 8, 1, 12, 0, 0, 123456, tzinfo=UTC)
    post.owe(content=about(posted_at=posted, salary=1.0, tags=["a", None], more={"b": None}).content)
    assert post.deliver() == Answer("accepted")
