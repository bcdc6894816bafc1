"""A digest: the matches of its period, frozen when it is first tried, and the same mail at each attempt."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest

from emulator.firestore import Firestore
from emulator.inbox import Inbox
from emulator.tasks import CloudTasks
from ledgermail.app import App
from ledgermail.delivering.items import MOST_FROZEN
from ledgermail.delivering.worker import Answer
from ledgermail.planning.page import JOB_CHARS
from tests.integration.conftest import AppMaker, Ground
from tests.integration.digesting import HOUR, TICK, Desk, desk
from tests.integration.interruptions import Died, after, before, die
from tests.integration.planning import DAILY, Planning, at
from tests.samples import a_match


@pytest.fixture
def app(make_app: AppMaker, inbox: Inbox) -> App:
    """The App of this test's project, which sends to a SendGrid of its own."""
    return make_app(sendgrid_url=inbox.url)


@pytest.fixture
def digest(app: App, ground: Ground, inbox: Inbox, tasks_server: CloudTasks) -> Desk:
    """A digest that is due now."""
    return desk(app, ground, inbox, tasks_server, DAILY)


# What is in it


def test_a_digest_lists_the_matches_of_its_period_the_newest_first(digest: Desk) -> None:
    digest.match(3, 1, 2)
    assert digest.deliver() == Answer("accepted")
    assert re.findall(r"Job (j\d)\.", digest.text()) == ["j0", "j2", "j1"]
    digest.post.ground.assert_identity()


def test_a_period_has_its_start_and_not_its_end(digest: Desk) -> None:
    end = digest.delivery.period_end
    assert end is not None
    digest.matches({"early": digest.start - TICK, "first": digest.start, "last": end - TICK, "next": end})
    digest.deliver()
    assert [word in digest.text() for word in ("early", "first", "last", "next")] == [False, True, True, False]


def test_only_the_users_own_matches_are_in_it(digest: Desk) -> None:
    digest.match(1)
    digest.post.ground.match("other", a_match(user_id="u2", job_id="other", matched_at=digest.start + HOUR))
    digest.deliver()
    assert "1 new job matches" in digest.text()


def test_a_job_that_was_matched_twice_is_listed_once(digest: Desk) -> None:
    digest.match(1, 2)
    edited = a_match(job_id="j0", matched_at=digest.start + 3 * HOUR, job={"title": "Edited"})
    digest.post.ground.match("again", edited)
    digest.deliver()
    assert "2 new jobs match" in digest.text()
    assert ("Edited" in digest.text(), "Job j0." in digest.text()) == (True, False)


def test_a_match_that_is_none_is_left_out_and_stops_no_other(digest: Desk) -> None:
    digest.match(1, 2)
    digest.post.ground.match("broken", a_match(job_id="broken", matched_at=digest.start + HOUR, job="a job"))
    assert digest.deliver() == Answer("accepted")
    assert "2 new jobs match" in digest.text()


def test_fifty_matches_at_the_same_time_are_one_digest_of_fifty(
    app: App, ground: Ground, tasks_server: CloudTasks
) -> None:
    plan = Planning(app, ground, tasks_server, {"daily-digest": DAILY})
    plan.subscribe("u1")
    together = Barrier(10)

    def match(first: int) -> None:
        together.wait()
        for number in range(first, 50, 10):
            ground.match(f"m{number}", a_match(job_id=f"j{number}", matched_at=at(0, 7.9)))
            plan.another_instance(at(0)).tick() if number < 3 else None

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(match, range(10)))
    plan.tick(at(0, 9))
    (delivery,) = plan.owed()
    assert sorted(plan.jobs(delivery)) == sorted(f"j{number}" for number in range(50))


def test_above_the_cap_a_digest_says_how_many_more_there_are(digest: Desk) -> None:
    digest.match(*(number / 10 for number in range(DAILY.item_cap + 5)))
    digest.deliver()
    assert f"{DAILY.item_cap + 5} new jobs match" in digest.text()
    assert "and 5 more" in digest.text()
    assert (digest.text().count("Job j"), "Job j4." in digest.text()) == (DAILY.item_cap, False)
    assert digest.document()["content"]["total"] == DAILY.item_cap + 5


def test_of_more_than_are_kept_all_are_counted(digest: Desk) -> None:
    digest.matches({f"j{number}": digest.start + number * TICK for number in range(MOST_FROZEN + 30)})
    digest.post.inbox.fail_next("unavailable")
    assert digest.deliver() == Answer("pending")
    content = digest.document()["content"]
    assert (len(content["items"]), content["total"]) == (MOST_FROZEN, MOST_FROZEN + 30)
    assert digest.again() == Answer("accepted")
    assert f"and {MOST_FROZEN + 30 - DAILY.item_cap} more" in digest.text()


@pytest.mark.parametrize("letter", ["x", "ä", "\U0001f600", "\\"])
def test_long_jobs_are_kept_as_far_as_a_document_holds_them(letter: str, digest: Desk) -> None:
    escaped = max(len(letter.encode("unicode_escape")), 1)
    body = letter * (JOB_CHARS // (2 * escaped + 4))
    digest.match(*(number / 10 for number in range(60)), body=body)
    digest.post.inbox.fail_next("unavailable")
    assert digest.deliver() == Answer("pending")
    assert len(digest.document()["content"]["items"]) >= 4
    assert digest.again() == Answer("accepted")
    assert "60 new jobs match" in digest.text()


# Nothing to say


def test_a_period_without_matches_is_no_mail_and_on_record(digest: Desk) -> None:
    assert digest.deliver() == Answer("empty")
    document = digest.document()
    assert (document["status"], document["attempt"], digest.post.calls()) == ("empty", 0, 0)
    assert (document["period_start"], document["period_end"]) == (digest.start, digest.delivery.period_end)
    digest.post.ground.assert_identity()


def test_a_match_that_was_withdrawn_before_the_mail_was_made_is_not_mailed(digest: Desk) -> None:
    digest.match(1)
    digest.withdraw("j0")
    assert digest.deliver() == Answer("empty")
    digest.match(1)
    assert (digest.deliver(), digest.post.calls()) == (Answer("finished"), 0)


# Frozen


def changed_meanwhile(digest: Desk) -> None:
    """A match is withdrawn, one is edited, one comes late."""
    digest.withdraw("j0")
    digest.matches({"j1": digest.start + HOUR}, title="Edited")
    digest.matches({"late": digest.start + HOUR})


def test_what_was_first_rendered_is_mailed_whatever_became_of_the_matches(digest: Desk) -> None:
    digest.match(1, 2)
    digest.post.inbox.fail_next("unavailable")
    assert digest.deliver() == Answer("pending")
    frozen = digest.document()
    assert frozen["stages"]["render"]["reference"] == frozen["content"]["hash"]
    changed_meanwhile(digest)
    assert digest.again(digest.post.another_instance().worker) == Answer("accepted")
    done = digest.document()
    assert "2 new jobs match" in digest.text()
    assert [word in digest.text() for word in ("Job j0.", "Job j1.", "Edited", "late")] == [True, True, False, False]
    assert done["content"]["hash"] == frozen["content"]["hash"]
    assert done["stages"]["render"] == frozen["stages"]["render"]
    assert "items" not in done["content"]


def test_a_lost_answer_is_tried_again_with_the_same_mail_when_evidence_had_its_time(digest: Desk) -> None:
    digest.match(1, 2)
    digest.post.inbox.fail_next("cut")
    assert digest.deliver() == Answer("pending")
    document = digest.document()
    assert document["next_attempt_at"] - document["first_attempt_at"] >= DAILY.policy.evidence_grace
    changed_meanwhile(digest)
    assert digest.again() == Answer("accepted")
    first, second = digest.mails()
    assert [first[part] for part in ("subject", "text", "html")] == [
        second[part] for part in ("subject", "text", "html")
    ]


@pytest.mark.parametrize("interrupt", [before, after])
def test_what_was_frozen_by_a_worker_that_died_is_what_the_next_one_mails(
    interrupt: Callable[..., Any], digest: Desk
) -> None:
    digest.match(1, 2)
    with pytest.raises(Died):
        digest.deliver(digest.post.worker(provider=interrupt(digest.post.app.worker.provider, "send", die)))
    changed_meanwhile(digest)
    digest.post.sweep()
    assert digest.again() == Answer("accepted")
    texts = {mail["text"] for mail in digest.mails()}
    assert len(digest.mails()) == (1 if interrupt is before else 2)
    assert len(texts) == 1
    assert "2 new jobs match" in texts.pop()


def test_what_two_workers_read_differently_one_of_them_freezes(digest: Desk) -> None:
    digest.match(1, 2)

    def another() -> None:
        changed_meanwhile(digest)
        assert digest.deliver(digest.post.another_instance().worker) == Answer("accepted")

    slow = digest.post.worker(items=after(digest.post.app.worker.items, "of", another))
    assert digest.deliver(slow) == Answer("not_mine")
    assert "Edited" in digest.text()


@pytest.mark.parametrize("content", [{"hash": "other"}, {"items": [{"job_id": "j9", "title": "Not frozen"}]}])
def test_items_that_are_not_those_that_were_frozen_are_never_mailed(content: dict[str, Any], digest: Desk) -> None:
    digest.match(1)
    digest.post.inbox.fail_next("unavailable")
    digest.deliver()
    digest.change(content=digest.document()["content"] | content)
    assert digest.again() == Answer("rejected")
    assert digest.document()["last_error"]["category"] == "content_changed"
    assert digest.mails() == []


def test_a_retry_under_new_templates_shows_the_same_items_and_says_which_templates(digest: Desk) -> None:
    digest.match(1)
    digest.post.inbox.fail_next("unavailable")
    digest.deliver()
    edited = replace(DAILY, version="v2", templates={**DAILY.templates, "subject.txt": "New words"})
    assert digest.again(digest.post.worker(mailings={"daily-digest": edited})) == Answer("accepted")
    (mail,) = digest.mails()
    assert (mail["subject"], digest.document()["content"]["version"]) == ("New words", "v2")


# Those who left


@pytest.mark.parametrize(
    ("user", "reason"),
    [
        ({"mailings": {"daily-digest": {"active": False}}}, "unsubscribed"),
        ({"mailings": {"weekly-digest": {"active": True}}}, "unsubscribed"),
        ({"suppressed": {"reason": "bounce"}}, "suppressed"),
        ({"email": "nobody"}, "no_usable_address"),
    ],
)
def test_who_left_before_the_claim_gets_none_and_the_ledger_says_why(
    user: dict[str, Any], reason: str, digest: Desk
) -> None:
    digest.match(1)
    digest.user(**user)
    assert digest.deliver() == Answer("suppressed")
    assert digest.document()["last_error"]["category"] == reason
    assert digest.post.calls() == 0
    digest.post.ground.assert_identity()


def test_a_run_whose_subscribers_all_left_is_finished(
    app: App, ground: Ground, tasks_server: CloudTasks, controlled: Firestore
) -> None:
    plan = Planning(app, ground, tasks_server, {"daily-digest": replace(DAILY, catch_up=timedelta(days=2))})
    plan.subscribe("u1", "u2")
    worker = App(app.settings, plan.mailings).worker
    now = worker.clock.now()
    plan.tick(now)
    plan.subscribe("u1", "u2", active=False)
    assert {worker.deliver(delivery.id).what for delivery in plan.owed()} == {"suppressed"}
    ground.assert_identity()
