"""Deliver: each answer of the provider, each state a delivery or its user may be in, under both guarantees."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from threading import Barrier
from typing import Any

import pytest
from google.cloud import firestore

from emulator.firestore import Firestore
from emulator.inbox import Inbox
from emulator.tasks import CloudTasks
from ledgermail import ids
from ledgermail.app import App
from ledgermail.delivery import Guarantee, Status
from ledgermail.errors import InvalidId
from ledgermail.gate import MISCONFIGURED_WAIT, PAUSED_WAIT
from ledgermail.outcomes import Kind
from ledgermail.worker import INFRASTRUCTURE_WAIT, Answer
from tests.integration.conftest import AppMaker, Ground
from tests.integration.delivering import JOB, Post, with_guarantee
from tests.samples import a_mailing, a_user, about

MINUTE = timedelta(minutes=1)


@pytest.fixture
def app(make_app: AppMaker, inbox: Inbox) -> App:
    """The App of this test's project, which sends to a SendGrid of its own and soon loses patience with it."""
    inbox.faults(hang_seconds=1)
    return make_app(sendgrid_url=inbox.url, provider_timeout="400ms")


@pytest.fixture
def post(request: pytest.FixtureRequest, app: App, ground: Ground, inbox: Inbox, tasks_server: CloudTasks) -> Post:
    """The worker; at most once, where a test does not ask for `both`."""
    guarantee = getattr(request, "param", Guarantee.AT_MOST_ONCE)
    return Post(with_guarantee(app, guarantee), ground, inbox, tasks_server, guarantee)


both = pytest.mark.parametrize("post", list(Guarantee), indirect=True)
least = pytest.mark.parametrize("post", [Guarantee.AT_LEAST_ONCE], indirect=True)


# One answer of the provider each


@both
def test_an_accepted_mail_is_on_record_with_the_providers_reference(post: Post) -> None:
    post.owe()
    assert post.deliver() == Answer("accepted")
    (mail,) = post.inbox.mails(delivery_id=JOB)
    document = post.document()
    assert document["stages"]["email"]["reference"] == mail["message_id"]
    assert (document["status"], document["attempt"]) == ("accepted", 1)
    assert "items" not in document["content"]
    assert document["content"]["version"] == a_mailing().version
    assert post.tasks() == {}
    post.ground.assert_identity()


UNSENT = ["unavailable", "throttle"]
DOUBTFUL = {"server_error": 0, "error_after": 1, "bad_gateway": 0, "hang": 0, "hang_after": 1, "cut": 1, "reset": 0}


@both
@pytest.mark.parametrize("fault", UNSENT)
def test_what_was_not_sent_is_tried_again_when_its_time_comes_with_a_task_at_that_time(fault: str, post: Post) -> None:
    post.owe()
    post.inbox.fail_next(fault)
    before = datetime.now(UTC)
    assert post.deliver() == Answer("pending")
    document = post.document()
    assert MINUTE / 2 <= document["next_attempt_at"] - before < MINUTE + timedelta(seconds=5)
    assert post.tasks() == {ids.task_name(JOB, 1): document["next_attempt_at"]}
    assert (document["attempt"], document["generation"], post.mails()) == (1, 1, 0)
    assert post.deliver(post.another_instance().worker).what in ("not_due", "held_back")
    post.make_due()
    assert document["last_error"]["code"] in ("503", "429")


@both
@pytest.mark.parametrize("fault", list(DOUBTFUL))
def test_a_lost_answer_is_never_resent_at_most_once_and_tried_again_at_least_once(fault: str, post: Post) -> None:
    post.owe()
    post.inbox.fail_next(fault)
    answer = post.deliver()
    post.inbox.faults()
    sent = post.mails()
    assert sent == DOUBTFUL[fault]
    if post.guarantee is Guarantee.AT_MOST_ONCE:
        assert (answer, post.status(), post.tasks()) == (Answer("unknown"), "unknown", {})
        assert post.deliver() == Answer("finished")
        assert post.mails() == sent
    else:
        assert (answer, post.status(), list(post.tasks())) == (Answer("pending"), "pending", [ids.task_name(JOB, 1)])
        post.make_due()
        assert post.deliver() == Answer("accepted")
        assert post.mails() == sent + 1
    assert post.document()["last_error"]["category"] == Kind.AMBIGUOUS.value


@least
def test_every_attempt_of_a_delivery_carries_the_same_message_id(post: Post) -> None:
    post.owe()
    post.inbox.fail_next("cut")
    post.deliver()
    post.make_due()
    post.deliver()
    seen = [mail["headers"]["Message-ID"] for mail in post.inbox.mails()]
    assert len(seen) == 2
    assert len(set(seen)) == 1


def test_a_refused_message_is_over_and_the_providers_words_say_why(post: Post) -> None:
    post.owe()
    post.inbox.fail_next("refuse")
    assert post.deliver() == Answer("rejected")
    error = post.document()["last_error"]
    assert (error["category"], error["code"]) == ("rejected", "400")
    assert "valid address" in error["detail"]
    assert (post.deliver(), post.calls(), post.tasks()) == (Answer("finished"), 1, {})


def test_delays_grow_with_the_attempts_and_end_on_the_last_day(post: Post) -> None:
    long_ago = datetime.now(UTC) - timedelta(days=7) + timedelta(seconds=20)
    post.owe(attempt=9, first_attempt_at=long_ago, due_at=long_ago)
    post.inbox.fail_next("unavailable")
    assert post.deliver() == Answer("expired")
    assert (post.document()["attempt"], post.tasks()) == (10, {})


# What is wrong with the provider or our settings, and not with the message


@both
def test_a_refused_key_opens_the_breaker_and_costs_nobody_an_attempt(post: Post) -> None:
    post.owe()
    post.owe("j2")
    post.inbox.fail_next("unauthorized")
    assert post.deliver() == Answer("held_back", MISCONFIGURED_WAIT)
    document = post.document()
    assert (document["status"], document["attempt"]) == ("pending", 0)
    assert "first_attempt_at" not in document
    for app in (post.app, post.another_instance()):
        held = post.deliver(app.worker, ids.delivery_id("u1", "j2"))
        assert held.what == "held_back"
        assert held.wait is not None
        assert MISCONFIGURED_WAIT - MINUTE < held.wait <= MISCONFIGURED_WAIT
    assert post.calls() == 1


def test_mail_flows_again_when_the_breakers_time_is_over(post: Post) -> None:
    post.owe()
    post.inbox.fail_next("unauthorized")
    post.deliver()
    past = {"open_until": datetime.now(UTC) - MINUTE, "reason": "401"}
    post.ground.db.collection("state").document("gate").set({"breaker": past})
    assert post.deliver(post.another_instance().worker) == Answer("accepted")
    assert post.document()["attempt"] == 1


def test_a_throttled_provider_is_left_alone_until_the_time_that_it_named(post: Post) -> None:
    post.owe()
    post.owe("j2")
    post.inbox.faults(retry_after=90)
    post.inbox.fail_next("throttle")
    before = datetime.now(UTC)
    assert post.deliver() == Answer("pending")
    assert post.document()["next_attempt_at"] - before >= timedelta(seconds=90)
    held = post.deliver(post.another_instance().worker, ids.delivery_id("u1", "j2"))
    assert held.what == "held_back"
    assert held.wait is not None
    assert timedelta(seconds=60) < held.wait <= timedelta(seconds=90)
    assert post.calls() == 1


def test_a_key_that_no_header_carries_loses_no_mail(post: Post) -> None:
    post.owe()
    post.app.settings.secrets._values["SENDGRID_KEY"] = "SG.local\n"  # as settings would refuse it
    try:
        assert post.deliver() == Answer("held_back", MISCONFIGURED_WAIT)
    finally:
        post.app.settings.secrets._values["SENDGRID_KEY"] = "SG.local"
    assert (post.status(), post.calls()) == ("pending", 0)


def test_while_mail_is_paused_a_task_comes_again_later_and_nothing_is_sent(post: Post) -> None:
    post.owe()
    post.app.gates.pause(True)
    assert post.deliver(post.another_instance().worker) == Answer("held_back", PAUSED_WAIT)
    assert (post.document()["attempt"], post.calls()) == (0, 0)
    post.app.gates.pause(False)
    assert post.deliver(post.another_instance().worker) == Answer("accepted")


def test_while_mail_is_held_back_only_the_gate_is_read_and_that_once_in_a_while(
    post: Post, controlled: Firestore, project: str
) -> None:
    post.owe()
    post.app.gates.pause(True)
    controlled.reset_usage(project)
    for _ in range(5):
        post.deliver()
    usage = controlled.usage(project)
    assert (usage.reads, usage.writes) == (1, 0)


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
    assert (post.document()["last_error"]["category"], post.calls()) == ("content", 0)


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


# Many at once


@both
def test_the_same_task_twenty_times_at_once_is_one_call_of_the_provider(post: Post) -> None:
    post.owe()
    barrier = Barrier(20)

    def deliver(_: int) -> Answer:
        barrier.wait()
        return post.deliver()

    _ = post.app.worker
    with ThreadPoolExecutor(20) as pool:
        answers = Counter(answer.what for answer in pool.map(deliver, range(20)))
    assert answers["accepted"] == 1
    assert set(answers) <= {"accepted", "held", "finished", "not_mine"}
    assert (post.calls(), post.mails(), post.document()["attempt"]) == (1, 1, 1)
