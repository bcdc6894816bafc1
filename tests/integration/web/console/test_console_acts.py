"""What an operator does: asked first, on record with name and note, and never by a form from elsewhere."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from emulator.inbox import Inbox
from ledgermail.console import acts
from ledgermail.console.forms import Asked
from ledgermail.delivering.gate import Gates
from ledgermail.ledger.delivery import Stage, Status
from tests.integration.delivering import JOB, owed
from tests.integration.web.console.operators import OURS, Operator
from tests.samples import a_match, a_user

RETRY = ("deliveries", JOB, "retry")


def having(operator: Operator, status: Status) -> None:
    """An alert of u1 in this status."""
    operator.ground.user("u1", a_user())
    operator.ground.match("m1", a_match())
    operator.ground.delivery(owed(status=status))


def test_a_rejected_alert_is_tried_again_after_a_confirmation_and_sent(operator: Operator, inbox: Inbox) -> None:
    having(operator, Status.REJECTED)
    assert "will happen" in operator.get(*RETRY).text
    assert (operator.status(JOB), operator.audits()) == ("rejected", [])
    answer = operator.confirm(*RETRY, note="the sender was verified")
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/deliveries/{JOB}?done=retry")
    assert operator.status(JOB) == "pending"
    assert len(operator.ground.tasks()) == 1
    (entry,) = operator.audits()
    assert (entry.who, entry.action, entry.delivery_id) == ("local", "retry", JOB)
    assert (entry.before, entry.after, entry.note) == ("rejected", "pending", "the sender was verified")
    operator.call("deliver", json={"delivery_id": JOB, "generation": 1})
    assert (operator.status(JOB), len(inbox.mails(delivery_id=JOB))) == ("accepted", 1)
    assert "It is tried again" in operator.get("deliveries", JOB, query="?done=retry").text


@pytest.mark.parametrize(
    ("status", "act", "after"),
    [
        (Status.PENDING, "cancel", "cancelled"),
        (Status.UNKNOWN, "settle", "accepted"),
        (Status.UNKNOWN, "retry", "pending"),
        (Status.EXPIRED, "retry", "pending"),
        (Status.SUPPRESSED, "retry", "pending"),
        (Status.CANCELLED, "retry", "pending"),
    ],
)
def test_each_act_does_what_its_button_says(operator: Operator, status: Status, act: str, after: str) -> None:
    having(operator, status)
    assert operator.confirm("deliveries", JOB, act).status_code == 303
    assert operator.status(JOB) == after
    assert [(e.who, e.action, e.before, e.after) for e in operator.audits()] == [("local", act, str(status), after)]


def test_who_has_one_of_which_nobody_knows_tried_again_is_told_that_it_may_come_twice(operator: Operator) -> None:
    having(operator, Status.UNKNOWN)
    assert acts.TWICE in operator.get(*RETRY).text


def test_who_has_one_tried_again_while_all_mail_is_paused_is_told_that_it_waits(operator: Operator) -> None:
    having(operator, Status.REJECTED)
    assert acts.WAITS not in operator.get(*RETRY).text
    operator.app.operations.pause(by="ada")
    assert acts.WAITS in operator.get(*RETRY).text


@pytest.mark.parametrize("status", list(Status))
def test_what_is_not_offered_cannot_be_done(operator: Operator, status: Status) -> None:
    having(operator, status)
    offered = {act.name for act in acts.offered(owed(status=status))}
    page = operator.get("deliveries", JOB).text
    for act in ("retry", "cancel", "settle"):
        assert (f"/deliveries/{JOB}/{act}" in page) is (act in offered)
        assert operator.get("deliveries", JOB, act).status_code == (200 if act in offered else 409)
        token = operator.app.doorkeeper.tokens.make(Asked("local", act, JOB, f"{status}:0"), datetime.now(UTC))
        if act not in offered:
            assert operator.post("deliveries", JOB, act, token=token).status_code == 409
    assert (operator.status(JOB), operator.audits()) == (str(status), [])


def test_pausing_and_resuming_all_mail_is_asked_and_on_record(operator: Operator) -> None:
    gates = Gates(operator.app.client, operator.app.clock)
    assert operator.get("mail", "pause").status_code == 200
    assert gates.fetch().paused is False
    assert operator.confirm("mail", "pause", note="a wrong template").headers["Location"] == "/?done=pause"
    assert gates.fetch().paused is True
    assert operator.get("mail", "pause").status_code == 409
    assert "All mail is paused" in operator.get("").text
    assert operator.confirm("mail", "resume").status_code == 303
    assert gates.fetch().paused is False
    assert [(e.action, e.note) for e in operator.audits()] == [("resume", ""), ("pause", "a wrong template")]


def test_a_suppression_is_lifted_after_a_confirmation_and_that_is_on_record(operator: Operator) -> None:
    bounced = {"reason": "bounce", "at": datetime.now(UTC), "event": "e1", "address": "u1@example.com"}
    operator.ground.user("u1", a_user(suppressed=bounced))
    assert "must not be mailed" in operator.get("recipients", "u1").text
    assert operator.confirm("recipients", "u1", "lift").status_code == 303
    assert "must not be mailed" not in operator.get("recipients", "u1").text
    assert [(e.action, e.user_id) for e in operator.audits()] == [("lift", "u1")]
    assert operator.get("recipients", "u1", "lift").status_code == 409


# Forms from elsewhere

FOREIGN: list[Mapping[str, str]] = [
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "none"},
    {"Sec-Fetch-Site": "same-origin", "Origin": "https://evil.example"},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": ""},
    {"Origin": "http://["},
    {"Origin": "http://localhost.evil.example"},
    {},
]


@pytest.mark.parametrize("headers", FOREIGN)
def test_a_form_from_another_site_does_nothing_even_with_a_token_of_ours(
    operator: Operator, headers: Mapping[str, str]
) -> None:
    having(operator, Status.REJECTED)
    assert operator.post(*RETRY, token=operator.token(*RETRY), headers=headers).status_code == 403
    assert (operator.status(JOB), operator.audits()) == ("rejected", [])


@pytest.mark.parametrize(
    "headers",
    [OURS, {"Origin": "http://localhost"}, {"Sec-Fetch-Site": "same-origin", "Origin": "http://localhost:8080"}],
)
def test_a_form_of_our_own_page_is_taken_from_old_and_new_browsers(
    operator: Operator, headers: Mapping[str, str]
) -> None:
    having(operator, Status.REJECTED)
    assert operator.post(*RETRY, token=operator.token(*RETRY), headers=headers).status_code == 303


def test_a_token_is_for_one_operator_one_act_one_delivery_as_it_stood_and_a_quarter_of_an_hour(
    operator: Operator,
) -> None:
    having(operator, Status.REJECTED)
    make, now = operator.app.doorkeeper.tokens.make, datetime.now(UTC)
    wrong = [
        "",
        "made up",
        make(Asked("other", "retry", JOB, "rejected:0"), now),
        make(Asked("local", "cancel", JOB, "rejected:0"), now),
        make(Asked("local", "retry", "u1_j2", "rejected:0"), now),
        make(Asked("local", "retry", JOB, "unknown:0"), now),
        make(Asked("local", "retry", JOB, "rejected:1"), now),
        make(Asked("local", "retry", JOB, "rejected:0"), now - acts.VALID - timedelta(seconds=5)),
        make(Asked("local", "retry", JOB, "rejected:0"), now + timedelta(hours=1)),
        operator.app.links.url("u1", "job-alert").partition("token=")[2],
    ]
    assert [operator.post(*RETRY, token=token).status_code for token in wrong] == [403] * len(wrong)
    assert (operator.status(JOB), operator.audits()) == ("rejected", [])
    good = make(Asked("local", "retry", JOB, "rejected:0"), now)
    assert [operator.post(*RETRY, token=good).status_code for _ in range(2)] == [303, 409]
    assert len(operator.audits()) == 1


def test_of_a_mail_that_was_taken_only_the_webhook_is_called_off(operator: Operator) -> None:
    having(operator, Status.PENDING)
    taken = owed(stages={"email": Stage(at=datetime.now(UTC), reference="m1")}, attempt=1)
    operator.ground.delivery(taken)
    asked = operator.get("deliveries", JOB, "cancel").text
    assert ("It becomes cancelled" in asked, "becomes accepted" in asked) == (False, True)
    assert operator.confirm("deliveries", JOB, "cancel").status_code == 303
    assert operator.status(JOB) == "accepted"
    assert "will not be sent" not in operator.get("deliveries", JOB, query="?done=cancel").text


def test_how_a_suppression_stands_is_the_same_to_every_instance() -> None:
    bounced = {"reason": "bounce", "at": datetime.now(UTC), "event": "e1"}
    assert acts.as_it_stands(bounced) == acts.as_it_stands(dict(reversed(bounced.items())))
    assert acts.as_it_stands(bounced) != acts.as_it_stands(bounced | {"reason": "invalid"})
