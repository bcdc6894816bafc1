"""Render, email, webhook: each on record before the next starts, and a webhook that fails is tried again by itself."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from threading import Event

import pytest

from emulator.inbox import Inbox
from ledgermail.app import App
from ledgermail.delivering.worker import Answer
from ledgermail.ledger import ids
from tests.integration.conftest import AppMaker
from tests.integration.customers import (
    OK,
    SECRET,
    Customer,
    assert_told_and_mailed_once,
    stages,
)
from tests.integration.digesting import Desk
from tests.integration.interruptions import before
from tests.integration.planning import SHIPMENTS
from tests.stack.receivers import Answer as Say
from tests.stack.receivers import Write, says

# One after the other


def test_each_stage_is_on_record_with_its_time_and_reference_before_the_next_starts(
    report: Desk, customer: Customer
) -> None:
    seen: list[list[str]] = []
    worker = report.post.app.worker
    watched = report.post.worker(
        provider=before(worker.provider, "send", lambda: seen.append(stages(report))),
        webhooks=lambda: before(worker.webhooks(), "send", lambda: seen.append(stages(report))),
    )
    assert report.deliver(watched) == Answer("accepted")
    assert seen == [["render"], ["render", "email"]]
    (mail,) = report.mails()
    ((event_id, told),) = customer.heard()
    document = report.document()
    references = {name: stage["reference"] for name, stage in document["stages"].items()}
    assert references == {"render": document["content"]["hash"], "email": mail["message_id"], "webhook": event_id}
    assert event_id == f"{report.delivery.id}:accepted"
    assert (told["type"], told["delivery_id"]) == ("delivery.accepted", report.delivery.id)
    assert (told["reference"], told["run_key"]) == (mail["message_id"], report.delivery.run_key)
    assert (document["attempt"], "items" in document["content"]) == (1, False)
    assert report.deliver() == Answer("finished")
    assert_told_and_mailed_once(report, customer)


def test_a_mail_that_was_not_taken_is_not_told_of(report: Desk, customer: Customer) -> None:
    report.post.inbox.fail_next("refuse")
    assert report.deliver() == Answer("rejected")
    assert (customer.heard(), stages(report)) == ([], ["render"])


@pytest.mark.parametrize("without", [{}, {"webhook_url": ""}, {"webhook_url": None}])
def test_a_user_without_a_webhook_is_done_with_the_mail(
    without: dict[str, object], report: Desk, customer: Customer
) -> None:
    report.user(**without)
    assert report.deliver() == Answer("accepted")
    assert (stages(report), len(report.mails()), customer.heard()) == (["render", "email"], 1, [])
    assert "last_error" not in report.document()


def test_a_mailing_without_webhooks_calls_none(report: Desk, customer: Customer) -> None:
    mailing = replace(report.post.app.mailings["shipment-digest"], webhook=False)
    assert report.deliver(report.post.worker(mailings={"shipment-digest": mailing})) == Answer("accepted")
    assert customer.heard() == []


# The webhook fails


def hangs(write: Write, over: Event) -> object:
    return over.wait(30)


def hangs_up(write: Write, over: Event) -> object:
    return None


FAILURES: dict[str, tuple[Say, str]] = {
    "500": (says("500 Internal Server Error"), "500"),
    "429": (says("429 Too Many Requests"), "429"),
    "hangs": (hangs, "Timeout"),
    "hangs_up": (hangs_up, "Error"),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_webhook_that_failed_is_tried_again_when_its_time_comes_and_the_mail_never_is(
    failure: str, report: Desk, customer: Customer
) -> None:
    answer, code = FAILURES[failure]
    customer.answers = [answer, answer, OK]
    assert report.deliver() == Answer("pending")
    for attempt in (1, 2):
        document = report.document()
        assert code in document["last_error"]["code"]
        assert (document["attempt"], stages(report)) == (attempt, ["render", "email"])
        assert document["next_attempt_at"] > datetime.now(UTC)
        assert report.post.tasks()[ids.task_name(report.delivery.id, attempt)] == document["next_attempt_at"]
        assert report.deliver() == Answer("not_due")
        assert report.again().what == ("pending" if attempt == 1 else "accepted")
    assert_told_and_mailed_once(report, customer, calls=3)


def test_a_server_that_is_not_there_is_tried_again(report: Desk, customer: Customer) -> None:
    report.user(webhook_url="http://127.0.0.1:1/hook", webhook_secret=SECRET)
    assert report.deliver() == Answer("pending")
    report.user(**customer.webhook())
    assert report.again() == Answer("accepted")
    assert_told_and_mailed_once(report, customer)


def test_one_customers_server_holds_nobody_elses_mail_back(report: Desk, customer: Customer) -> None:
    customer.answers = [says("429 Too Many Requests", "Retry-After: 3600\r\n")]
    report.deliver()
    assert report.post.another_instance().gates.read().wait(datetime.now(UTC)) is None


def test_a_webhook_that_refuses_is_given_up_and_the_mail_stays_accepted(report: Desk, customer: Customer) -> None:
    customer.answers = [says("410 Gone")]
    assert report.deliver() == Answer("accepted")
    document = report.document()
    assert (document["last_error"]["category"], document["last_error"]["code"]) == ("rejected", "410")
    assert (stages(report), len(report.mails()), report.post.tasks()) == (["render", "email"], 1, {})


def test_past_the_last_day_the_mail_stays_accepted_and_says_why_the_webhook_was_given_up(
    report: Desk, customer: Customer
) -> None:
    customer.answers = [says("503 Service Unavailable")]
    assert report.deliver() == Answer("pending")
    long_ago = datetime.now(UTC) - SHIPMENTS.policy.backoff.deadline - timedelta(minutes=1)
    report.change(first_attempt_at=long_ago)
    assert report.again() == Answer("accepted")
    document = report.document()
    assert (document["last_error"]["category"], stages(report)) == ("expired", ["render", "email"])
    assert (len(report.mails()), len(customer.heard())) == (1, 1)
    report.post.ground.assert_identity()


GONE: dict[str, Callable[[Desk], object]] = {
    "no_url": lambda report: report.user(),
    "no_secret": lambda report: report.user(webhook_url="http://127.0.0.1:1/"),
    "no_user": lambda report: report.post.ground.db.collection("users").document("u1").delete(),
    "not_a_url": lambda report: report.user(webhook_url=["http://127.0.0.1:1/"], webhook_secret=SECRET),
    "not_this_machine": lambda report: report.user(webhook_url="http://10.0.0.1/", webhook_secret=SECRET),
}


@pytest.mark.parametrize("gone", GONE)
def test_a_webhook_that_was_taken_away_meanwhile_ends_the_delivery_as_accepted(
    gone: str, report: Desk, customer: Customer
) -> None:
    customer.answers = [says("503 Service Unavailable")]
    report.deliver()
    GONE[gone](report)
    assert report.again() == Answer("accepted")
    assert report.document()["last_error"]["category"] == "rejected"
    assert (len(report.mails()), len(customer.heard())) == (1, 1)


def test_who_unsubscribes_after_the_mail_is_still_told_of_it(report: Desk, customer: Customer) -> None:
    customer.answers = [says("503 Service Unavailable"), OK]
    report.deliver()
    user = report.post.ground.db.collection("users").document("u1")
    user.update({"suppressed": {"reason": "bounce"}, "mailings": {}})
    assert report.again() == Answer("accepted")
    assert_told_and_mailed_once(report, customer, calls=2)


def test_no_customer_on_this_machine_is_called_where_mail_is_really_sent(
    report: Desk, customer: Customer, make_app: AppMaker, inbox: Inbox
) -> None:
    public = App(make_app(sendgrid_url=inbox.url).settings, report.post.app.mailings)
    assert report.deliver(public.worker) == Answer("accepted")
    assert (customer.heard(), report.document()["last_error"]["code"]) == ([], "scheme_not_allowed")
