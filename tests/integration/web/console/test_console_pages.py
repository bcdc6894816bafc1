"""What the console shows: each thing that there is, and where; nothing of a mail, and an address on one page alone."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from emulator.firestore import Firestore
from ledgermail.ledger import ids
from ledgermail.ledger.delivery import Content, Delivery, Failure, Status
from tests.integration.delivering import JOB, owed
from tests.integration.web.console.operators import READS, Operator
from tests.samples import a_match, a_user

EVIL = "<script>alert(1)</script>"
BOOK = "job-alert:2026-08-16"


@pytest.fixture
def ended(operator: Operator) -> Delivery:
    """A rejected alert of u1, of a run of today, with everything else that a page may show."""
    now = datetime.now(UTC)
    items = Content(hash="h", items=({"title": "a secret title"},), version="v")
    refused = Failure(category="rejected", code="400", detail=EVIL)
    delivery = owed(status=Status.REJECTED, content=items, last_error=refused, attempt=1)
    operator.ground.user("u1", a_user(name=EVIL))
    operator.ground.match("m1", a_match())
    operator.ground.delivery(delivery)
    run = {"mailing": "job-alert", "opened_at": now, "intended": 1}
    operator.db.collection("runs").document(BOOK).set(run)
    return delivery


PAGES: dict[str, tuple[tuple[str, ...], str]] = {
    "overview": (("",), ""),
    "run": (("runs", BOOK), ""),
    "delivery": (("deliveries", JOB), ""),
    "recipient": (("recipients", "u1"), ""),
    "question": (("recipients", "u1"), "?about=j1"),
    "record": (("record",), ""),
    "confirmation": (("deliveries", JOB, "retry"), ""),
    "pausing": (("mail", "pause"), ""),
}


@pytest.mark.parametrize("page", PAGES)
def test_every_page_says_how_many_documents_it_read_and_that_is_what_is_billed(
    page: str, operator: Operator, ended: Delivery, controlled: Firestore
) -> None:
    path, query = PAGES[page]
    operator.get(*path, query=query)  # the gate is read at most every five seconds
    controlled.reset_usage(operator.app.settings.project)
    answer = operator.get(*path, query=query)
    assert answer.status_code == 200
    usage = controlled.usage(operator.app.settings.project)
    said = READS.search(answer.text)
    assert said
    assert (int(said[1]), usage.writes, usage.deletes) == (usage.reads, 0, 0)


@pytest.mark.parametrize("page", PAGES)
def test_no_page_runs_or_loads_or_keeps_or_tells_others_anything(
    page: str, operator: Operator, ended: Delivery
) -> None:
    path, query = PAGES[page]
    answer = operator.get(*path, query=query)
    assert EVIL not in answer.text
    assert "<script" not in answer.text
    assert "a secret title" not in answer.text
    assert ("u1@example.com" in answer.text) is (page in {"recipient", "question"})
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Referrer-Policy"] == "same-origin"


def test_a_delivery_is_explained_and_its_history_and_what_can_be_done_are_shown(
    operator: Operator, ended: Delivery
) -> None:
    text = operator.get("deliveries", JOB).text
    assert "was not sent" in text
    assert "planned by job-alert:2026-08-16" in text
    assert f"/deliveries/{JOB}/retry" in text
    assert f"/deliveries/{JOB}/cancel" not in text
    assert f"/deliveries/{JOB}/settle" not in text


def test_did_somebody_get_it_is_answered_in_one_sentence(operator: Operator, ended: Delivery) -> None:
    assert "No: " in operator.get("recipients", "u1", query="?about=j1").text
    assert "j-other" in operator.get("recipients", "u1", query="?about=j-other").text


def test_a_run_shows_its_deliveries_of_one_status_a_page_at_a_time(operator: Operator, ended: Delivery) -> None:
    many = [owed(f"k{number:03}", status=Status.ACCEPTED) for number in range(60)]
    operator.ground.put(many)
    operator.db.collection("runs").document(BOOK).update({"intended": 61})
    first = operator.get("runs", BOOK, query="?status=accepted").text
    assert "adds up" in first
    assert (first.count("/deliveries/u1_k"), "u1_k049" in first, "after=u1_k049" in first) == (50, True, True)
    second = operator.get("runs", BOOK, query="?status=accepted&after=u1_k049").text
    assert (second.count("/deliveries/u1_k"), "From the beginning" in second) == (10, True)
    assert f"/deliveries/{JOB}" in operator.get("runs", BOOK).text  # what somebody may have to look at comes first


def test_the_overview_shows_what_is_late_and_each_days_figures(operator: Operator) -> None:
    now = datetime.now(UTC)
    run_key = ids.run_key("job-alert", now.date().isoformat())
    old = now - timedelta(hours=2)
    operator.ground.put([owed("late", due_at=old, created_at=old, run_key=run_key), owed(run_key=run_key)])
    operator.db.collection("runs").document(run_key).set({"mailing": "job-alert", "opened_at": now, "intended": 3})
    text = operator.get("").text
    assert "job-alert: the oldest unfinished delivery is older than" in text
    assert "In 14 days 0 were accepted, 0 ended otherwise, 2 are unfinished." in text
    assert '<span class="pill bad">no</span>' in text  # of three intended there are two


def test_what_was_pruned_is_on_record(operator: Operator) -> None:
    counts = {"job-alert": {"accepted": 7}}
    pruned: dict[str, Any] = {"counts": counts, "deleted": 7, "last_at": datetime.now(UTC)}
    operator.db.collection("prunes").document("p1").set(pruned)
    assert "job-alert: 7 accepted" in operator.get("record").text


@pytest.mark.parametrize(
    "path",
    [
        ("deliveries", "u1_nothing"),
        ("deliveries", "no id"),
        ("deliveries", "a%2Fb"),
        ("recipients", "nobody"),
        ("recipients", ".."),
        ("runs", "nothing:2026-08-16"),
        ("nothing",),
        ("deliveries", JOB, "delete"),
        ("session",),
    ],
)
def test_what_is_not_there_is_a_page_that_says_so(path: tuple[str, ...], operator: Operator) -> None:
    answer = operator.get(*path)
    assert answer.status_code in {404, 405}
    assert answer.content_type.startswith("text/html")
    assert '<a href="/">To the overview</a>' in answer.text


def test_a_ledger_that_does_not_answer_is_a_page_that_says_so(operator: Operator, controlled: Firestore) -> None:
    controlled.fail("RunQuery", project=operator.app.settings.project, code="INTERNAL", times=9)
    answer = operator.get("record")
    assert (answer.status_code, "Retry-After" in answer.headers) == (503, True)
    assert "the ledger does not answer" in answer.text.lower()


@pytest.mark.parametrize("missing", ["name", "email", "timezone", "mailings"])
def test_a_recipient_of_whom_little_is_known_has_a_page(missing: str, operator: Operator) -> None:
    user = a_user()
    del user[missing]
    operator.ground.user("u1", user)
    assert operator.get("recipients", "u1").status_code == 200


def test_what_lies_behind_the_newest_deliveries_is_not_said_to_be_none(operator: Operator) -> None:
    operator.ground.user("u1", a_user())
    operator.ground.put([owed(f"k{number}") for number in range(24)])
    assert "none of late" not in operator.get("recipients", "u1").text
    operator.ground.put([owed("k24")])
    assert "none of late" in operator.get("recipients", "u1").text
