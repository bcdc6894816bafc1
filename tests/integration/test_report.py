"""A report: which version of it a run shows, to whom, and that a retry never shows another."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from emulator.firestore import Firestore
from emulator.inbox import Inbox
from emulator.tasks import CloudTasks
from ledgermail.app import App
from ledgermail.delivering.worker import Answer
from ledgermail.ledger import ids
from ledgermail.ledger.delivery import Delivery
from ledgermail.planning.coordinator import Report
from tests.integration.conftest import AppMaker, Ground
from tests.integration.delivering import owed
from tests.integration.digesting import Desk, desk
from tests.integration.planning import SHIPMENTS, Planning, a_subscriber, at

HOUR = timedelta(hours=1)
SIX, SEVEN = at(0, 6), at(0, 7.05)


@pytest.fixture
def app(make_app: AppMaker, inbox: Inbox) -> App:
    """The App of this test's project, which sends to a SendGrid of its own."""
    return make_app(sendgrid_url=inbox.url)


@pytest.fixture
def plan(app: App, ground: Ground, tasks_server: CloudTasks) -> Planning:
    """A deployment whose only mailing is the report of shipments, at 7:00 in UTC."""
    return Planning(app, ground, tasks_server, {"shipment-digest": SHIPMENTS})


@pytest.fixture
def report(app: App, ground: Ground, inbox: Inbox, tasks_server: CloudTasks) -> Desk:
    """A report about the school, in version v1, that is due now."""
    return desk(app, ground, inbox, tasks_server, SHIPMENTS)


def rows(*shipments: str) -> Sequence[dict[str, Any]]:
    filled = {"status": "In transit", "destination": "Köln", "carrier": "Acme", "expected_on": "2026-08-20"}
    return [{**filled, "shipment": shipment} for shipment in shipments]


def publish(ground: Ground, version: str, published_at: datetime = SIX, topic: str = "school", **document: Any) -> None:
    """Write a version of a report, with a row that says which it is."""
    versions = ground.db.collection("reports").document(topic).collection("versions")
    versions.document(version).set({"published_at": published_at, "rows": rows(f"of-{version}"), **document})


def subscribe(plan: Planning, *user_ids: str, topics: object = ("school",)) -> None:
    wanted = list(topics) if isinstance(topics, tuple) else topics
    plan.subscribe(*user_ids, mailing="shipment-digest", topics=wanted)


def planned(plan: Planning) -> dict[str, str | None]:
    """The version that each delivery names, by what it is about."""
    return {delivery.subject.removeprefix("shipment-digest:"): delivery.version for delivery in plan.owed()}


# Which version


def test_a_run_shows_the_newest_version_that_was_published_since_the_one_before(plan: Planning) -> None:
    subscribe(plan, "u1")
    publish(plan.ground, "yesterdays", at(-1, 6.9))
    publish(plan.ground, "first", at(-1, 8))
    publish(plan.ground, "newest", at(0, 6.9))
    publish(plan.ground, "tomorrows", at(1, 6.9))
    plan.tick(SEVEN)
    assert planned(plan) == {"2100-08-16:school": "newest"}
    assert plan.a_run().version == "newest"
    plan.tick(at(1, 7.05))
    assert planned(plan) == {"2100-08-16:school": "newest", "2100-08-17:school": "tomorrows"}


def test_a_version_that_comes_after_the_run_was_opened_is_the_next_ones(plan: Planning) -> None:
    subscribe(plan, "u1")
    publish(plan.ground, "v1")
    plan.tick(SEVEN)
    publish(plan.ground, "v2", SEVEN + timedelta(minutes=1))
    plan.tick(at(0, 9))
    plan.tick(at(1, 7.05))
    assert planned(plan) == {"2100-08-16:school": "v1", "2100-08-17:school": "v2"}


def test_a_report_that_is_not_published_yet_is_waited_for(plan: Planning) -> None:
    subscribe(plan, "u1")
    publish(plan.ground, "old", at(-1, 6))
    assert plan.tick(SEVEN).counts == {"unpublished": 1}
    assert plan.tick(SEVEN + HOUR).counts == {"unpublished": 1}
    assert (plan.owed(), plan.runs()) == ([], {})
    publish(plan.ground, "late", SEVEN + 2 * HOUR)
    assert plan.tick(SEVEN + 2 * HOUR).counts["opened"] == 1
    assert planned(plan) == {"2100-08-16:school": "late"}


def test_a_report_that_comes_late_is_mailed_once_and_the_next_run_waits_for_its_own(plan: Planning) -> None:
    subscribe(plan, "u1")
    for day in range(3):
        assert plan.tick(at(day, 7.05)).counts["opened"] == 0
        publish(plan.ground, f"v{day}", at(day, 9))
        assert plan.tick(at(day, 9.1)).counts["opened"] == 1
    assert list(planned(plan).values()) == ["v0", "v1", "v2"]


def test_a_report_that_never_came_holds_up_no_later_one(plan: Planning) -> None:
    patient = Planning(
        plan.app, plan.ground, plan.queues, {SHIPMENTS.name: replace(SHIPMENTS, catch_up=timedelta(days=3))}
    )
    subscribe(patient, "u1")
    publish(patient.ground, "first", at(-1, 6))
    patient.tick(at(-1, 7.05))
    assert patient.tick(at(0, 7.05)).counts == {"unpublished": 1}
    publish(patient.ground, "third", at(1, 6))
    report = patient.tick(at(1, 7.05))
    assert (report.counts["missed"], report.counts["opened"]) == (1, 1)
    assert planned(patient) == {"2100-08-15:school": "first", "2100-08-17:school": "third"}


def test_it_is_waited_for_as_long_as_it_may_be_caught_up_and_then_missed_once(plan: Planning) -> None:
    subscribe(plan, "u1")
    publish(plan.ground, "old", at(-1, 6))
    over = at(0, 7) + SHIPMENTS.catch_up
    ticks: list[Report] = [plan.tick(now) for now in (SEVEN, over - HOUR, over, over + HOUR)]
    assert [(tick.counts["unpublished"], tick.counts["missed"]) for tick in ticks] == [(1, 0), (1, 0), (0, 1), (0, 0)]
    publish(plan.ground, "too_late", over + HOUR)
    plan.tick(over + 2 * HOUR)
    assert (plan.owed(), [run["state"] for run in plan.runs().values()]) == ([], ["missed"])
    publish(plan.ground, "next", at(1, 6))
    plan.tick(at(1, 7.05))
    assert planned(plan) == {"2100-08-17:school": "next"}


def test_one_topic_that_is_not_published_keeps_no_other_waiting(plan: Planning) -> None:
    subscribe(plan, "u1", topics=("a", "b"))
    publish(plan.ground, "old", at(-1, 6), topic="a")
    publish(plan.ground, "v1", topic="b")
    plan.tick(SEVEN)
    assert planned(plan) == {"2100-08-16:b": "v1"}
    publish(plan.ground, "v2", SEVEN, topic="a")
    plan.tick(SEVEN + HOUR)
    assert planned(plan) == {"2100-08-16:b": "v1", "2100-08-16:a": "v2"}


@pytest.mark.parametrize("published_at", ["2100-08-16", None, 7])
def test_a_version_without_a_time_is_not_published(published_at: object, plan: Planning) -> None:
    subscribe(plan, "u1")
    publish(plan.ground, "timeless", published_at=published_at)  # type: ignore[arg-type]
    assert plan.tick(SEVEN).counts["opened"] == 0


# To whom


def test_each_topic_of_a_subscriber_is_a_delivery_of_its_own(plan: Planning) -> None:
    topics = ("school", "a:b", "dépôt ö", "|", "..x", "default")
    for topic in (*topics, "unwanted"):
        publish(plan.ground, f"of {topic}", topic=topic)
    subscribe(plan, "u1", topics=topics)
    subscribe(plan, "u2", topics=("school", "unknown"))
    subscribe(plan, "u3", topics="school")
    subscribe(plan, "u4", topics=[])
    plan.subscribe("u5", mailing="shipment-digest", topics=["school"], active=False)
    plan.tick(SEVEN)
    plan.tick(SEVEN + HOUR)
    owed_to = [(delivery.user_id, delivery.topic, delivery.version) for delivery in plan.owed()]
    wanted = [("u1", topic, f"of {topic}") for topic in topics] + [("u2", "school", "of school")]
    assert sorted(owed_to, key=str) == sorted(wanted, key=str)
    plan.ground.assert_identity()


def test_a_change_of_preferences_costs_no_report(plan: Planning) -> None:
    """What was sent up to when matters to digests alone: each topic is a report of its own."""
    for topic in ("a", "b"):
        publish(plan.ground, "v1", topic=topic)
    plan.subscribe("u1", mailing="shipment-digest", topics=["a", "b"], since=SIX)
    plan.tick(SEVEN)
    assert planned(plan) == {"2100-08-16:a": "v1", "2100-08-16:b": "v1"}


def test_a_subscriber_of_another_schedule_gets_it_then(plan: Planning) -> None:
    publish(plan.ground, "v1")
    subscribe(plan, "u1")
    plan.subscribe("u2", mailing="shipment-digest", topics=["school"], schedule="0 9 * * *")
    plan.tick(SEVEN)
    publish(plan.ground, "v2", at(0, 8))
    plan.tick(at(0, 9.05))
    assert {delivery.user_id: delivery.version for delivery in plan.owed()} == {"u1": "v1", "u2": "v2"}


# The same at each attempt


def test_a_retry_never_shows_tomorrows_report(report: Desk) -> None:
    publish(report.post.ground, "v1", report.start)
    report.post.inbox.fail_next("unavailable")
    assert report.deliver() == Answer("pending")
    publish(report.post.ground, "v2", report.start)
    assert report.again(report.post.another_instance().worker) == Answer("accepted")
    assert ("of-v1" in report.text(), "of-v2" in report.text()) == (True, False)


def test_only_the_hash_of_a_report_is_kept_with_its_deliveries(report: Desk) -> None:
    publish(report.post.ground, "v1", report.start)
    report.post.inbox.fail_next("unavailable")
    report.deliver()
    content = report.document()["content"]
    assert (content.get("items"), content["total"]) == (None, 1)
    assert report.document()["stages"]["render"]["reference"] == content["hash"]


@pytest.mark.parametrize(
    ("document", "category"),
    [
        ({"rows": rows("another")}, "content_changed"),
        ({"rows": [*rows("of-v1"), *rows("one-more")]}, "content_changed"),
        ({"rows": "none"}, "content"),
        ({"rows": ["none"]}, "content"),
        ({"rows": None}, "content"),
    ],
)
def test_a_version_that_was_changed_between_two_attempts_is_not_mailed(
    document: dict[str, Any], category: str, report: Desk
) -> None:
    publish(report.post.ground, "v1", report.start)
    report.post.inbox.fail_next("unavailable")
    report.deliver()
    publish(report.post.ground, "v1", report.start, **document)
    assert report.again(report.post.another_instance().worker) == Answer("rejected")
    error = report.document()["last_error"]
    assert (error["category"], "reports/school/versions/v1" in error["detail"]) == (category, True)
    assert report.mails() == []


def test_a_version_that_is_gone_is_an_error_of_its_deliveries(report: Desk) -> None:
    assert report.deliver() == Answer("rejected")
    assert report.document()["last_error"]["category"] == "content"


def test_a_report_without_rows_is_no_mail(report: Desk) -> None:
    publish(report.post.ground, "v1", report.start, rows=[])
    assert report.deliver() == Answer("empty")


def test_every_row_is_in_the_attached_file_and_the_first_are_in_the_mail(report: Desk) -> None:
    count = SHIPMENTS.item_cap + 3
    publish(report.post.ground, "v1", report.start, rows=rows(*(f"SH-{n:02}." for n in range(count))))
    report.deliver()
    (mail,) = report.mails()
    assert (mail["text"].count("SH-"), "and 3 more" in mail["text"]) == (SHIPMENTS.item_cap, True)
    (attached,) = report.post.inbox.mail(mail["id"])["attachments"]
    assert attached["name"].endswith(".csv")


def test_an_instance_reads_a_version_once_however_many_deliveries_show_it(
    report: Desk, project: str, controlled: Firestore
) -> None:
    ground = report.post.ground
    publish(ground, "v1", report.start)
    others = [_to(number, report.delivery) for number in range(2, 12)]
    for delivery in others:
        ground.user(delivery.user_id, a_subscriber(delivery.user_id, "shipment-digest"))
    ground.put(others)
    controlled.reset_usage(project)
    assert {report.post.deliver(delivery_id=delivery.id).what for delivery in others} == {"accepted"}
    assert sum(count.reads for count in controlled.usage(project).counts if count.collection == "versions") == 1


def _to(number: int, delivery: Delivery) -> Delivery:
    """The same report to another user."""
    user_id = f"u{number}"
    made = owed(mailing=delivery.mailing, guarantee=delivery.guarantee, content=None, user_id=user_id)
    return replace(
        made, id=ids.run_delivery_id(user_id, delivery.subject), topic=delivery.topic, version=delivery.version
    )
