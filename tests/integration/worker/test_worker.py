"""Deliver: each answer of the provider, each state a delivery or its user may be in, under both guarantees."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier

import pytest

from emulator.firestore import Firestore
from ledgermail.delivering.gate import MISCONFIGURED_WAIT, PAUSED_WAIT
from ledgermail.delivering.outcomes import Kind
from ledgermail.delivering.worker import Answer
from ledgermail.ledger import ids
from ledgermail.ledger.delivery import Guarantee
from tests.integration.delivering import JOB, Post, both, least
from tests.samples import a_mailing

MINUTE = timedelta(minutes=1)


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
