"""What operators do: the same transitions, an audit in the same commit, and nothing lost when an answer is."""

from datetime import UTC, datetime, timedelta

import pytest

from emulator.firestore import Firestore
from emulator.inbox import Inbox
from emulator.tasks import CloudTasks
from ledgermail.app import App
from ledgermail.delivering.worker import Answer
from ledgermail.errors import InvalidDocument, WrongStatus
from ledgermail.ledger.delivery import Guarantee, Status
from ledgermail.support.operations import Operations
from tests.integration.conftest import AppMaker, Ground
from tests.integration.delivering import JOB, Post
from tests.integration.interruptions import after
from tests.samples import a_match, a_user


@pytest.fixture
def app(make_app: AppMaker, inbox: Inbox) -> App:
    """The App of this test's project, which sends to a SendGrid of its own."""
    return make_app(sendgrid_url=inbox.url)


@pytest.fixture
def post(app: App, ground: Ground, inbox: Inbox, tasks_server: CloudTasks) -> Post:
    """An alert that is due, of a match that there is."""
    made = Post(app, ground, inbox, tasks_server, Guarantee.AT_MOST_ONCE)
    ground.match("m1", a_match())
    made.owe()
    return made


@pytest.fixture
def operations(app: App) -> Operations:
    """What operators do."""
    return app.operations


def audits(post: Post) -> list[tuple[str, str, str, str]]:
    return [(e.who, e.action, e.before, e.after) for e in post.app.operations.audits.newest(delivery_id=JOB)]


def test_a_rejected_alert_is_tried_again_with_its_job_read_anew_and_accepted(
    post: Post, operations: Operations
) -> None:
    post.inbox.fail_next("refuse")
    assert post.deliver() == Answer("rejected")
    operations.retry(JOB, by="ada", note="the address was mended")
    assert len(post.tasks()) == 1
    assert post.deliver() == Answer("accepted")
    assert (post.mails(), post.document()["attempt"]) == (1, 2)
    assert audits(post) == [("ada", "retry", "rejected", "pending")]
    post.ground.assert_identity()


def test_an_alert_whose_match_is_gone_has_nothing_to_say_when_it_is_tried_again(
    post: Post, operations: Operations
) -> None:
    post.inbox.fail_next("refuse")
    post.deliver()
    post.ground.db.collection("matches").document("m1").delete()
    operations.retry(JOB, by="ada")
    assert post.deliver() == Answer("empty")


def test_a_job_whose_id_is_too_long_to_be_asked_for_is_read_anew_too(post: Post, operations: Operations) -> None:
    """Firestore refuses to compare with a value of 1,500 bytes: retried, such an alert waited for ever."""
    job_id = "https://jobs.example.com/?q=" + "x" * 1500
    post.ground.match("m2", a_match(job_id=job_id))
    delivery_id = post.owe(job_id)
    post.inbox.fail_next("refuse")
    assert post.deliver(delivery_id=delivery_id) == Answer("rejected")
    operations.retry(delivery_id, by="ada")
    assert post.deliver(delivery_id=delivery_id) == Answer("accepted")


def test_what_is_cancelled_is_not_sent(post: Post, operations: Operations) -> None:
    operations.cancel(JOB, by="ada")
    assert post.deliver() == Answer("finished")
    assert (post.status(), post.mails()) == ("cancelled", 0)
    assert audits(post) == [("ada", "cancel", "pending", "cancelled")]


def test_an_unknown_alert_that_was_seen_is_settled(post: Post, operations: Operations) -> None:
    post.inbox.fail_next("cut")
    assert post.deliver() == Answer("unknown")
    assert operations.settle(JOB, by="ada").status is Status.ACCEPTED
    assert post.mails() == 1


def test_what_an_operator_opened_again_is_not_suppressed_by_a_worker_that_had_read_it_before(
    post: Post, operations: Operations
) -> None:
    suppressed = {"reason": "bounce", "at": datetime.now(UTC) - timedelta(days=1), "event": "e1"}
    post.ground.user("u1", a_user(suppressed=suppressed))

    def another_is_faster_and_an_operator_mends_it() -> None:
        assert post.deliver(post.another_instance().worker) == Answer("suppressed")
        operations.lift("u1", by="ada")
        operations.retry(JOB, by="ada")

    ledger = after(post.app.worker.ledger, "find", another_is_faster_and_an_operator_mends_it)
    assert post.deliver(post.worker(ledger=ledger)) == Answer("not_mine")
    assert post.deliver() == Answer("accepted")


def test_what_an_operator_opened_again_is_not_sent_as_a_worker_had_read_it_before(
    post: Post, operations: Operations
) -> None:
    post.inbox.fail_next("refuse")

    def another_is_faster_and_an_operator_mends_it() -> None:
        assert post.deliver(post.another_instance().worker) == Answer("rejected")
        post.ground.user("u1", a_user(email="mended@example.com"))
        operations.retry(JOB, by="ada", note="the address was mended")

    ledger = after(post.app.worker.ledger, "find", another_is_faster_and_an_operator_mends_it)
    assert post.deliver(post.worker(ledger=ledger)) == Answer("not_mine")
    assert (post.status(), post.mails()) == ("pending", 0)
    assert post.deliver() == Answer("accepted")
    (mail,) = post.inbox.mails(delivery_id=JOB)
    assert [to["email"] for to in mail["to"]] == ["mended@example.com"]


def test_what_may_not_be_done_is_refused_and_leaves_no_trace(post: Post, operations: Operations) -> None:
    post.deliver()
    before = post.document()
    for act in (operations.retry, operations.cancel, operations.settle):
        with pytest.raises(WrongStatus):
            act(JOB, by="ada")
        with pytest.raises(InvalidDocument):
            act("u1_nothing", by="ada")
    assert post.document() == before
    assert audits(post) == []


@pytest.mark.parametrize("when", ["before", "after"])
def test_an_act_whose_commit_is_not_answered_is_done_and_audited_once(
    post: Post, operations: Operations, controlled: Firestore, when: str
) -> None:
    post.inbox.fail_next("refuse")
    post.deliver()
    controlled.fail("Commit", project=post.app.settings.project, code="INTERNAL", when=when)
    operations.retry(JOB, by="ada")
    assert post.status() == "pending"
    assert audits(post) == [("ada", "retry", "rejected", "pending")]


def test_a_pause_is_news_once_and_on_record(post: Post, operations: Operations) -> None:
    assert operations.pause(by="ada", note="a wrong template") is True
    assert operations.pause(by="bob") is False
    assert post.deliver().what == "held_back"
    assert operations.resume(by="bob") is True
    assert post.deliver() == Answer("accepted")
    entries = operations.audits.newest()
    assert [(e.who, e.action, e.note) for e in entries] == [("bob", "resume", ""), ("ada", "pause", "a wrong template")]


def test_a_lift_whose_answer_was_lost_says_what_it_lifted_and_is_on_record_once(
    operations: Operations, ground: Ground, project: str, controlled: Firestore
) -> None:
    ground.user("u1", a_user(suppressed={"reason": "bounce"}))
    controlled.fail("Commit", project=project, when="after", code="INTERNAL")
    assert operations.lift("u1", by="ada") == {"reason": "bounce"}
    assert [(e.who, e.action) for e in operations.audits.newest(user_id="u1")] == [("ada", "lift")]


def test_a_suppression_that_is_lifted_lets_mail_out_again_and_is_on_record(post: Post, operations: Operations) -> None:
    happened = datetime.now(UTC) - timedelta(days=1)
    suppressed = {"reason": "bounce", "at": happened, "event": "e1", "address": "u1@example.com"}
    post.ground.user("u1", a_user(suppressed=suppressed))
    assert operations.suppressions.newest(10) == [("u1", suppressed)]
    assert operations.lift("u1", by="ada") == suppressed
    assert operations.lift("u1", by="ada") is None
    assert post.deliver() == Answer("accepted")
    assert [(e.who, e.action) for e in operations.audits.newest(user_id="u1")] == [("ada", "lift")]
