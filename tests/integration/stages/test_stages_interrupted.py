"""Stages whose worker dies, stands still, is overtaken or gets no answer: none is repeated that is on record."""

from dataclasses import replace
from typing import Any

import pytest

from emulator.firestore import Firestore
from ledgermail.clock import Clock
from ledgermail.delivering.worker import INFRASTRUCTURE_WAIT, Answer
from ledgermail.ledger.delivery import Guarantee
from tests.integration.customers import (
    MAILINGS,
    OK,
    Customer,
    assert_told_and_mailed_once,
    stages,
)
from tests.integration.digesting import Desk
from tests.integration.interruptions import Died, after, before, die
from tests.stack.receivers import says

TOO_LONG = 1e6  # seconds an instance stood still


# The worker dies, or stands still


@pytest.mark.parametrize("point", ["after_email_recorded", "before_webhook", "after_webhook", "before_recording"])
def test_a_worker_that_dies_between_two_stages_repeats_none_that_is_on_record(
    point: str, report: Desk, customer: Customer
) -> None:
    worker = report.post.app.worker
    dying: dict[str, dict[str, Any]] = {
        "after_email_recorded": {"ledger": after(worker.ledger, "change", die, call=2)},
        "before_webhook": {"webhooks": lambda: before(worker.webhooks(), "send", die)},
        "after_webhook": {"webhooks": lambda: after(worker.webhooks(), "send", die)},
        "before_recording": {"ledger": before(worker.ledger, "change", die, call=3)},
    }
    with pytest.raises(Died):
        report.deliver(report.post.worker(**dying[point]))
    assert (report.status(), stages(report), len(report.mails())) == ("in_flight", ["render", "email"], 1)
    report.post.sweep()
    assert report.status() == "pending"
    assert report.again() == Answer("accepted")
    assert_told_and_mailed_once(report, customer, calls=2 if point in ("after_webhook", "before_recording") else 1)


def test_a_worker_that_dies_after_the_mail_left_is_told_by_the_guarantee_and_calls_no_webhook(
    report: Desk, customer: Customer
) -> None:
    with pytest.raises(Died):
        report.deliver(report.post.worker(provider=after(report.post.app.worker.provider, "send", die)))
    report.post.sweep()
    assert customer.heard() == []
    assert report.status() == ("unknown" if once(report) else "pending")


def test_an_instance_that_stood_still_after_the_mail_leaves_the_webhook_to_the_next(
    report: Desk, customer: Customer
) -> None:
    readings = iter([0.0, 1e-4, 2e-4])
    frozen = report.post.worker(clock=Clock(monotonic=lambda: next(readings, TOO_LONG)))
    assert report.deliver(frozen) == Answer("pending", INFRASTRUCTURE_WAIT)
    document = report.document()
    assert (document["attempt"], stages(report), customer.heard()) == (1, ["render", "email"], [])
    assert "first_attempt_at" in document
    assert report.deliver() == Answer("accepted")
    assert_told_and_mailed_once(report, customer)


# Others are faster, and Firestore does not answer


def once(report: Desk) -> bool:
    return report.delivery.guarantee is Guarantee.AT_MOST_ONCE


def test_a_mail_whose_lease_was_swept_during_the_call_is_on_record_all_the_same(
    report: Desk, customer: Customer
) -> None:
    slow = after(report.post.app.worker.provider, "send", report.post.sweep)
    answer = report.deliver(report.post.worker(provider=slow))
    assert (stages(report), customer.heard()) == (["render", "email"], [])
    if once(report):
        assert answer == Answer("accepted")
        return
    assert answer == Answer("pending")
    assert report.again() == Answer("accepted")
    assert_told_and_mailed_once(report, customer)


@pytest.mark.parametrize("report", MAILINGS[:1], indirect=True)
def test_a_mail_whose_answer_comes_when_another_holds_the_claim_still_has_its_webhook_to_come(
    report: Desk, customer: Customer
) -> None:
    def another_dies_before_it_sends() -> None:
        report.post.sweep()
        other = report.post.another_instance().worker
        with pytest.raises(Died):
            report.again(replace(other, provider=before(other.provider, "send", die)))

    slow = after(report.post.app.worker.provider, "send", another_dies_before_it_sends)
    assert report.deliver(report.post.worker(provider=slow)) == Answer("in_flight")
    assert (stages(report), customer.heard()) == (["render", "email"], [])
    report.post.sweep()
    assert report.again() == Answer("accepted")
    assert_told_and_mailed_once(report, customer)


def test_a_webhook_whose_lease_was_swept_during_the_call_is_told_of_once_more_at_most(
    report: Desk, customer: Customer
) -> None:
    slow = after(report.post.app.webhooks, "send", report.post.sweep)
    assert report.deliver(report.post.worker(webhooks=lambda: slow)) == Answer("accepted")
    assert_told_and_mailed_once(report, customer)


def test_a_webhook_that_another_worker_tells_meanwhile_is_told_the_same(report: Desk, customer: Customer) -> None:
    def another_tells() -> None:
        report.post.sweep()
        assert report.again(report.post.another_instance().worker) == Answer("accepted")

    slow = before(report.post.app.webhooks, "send", another_tells)
    assert report.deliver(report.post.worker(webhooks=lambda: slow)) == Answer("not_mine")
    assert_told_and_mailed_once(report, customer, calls=2)


@pytest.mark.parametrize("skip", [0, 1, 2])
@pytest.mark.parametrize("code", ["INTERNAL", "UNAVAILABLE"])
def test_a_stage_whose_record_was_not_answered_is_recognised_as_our_own(
    code: str, skip: int, report: Desk, customer: Customer, project: str, controlled: Firestore
) -> None:
    controlled.fail("Commit", project=project, collection="deliveries", skip=skip, when="after", code=code)
    assert report.deliver() == Answer("accepted")
    assert_told_and_mailed_once(report, customer)


def test_a_mail_that_could_not_be_put_on_record_is_not_told_of(
    report: Desk, customer: Customer, project: str, controlled: Firestore
) -> None:
    controlled.fail("Commit", project=project, collection="deliveries", skip=1, times=None, code="INTERNAL")
    assert report.deliver() == Answer("put_off", INFRASTRUCTURE_WAIT)
    assert (len(report.mails()), customer.heard()) == (1, [])


def test_while_mail_is_held_back_so_are_webhooks(report: Desk, customer: Customer) -> None:
    customer.answers = [says("503 Service Unavailable"), OK]
    report.deliver()
    report.post.app.gates.pause(True)
    assert report.again(report.post.another_instance().worker).what == "held_back"
    report.post.app.gates.pause(False)
    assert report.again(report.post.another_instance().worker) == Answer("accepted")
    assert_told_and_mailed_once(report, customer, calls=2)
