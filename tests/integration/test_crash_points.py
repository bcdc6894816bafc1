"""Deliver, dying or deaf at each point between two steps: what a recipient gets then, under both guarantees."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from emulator.firestore import Firestore
from emulator.inbox import Inbox
from emulator.tasks import CloudTasks
from ledgermail.app import App
from ledgermail.delivering.worker import INFRASTRUCTURE_WAIT, Answer
from ledgermail.ledger import ids
from ledgermail.ledger.delivery import Guarantee
from ledgermail.ledger.ledger import DELIVERIES
from tests.integration.conftest import AppMaker, Ground
from tests.integration.delivering import JOB, Post, jumping, least, with_guarantee
from tests.integration.interruptions import Died, after, before, die

TOO_LONG = 1e6  # seconds an instance stood still
UNANSWERED = ["INTERNAL", "UNKNOWN", "UNAVAILABLE", "ABORTED", "RESOURCE_EXHAUSTED"]


@pytest.fixture
def app(make_app: AppMaker, inbox: Inbox) -> App:
    """The App of this test's project, which sends to a SendGrid of its own."""
    return make_app(sendgrid_url=inbox.url)


@pytest.fixture(params=list(Guarantee))
def post(request: pytest.FixtureRequest, app: App, ground: Ground, inbox: Inbox, tasks_server: CloudTasks) -> Post:
    """A delivery that is due, under each guarantee."""
    made = Post(with_guarantee(app, request.param), ground, inbox, tasks_server, request.param)
    made.owe()
    return made


def once(post: Post) -> bool:
    return post.guarantee is Guarantee.AT_MOST_ONCE


def dies(post: Post, **parts: object) -> None:
    """A worker with these parts does not live to answer."""
    with pytest.raises(Died):
        post.deliver(post.worker(**parts))


# The process dies


def test_a_worker_that_dies_before_its_claim_has_sent_nothing_and_the_next_task_sends_once(post: Post) -> None:
    dies(post, ledger=before(post.app.worker.ledger, "change", die))
    assert (post.status(), post.mails()) == ("pending", 0)
    assert post.deliver() == Answer("accepted")
    assert (post.mails(), post.document()["attempt"]) == (1, 1)


@pytest.mark.parametrize("point", ["claimed", "sending"])
def test_a_worker_that_dies_between_claim_and_send_holds_its_delivery_no_longer_than_its_lease(
    point: str, post: Post
) -> None:
    worker = post.app.worker
    if point == "claimed":
        dies(post, ledger=after(worker.ledger, "change", die))
    else:
        dies(post, provider=before(worker.provider, "send", die))
    assert (post.deliver(), post.mails()) == (Answer("held"), 0)
    post.sweep(timedelta(0))
    assert post.status() == "in_flight"
    post.sweep()
    _never_resent_or_tried_again(post, sent=0)


def test_a_worker_that_dies_after_the_mail_left_never_sends_it_again_at_most_once(post: Post) -> None:
    dies(post, provider=after(post.app.worker.provider, "send", die))
    assert (post.status(), post.mails()) == ("in_flight", 1)
    assert post.deliver() == Answer("held")
    post.sweep()
    _never_resent_or_tried_again(post, sent=1)


def _never_resent_or_tried_again(post: Post, sent: int) -> None:
    """What follows when a lease has been swept: the end, or one more mail."""
    if once(post):
        assert (post.status(), post.tasks(), post.deliver()) == ("unknown", {}, Answer("finished"))
    else:
        assert (post.status(), list(post.tasks())) == ("pending", [ids.task_name(JOB, 1)])
        post.make_due()
        assert post.deliver() == Answer("accepted")
    assert post.mails() == sent + (not once(post))
    post.ground.assert_identity()


def test_a_worker_that_dies_after_it_settled_has_sent_once_and_the_task_that_comes_again_is_over(post: Post) -> None:
    dies(post, ledger=after(post.app.worker.ledger, "change", die, call=2))
    assert (post.status(), post.deliver(), post.mails()) == ("accepted", Answer("finished"), 1)


def test_a_worker_that_dies_before_it_made_the_next_task_leaves_the_delivery_to_the_sweep(post: Post) -> None:
    post.inbox.fail_next("unavailable")
    dies(post, tasks=before(post.app.worker.tasks, "wake", die))
    assert (post.status(), post.tasks()) == ("pending", {})
    assert post.deliver() == Answer("not_due")
    post.sweep()
    assert list(post.tasks()) == [ids.task_name(JOB, 2)]
    post.make_due()
    assert (post.deliver(), post.mails()) == (Answer("accepted"), 1)


def test_a_task_that_could_not_be_made_leaves_the_delivery_to_the_sweep(
    post: Post, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLOUD_TASKS_EMULATOR_HOST", "127.0.0.1:1")
    deaf = post.another_instance().tasks
    post.inbox.fail_next("unavailable")
    assert post.deliver(post.worker(tasks=deaf)) == Answer("pending")
    monkeypatch.setenv("CLOUD_TASKS_EMULATOR_HOST", post.queues.host)
    assert post.tasks() == {}
    post.sweep()
    assert list(post.tasks()) == [ids.task_name(JOB, 2)]


# Firestore does not answer


@pytest.mark.parametrize("code", UNANSWERED)
def test_a_claim_whose_answer_was_lost_is_recognised_as_our_own(
    code: str, post: Post, controlled: Firestore, project: str
) -> None:
    controlled.fail("Commit", project=project, collection=DELIVERIES, when="after", code=code)
    assert post.deliver() == Answer("accepted")
    assert (post.mails(), post.document()["attempt"]) == (1, 1)


@pytest.mark.parametrize("code", UNANSWERED)
def test_a_settlement_whose_answer_was_lost_is_recognised_as_our_own(
    code: str, post: Post, controlled: Firestore, project: str
) -> None:
    controlled.fail("Commit", project=project, collection=DELIVERIES, skip=1, when="after", code=code)
    assert post.deliver() == Answer("accepted")
    assert (post.status(), post.mails(), post.document()["generation"]) == ("accepted", 1, 0)


@pytest.mark.parametrize("rpc", ["BatchGetDocuments", "Commit"])
def test_nothing_is_sent_that_is_not_on_record_first(rpc: str, post: Post, controlled: Firestore, project: str) -> None:
    controlled.fail(rpc, project=project, collection=DELIVERIES, times=None, code="INTERNAL")
    assert post.deliver() == Answer("put_off", INFRASTRUCTURE_WAIT)
    controlled.clear_faults()
    assert (post.status(), post.document()["attempt"], post.calls()) == ("pending", 0, 0)
    assert post.deliver() == Answer("accepted")


def test_a_gate_that_cannot_be_read_holds_mail_back(post: Post, controlled: Firestore, project: str) -> None:
    controlled.fail("BatchGetDocuments", project=project, collection="state", times=None, code="INTERNAL")
    assert post.deliver(post.another_instance().worker) == Answer("put_off", INFRASTRUCTURE_WAIT)
    assert (post.status(), post.calls()) == ("pending", 0)


def test_an_answer_that_cannot_be_put_on_record_is_in_the_log_and_the_lease_decides(
    post: Post, controlled: Firestore, project: str, capsys: pytest.CaptureFixture[str]
) -> None:
    controlled.fail("Commit", project=project, collection=DELIVERIES, skip=1, times=None, code="INTERNAL")
    assert post.deliver() == Answer("put_off", INFRASTRUCTURE_WAIT)
    controlled.clear_faults()
    (mail,) = post.inbox.mails(delivery_id=JOB)
    assert f'"reference": "{mail["message_id"]}"' in capsys.readouterr().out
    assert (post.status(), post.deliver()) == ("in_flight", Answer("held"))
    post.sweep()
    _never_resent_or_tried_again(post, sent=1)


def test_a_breaker_that_cannot_be_written_loses_no_wake_up(post: Post, controlled: Firestore, project: str) -> None:
    controlled.fail("Commit", project=project, collection="state", times=None, code="INTERNAL")
    post.inbox.fail_next("throttle")
    assert post.deliver() == Answer("put_off", INFRASTRUCTURE_WAIT)
    assert (post.status(), list(post.tasks())) == ("pending", [ids.task_name(JOB, 1)])


def test_a_broken_delivery_that_could_not_be_set_aside_comes_again(
    post: Post, controlled: Firestore, project: str
) -> None:
    post.change(status="queued")
    controlled.fail("Commit", project=project, collection=DELIVERIES, code="INTERNAL")
    assert post.deliver() == Answer("put_off", INFRASTRUCTURE_WAIT)
    assert post.deliver() == Answer("invalid")


# Others are faster


def sending(post: Post, happens: Callable[[], object]) -> Answer:
    """An attempt during whose call of the provider something happens."""
    return post.deliver(post.worker(provider=after(post.app.worker.provider, "send", happens)))


def test_an_answer_that_comes_after_the_lease_was_swept_is_still_the_truth(post: Post) -> None:
    def swept() -> None:
        post.sweep()
        assert post.status() == ("unknown" if once(post) else "pending")

    assert sending(post, swept) == Answer("accepted")
    assert (post.status(), post.mails()) == ("accepted", 1)
    post.ground.assert_identity()


def test_a_refusal_that_comes_after_the_lease_was_swept_is_still_the_truth(post: Post) -> None:
    post.inbox.fail_next("refuse")
    assert sending(post, post.sweep) == Answer("rejected")


def test_an_answer_that_comes_after_another_has_claimed_changes_nothing_of_the_others(post: Post) -> None:
    def another_tries() -> None:
        post.sweep()
        post.make_due() if not once(post) else None
        post.deliver(post.another_instance().worker)

    assert sending(post, another_tries) == Answer("accepted")
    assert (post.status(), post.mails()) == ("accepted", 1 if once(post) else 2)


@least
def test_an_answer_that_comes_when_another_holds_the_claim_is_kept_as_evidence_and_stops_the_retry(post: Post) -> None:
    def another_dies_before_it_sends() -> None:
        post.sweep()
        post.make_due()
        other = post.another_instance().worker
        with pytest.raises(Died):
            post.deliver(replace(other, provider=before(other.provider, "send", die)))

    assert sending(post, another_dies_before_it_sends) == Answer("accepted")
    post.sweep(timedelta(hours=1))
    assert (post.status(), post.mails()) == ("accepted", 1)
    assert post.document()["evidence_at"]


def test_a_delivery_that_is_deleted_during_the_call_is_not_made_anew(post: Post) -> None:
    reference = post.ground.db.collection(DELIVERIES).document(JOB)
    assert sending(post, reference.delete) == Answer("gone")
    assert (post.ground.deliveries(), post.mails()) == ({}, 1)
    assert post.deliver() == Answer("no_such_delivery")


def test_who_unsubscribes_between_reading_and_claiming_is_the_last_to_get_one(post: Post) -> None:
    """The window that is left: what counts is what was read in the claim's own read."""
    worker = post.app.worker
    gone = after(worker.ledger, "find", lambda: post.ground.db.collection("users").document("u1").delete())
    assert post.deliver(post.worker(ledger=gone)) == Answer("accepted")
    post.owe("j2")
    post.ground.db.collection("users").document("u1").delete()
    assert post.deliver(delivery_id=ids.delivery_id("u1", "j2")) == Answer("suppressed")


def test_what_was_changed_between_reading_and_claiming_is_judged_anew_by_the_claim(post: Post) -> None:
    others = after(post.app.worker.ledger, "find", lambda: post.change(next_attempt_at=post.document()["wake_at"]))
    assert post.deliver(post.worker(ledger=others)) == Answer("not_mine")
    assert (post.status(), post.calls()) == ("pending", 0)


# The instance stands still


def test_no_mail_is_sent_when_the_lease_could_end_during_the_call(post: Post) -> None:
    settings = post.app.settings
    least = (settings.lease - settings.provider_timeout).total_seconds()
    assert post.deliver(post.worker(clock=jumping(least))) == Answer("pending", INFRASTRUCTURE_WAIT)
    assert (post.document()["attempt"], post.calls()) == (0, 0)
    assert post.deliver(post.worker(clock=jumping(least - 1))) == Answer("accepted")


def test_an_instance_that_wakes_after_its_lease_was_swept_sends_nothing(post: Post) -> None:
    swept = after(post.app.worker.ledger, "change", post.sweep)
    answer = post.deliver(post.worker(ledger=swept, clock=jumping(TOO_LONG)))
    assert answer.what == post.status() == ("unknown" if once(post) else "pending")
    assert post.calls() == 0


def test_an_instance_that_wakes_when_another_has_sent_sends_nothing(post: Post) -> None:
    def another_sends() -> None:
        post.sweep()
        post.make_due() if not once(post) else None
        post.deliver(post.another_instance().worker)

    frozen = after(post.app.worker.ledger, "change", another_sends)
    post.deliver(post.worker(ledger=frozen, clock=jumping(TOO_LONG)))
    assert post.mails() == (0 if once(post) else 1)
    assert post.status() == ("unknown" if once(post) else "accepted")


def test_an_instance_that_stood_still_between_read_and_claim_holds_nothing_it_cannot_use(post: Post) -> None:
    """Its lease counts from what it read, so it is over already; the delivery is given back."""
    assert post.deliver(post.worker(clock=jumping(TOO_LONG))).what == "pending"
    assert post.deliver(replace(post.app.worker)) == Answer("accepted")
