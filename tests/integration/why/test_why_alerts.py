"""Why somebody got an alert, or did not: asked by job, by delivery, by day, of a user id or an address."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from emulator.firestore import Firestore
from emulator.inbox import Inbox
from emulator.tasks import CloudTasks
from ledgermail.app import App
from ledgermail.ledger.delivery import Guarantee, Status
from ledgermail.ledger.ledger import DELIVERIES
from ledgermail.support.explain import Why
from tests.integration.conftest import Ground
from tests.integration.delivering import JOB, Post
from tests.integration.why.conftest import Ask
from tests.samples import a_match, a_user

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def post(app: App, ground: Ground, inbox: Inbox, tasks_server: CloudTasks) -> Post:
    """Alerts of u1 that are due."""
    return Post(app, ground, inbox, tasks_server, Guarantee.AT_MOST_ONCE)


def matched(ground: Ground, ago: timedelta, **changes: Any) -> None:
    """A match of j1 for u1 from so long ago."""
    ground.match("m1", a_match(matched_at=datetime.now(UTC) - ago, **changes))


def scan(app: App) -> None:
    """A scan."""
    app.scanner.scan(app.mailings["job-alert"])


def test_an_accepted_alert_is_found_by_job_by_delivery_by_mailing_and_by_day(post: Post, ask: Ask) -> None:
    post.owe()
    post.deliver()
    run_key = post.document()["run_key"]
    for subject in ("j1", JOB, "job-alert", run_key):
        answer = ask("u1", subject)
        assert (answer.why, answer.delivery and answer.delivery.id) == (Why.ACCEPTED, JOB), subject
    assert [step.words for step in answer.history][-1] == "taken by the provider"


def test_an_address_stands_for_its_user_and_several_users_of_one_are_named(
    post: Post, ground: Ground, ask: Ask
) -> None:
    post.owe()
    assert ask("u1@example.com", "j1").why is Why.WAITING
    assert ask("U1@Example.com", "j1").why is Why.WAITING
    ground.user("u2", a_user())
    answer = ask("u1@example.com", "j1")
    assert answer.why is Why.SEVERAL_USERS
    assert "u1, u2" in answer.sentence


def test_a_retry_says_when_the_next_attempt_is_and_a_pause_that_nothing_goes(post: Post, app: App, ask: Ask) -> None:
    post.owe()
    post.inbox.fail_next("unavailable")
    post.deliver()
    assert ask("u1", "j1").why is Why.RETRYING
    assert "the next attempt is due on" in ask("u1", "j1").sentence
    app.operations.pause(by="ada")
    assert ask("u1", "j1").sentence.endswith("all mail is held back: an operator has paused it.")


def test_a_job_whose_id_is_too_long_to_be_asked_for_is_found_too(post: Post, ground: Ground, ask: Ask) -> None:
    long = "https://jobs.example.com/?q=" + "x" * 1500
    ground.user("u1", a_user())
    assert ask("u1", long).why is Why.NOT_MATCHED
    matched(ground, MINUTE, job_id=long)
    assert ask("u1", long).why is Why.NOT_SCANNED
    assert ask("u1", "j1").why is Why.NOT_MATCHED


def test_an_unknown_one_and_a_cancelled_one_say_so(post: Post, app: App, ask: Ask) -> None:
    post.owe()
    post.inbox.fail_next("cut")
    post.deliver()
    assert ask("u1", "j1").why is Why.UNKNOWN
    post.owe("j2")
    app.operations.cancel(f"{JOB[:-2]}j2", by="ada", note="asked by phone")
    answer = ask("u1", "j2")
    assert answer.why is Why.CANCELLED
    assert "called off by ada" in answer.sentence


def test_one_who_unsubscribed_before_the_send_is_told_apart_from_one_who_may_not_be_mailed(
    post: Post, ask: Ask
) -> None:
    post.owe()
    post.ground.user("u1", a_user(mailings={"job-alert": {"active": False}}))
    post.deliver()
    assert ask("u1", "j1").why is Why.UNSUBSCRIBED
    post.owe("j2")
    post.ground.user("u1", a_user(suppressed={"reason": "bounce", "at": datetime.now(UTC), "event": "e"}))
    post.deliver(delivery_id=f"{JOB[:-2]}j2")
    assert ask("u1", "j2").why is Why.SUPPRESSED


@pytest.mark.parametrize("who", [f"a@{'b' * 2000}.de", "b" * 2000, "\ud800@example.com"])
def test_what_can_be_no_id_and_no_address_is_nobodys(who: str, ask: Ask) -> None:
    for subject in ("daily-digest", "job-alert", "j1"):
        assert ask(who, subject).why is Why.NO_USER


def test_where_there_is_no_user_that_is_the_reason(ask: Ask) -> None:
    assert ask("nobody", "j1").why is Why.NO_USER
    assert ask("nobody@example.com", "daily-digest").why is Why.NO_USER
    assert ask("a/b", "j1").why is Why.NO_USER


def test_a_deleted_user_still_has_a_history(post: Post, ask: Ask) -> None:
    post.owe()
    post.deliver()
    post.ground.db.collection("users").document("u1").delete()
    assert ask("u1", "j1").why is Why.ACCEPTED


def test_a_job_that_never_matched_is_told_from_one_that_no_scan_has_read(app: App, ground: Ground, ask: Ask) -> None:
    ground.user("u1", a_user())
    assert ask("u1", "j1").why is Why.NOT_MATCHED
    matched(ground, HOUR)
    assert ask("u1", "j1").why is Why.NOT_SCANNED
    scan(app)
    assert ask("u1", "j1").why is Why.WAITING


def test_a_match_that_came_too_late_to_be_mailed_is_too_old(app: App, ground: Ground, ask: Ask) -> None:
    ground.user("u1", a_user())
    matched(ground, 4 * DAY)
    answer = ask("u1", "j1")
    assert answer.why is Why.TOO_OLD
    assert "was too old when it was written" in answer.sentence


def test_a_match_of_somebody_who_did_not_want_it_is_not_owed(app: App, ground: Ground, ask: Ask) -> None:
    ground.user("u1", a_user(mailings={"job-alert": {"active": False, "since": datetime.now(UTC) - DAY}}))
    matched(ground, HOUR)
    scan(app)
    answer = ask("u1", "j1")
    assert answer.why is Why.NOT_WANTED
    assert "switched off, by what they set on" in answer.sentence


def test_a_match_that_was_written_behind_the_scan_waits_for_the_look_back(app: App, ground: Ground, ask: Ask) -> None:
    ground.user("u1", a_user())
    ground.match("m0", a_match(job_id="j0", matched_at=datetime.now(UTC) - MINUTE))
    scan(app)
    matched(ground, HOUR)
    scan(app)
    answer = ask("u1", "j1")
    assert (answer.why, answer.sentence.startswith("Not yet: ")) == (Why.PASSED_OVER, True)
    for back, begins in ((DAY, "Not yet: "), (DAY + 2 * HOUR, "No: ")):  # a look-back does not find it any more
        answer = ask("u1", "j1", datetime.now(UTC) - HOUR + back)
        assert (answer.why, answer.sentence.startswith(begins)) == (Why.PASSED_OVER, True)


def test_a_match_that_cannot_be_read_names_its_field(ground: Ground, ask: Ask) -> None:
    ground.user("u1", a_user())
    matched(ground, HOUR, job={"title": ""})
    answer = ask("u1", "j1")
    assert answer.why is Why.INVALID_MATCH
    assert "job.title" in answer.sentence
    ground.match("m1", {name: value for name, value in a_match().items() if name != "matched_at"})
    assert "its match cannot be read: matched_at: must be a timestamp" in ask("u1", "j1").sentence


def test_what_is_past_its_retention_is_said_to_be_forgotten(ground: Ground, ask: Ask) -> None:
    ground.user("u1", a_user())
    matched(ground, HOUR)
    assert ask("u1", "j1", datetime.now(UTC) + 40 * DAY).why is Why.PRUNED


def test_a_delivery_that_cannot_be_read_is_named_with_its_problem(post: Post, ask: Ask) -> None:
    post.owe()
    post.change(due_at="yesterday")
    answer = ask("u1", "j1")
    assert answer.why is Why.UNREADABLE
    assert "due_at" in answer.sentence


def test_a_subject_that_can_be_no_job_is_refused_by_name(ground: Ground, ask: Ask) -> None:
    ground.user("u1", a_user())
    answer = ask("u1", "\ud800")
    assert answer.why is Why.NOT_A_SUBJECT
    assert "lone surrogate" in answer.sentence


def test_what_a_question_costs_is_what_it_says(post: Post, ask: Ask, controlled: Firestore, project: str) -> None:
    post.owe()
    post.deliver()
    asked = [("u1", "j1"), ("u1@example.com", "j1"), ("u1", "j2"), ("u1", "daily-digest"), ("u1", "job-alert")]
    for who, subject in asked:
        before = controlled.usage(project).reads
        answer = ask(who, subject)
        assert controlled.usage(project).reads - before == answer.reads <= 6, (who, subject)


def test_a_delivery_by_its_id_says_what_became_of_it(post: Post, app: App) -> None:
    post.owe(status=Status.PENDING)
    assert app.enquiries.of(JOB).why is Why.WAITING
    post.ground.db.collection(DELIVERIES).document(JOB).delete()
    assert app.enquiries.of(JOB).why is Why.PRUNED
