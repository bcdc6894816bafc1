"""What digests and reports cost, in what Google bills: planning a read and a write each, delivering two of both."""

from datetime import timedelta

import pytest

from emulator.firestore import Firestore
from emulator.inbox import Inbox
from emulator.tasks import CloudTasks
from ledgermail.app import App
from ledgermail.ledger.ledger import USERS
from ledgermail.planning.audience import PAGE
from tests.integration.conftest import AppMaker, Ground
from tests.integration.customers import MAILINGS, Customer, a_report
from tests.integration.digesting import desk
from tests.integration.planning import DAILY, Planning, a_subscriber, at
from tests.integration.test_budget import used

GATE = 1  # read by an instance every 5 seconds
REMEMBERED = 1  # read and written by a tick that found something
UNPLANNED = 1  # asked for by every tick
COUNTED = 1  # how many there are: one read a thousand
END = 1  # of the schedules, or of an audience: a query that finds nothing is a read
RUN = PART = 1
MATCHES = 7


@pytest.fixture
def plan(app: App, ground: Ground, tasks_server: CloudTasks) -> Planning:
    """A deployment whose only mailing is the daily digest, at 8:00 in UTC."""
    return Planning(app, ground, tasks_server, {"daily-digest": DAILY})


def test_planning_costs_a_read_and_a_write_a_subscriber(plan: Planning, project: str, controlled: Firestore) -> None:
    plan.subscribe(*(f"u{number:02}" for number in range(50)))
    controlled.reset_usage(project)
    assert plan.tick(at(0)).counts["created"] == 50
    reads = REMEMBERED + END + 50 + UNPLANNED
    assert used(controlled, project) == (reads, 50 + RUN + REMEMBERED, 0)


def test_each_schedule_costs_a_read_to_find_and_a_write_for_its_run(
    plan: Planning, project: str, controlled: Firestore
) -> None:
    for schedule in ("5 8 * * *", "10 8 * * *", "15 8 * * *"):
        plan.subscribe(*(f"{schedule} {number:02}" for number in range(10)), schedule=schedule)
    controlled.reset_usage(project)
    plan.tick(at(0, 9))
    nobody_left = COUNTED + COUNTED  # with the mailing's own schedule: all are counted, and those of each thirty others
    reads = REMEMBERED + 3 + END + nobody_left + 30 + UNPLANNED
    assert used(controlled, project) == (reads, 30 + 4 * RUN + REMEMBERED, 0)


def test_each_page_of_a_part_costs_a_write(plan: Planning, project: str, controlled: Firestore) -> None:
    count = 2 * PAGE + 50
    plan.subscribe(*(f"u{number:03}" for number in range(count)))
    controlled.reset_usage(project)
    plan.tick(at(0))
    opening = (REMEMBERED + END + PAGE + COUNTED + RUN + PART, PAGE + RUN + PART + REMEMBERED, 0)
    assert used(controlled, project) == opening
    plan.work_off(at(0))
    pages = 2
    finding, closing = RUN + PART, RUN + PART
    done = RUN  # the last page says so on the run
    planning = (finding + count - PAGE + closing, count - PAGE + pages * PART + done + RUN, PART)
    assert used(controlled, project) == planning


def test_who_changed_of_late_costs_a_read_more(plan: Planning, project: str, controlled: Firestore) -> None:
    plan.subscribe("u1")
    plan.subscribe("u2", since=at(-1))
    controlled.reset_usage(project)
    plan.tick(at(0))
    last_digest = 1
    assert used(controlled, project)[0] == REMEMBERED + END + 2 + last_digest + UNPLANNED


def test_a_digest_costs_two_reads_two_writes_and_its_matches_once_however_often_it_is_tried(
    make_app: AppMaker, ground: Ground, inbox: Inbox, tasks_server: CloudTasks, project: str, controlled: Firestore
) -> None:
    digest = desk(make_app(sendgrid_url=inbox.url), ground, inbox, tasks_server, DAILY)
    digest.match(*range(1, MATCHES + 1))
    inbox.fail_next("unavailable")
    controlled.reset_usage(project)
    digest.deliver()
    assert used(controlled, project) == (GATE + 2 + MATCHES, 2, 0)
    digest.post.make_due(digest.delivery.id)
    controlled.reset_usage(project)
    assert digest.deliver().what == "accepted"
    assert used(controlled, project) == (2, 2, 0)


def test_a_period_without_matches_costs_a_write(
    make_app: AppMaker, ground: Ground, inbox: Inbox, tasks_server: CloudTasks, project: str, controlled: Firestore
) -> None:
    digest = desk(make_app(sendgrid_url=inbox.url), ground, inbox, tasks_server, DAILY)
    controlled.reset_usage(project)
    assert digest.deliver().what == "empty"
    assert used(controlled, project) == (GATE + 2 + END, 1, 0)


@pytest.mark.parametrize(("url", "stages"), [(True, 3), (False, 2)])
def test_a_report_costs_two_reads_its_version_once_and_a_write_more_for_a_webhook(
    url: bool,
    stages: int,
    make_app: AppMaker,
    ground: Ground,
    inbox: Inbox,
    tasks_server: CloudTasks,
    project: str,
    controlled: Firestore,
) -> None:
    customer = Customer()
    with customer.receiver:
        app = make_app(sendgrid_url=inbox.url, webhooks="loopback")
        report = a_report(app, ground, inbox, tasks_server, MAILINGS[0], customer)
        if not url:
            report.user()
        controlled.reset_usage(project)
        assert report.deliver().what == "accepted"
    version = 1
    assert used(controlled, project) == (GATE + 2 + version, stages, 0)


def test_an_idle_tick_costs_the_same_however_many_subscribe(
    plan: Planning, project: str, controlled: Firestore
) -> None:
    plan.users({f"u{number:03}": a_subscriber(f"u{number:03}") for number in range(150)})
    plan.tick(at(0))
    controlled.reset_usage(project)
    plan.tick(at(0) + timedelta(minutes=5))
    assert used(controlled, project) == (REMEMBERED + END + UNPLANNED, 0, 0)
    assert not any(count.collection == USERS and count.reads > END for count in controlled.usage(project).counts)
