"""`ledgermail why` has an answer to whatever became of a mail, and of what never was one."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ledgermail.ledger import ids
from ledgermail.ledger.delivery import Failure, Status
from tests.integration.cli.conftest import Call
from tests.integration.delivering import JOB, Post, owed
from tests.samples import a_match, a_user

DAY = timedelta(days=1)
Become = Callable[[Post], None]


def accepted(post: Post) -> None:
    post.owe()
    post.deliver()


def with_event(kind: str) -> Become:
    def told(post: Post) -> None:
        accepted(post)
        post.change(events={kind: datetime.now(UTC)})

    return told


def suppressed(post: Post) -> None:
    post.owe()
    post.ground.user("u1", a_user(suppressed={"reason": "spam_report", "at": datetime.now(UTC)}))
    post.deliver()


def unsubscribed(post: Post) -> None:
    post.owe()
    post.ground.user("u1", a_user(mailings={"job-alert": {"active": False}}))
    post.deliver()


def empty(post: Post) -> None:
    post.owe(content=None)  # one that was opened again: its job is read anew, and its match is gone
    post.deliver()


def not_matched(post: Post) -> None:
    post.ground.user("u1", a_user())


def too_old(post: Post) -> None:
    not_matched(post)
    post.ground.match("m1", a_match(matched_at=datetime.now(UTC) - 5 * DAY))


def not_yet_due(post: Post) -> None:
    post.owe(due_at=datetime.now(UTC) + DAY)


def retrying(post: Post) -> None:
    post.owe()
    post.inbox.fail_next("unavailable")
    post.deliver()


def unknown(post: Post) -> None:
    post.owe()
    post.inbox.fail_next("cut")
    post.deliver()


def expired(post: Post) -> None:
    busy = Failure(category="transient", code="503")
    post.owe(
        due_at=datetime.now(UTC) - 9 * DAY, first_attempt_at=datetime.now(UTC) - 8 * DAY, attempt=9, last_error=busy
    )
    post.deliver()


def cancelled(post: Post) -> None:
    post.owe()
    post.app.operations.cancel(JOB, by="ada")


BECAME: dict[str, tuple[Become, str]] = {
    "accepted": (accepted, "Probably: "),
    "delivered": (with_event("delivered"), "Yes: "),
    "bounced": (with_event("bounce"), "No: "),
    "suppressed": (suppressed, "No: "),
    "unsubscribed": (unsubscribed, "No: "),
    "empty": (empty, "No: "),
    "not_matched": (not_matched, "No: "),
    "too_old": (too_old, "No: "),
    "not_yet_due": (not_yet_due, "Not yet: "),
    "retrying": (retrying, "Not yet: "),
    "unknown": (unknown, "Nobody knows: "),
    "expired": (expired, "No: "),
    "cancelled": (cancelled, "No: "),
}


@pytest.mark.parametrize("why", BECAME)
def test_whatever_became_of_it_has_an_answer(why: str, post: Post, call: Call) -> None:
    become, answer = BECAME[why]
    become(post)
    told = call("why", "u1", "j1", "--json")
    assert (told.json["why"], told.err) == (why, "")
    assert told.json["sentence"].startswith(answer)
    assert told.code == (0 if told.json["delivery"] else 1)
    assert call("why", "u1@example.com", "j1").out.splitlines()[0] == told.json["sentence"]


def test_a_mail_to_come_says_what_speaks_against_it(post: Post, call: Call) -> None:
    not_yet_due(post)
    post.ground.user("u1", a_user(suppressed={"reason": "bounce", "at": datetime.now(UTC)}))
    said = "as things are it will not be sent: the recipient must not be mailed: mail to the address had bounced."
    assert call("why", "u1", "j1").out.splitlines()[0].endswith(said)


def test_what_can_be_no_subject_is_a_wrong_argument(call: Call) -> None:
    """As an id that can be none is one of `retry`."""
    told = call("why", "u1", "", "--json")
    assert (told.code, told.json["why"]) == (2, "not_a_subject")
    assert (call("why", "u1", "").code, call("retry", "nosuch", "--yes").code) == (2, 2)


def test_what_was_pruned_is_said_to_be_forgotten(post: Post, call: Call) -> None:
    long_ago = datetime.now(UTC) - 100 * DAY
    day = f"daily-digest:{long_ago.date().isoformat()}"
    period: dict[str, Any] = {"mailing": "daily-digest", "run_key": f"{day}:~default", "period_end": long_ago}
    kept = owed("j1", Status.ACCEPTED, prune_at=datetime.now(UTC) - DAY, **period)
    post.ground.user("u1", a_user(mailings={"daily-digest": {"active": True}}))
    post.ground.delivery(replace(kept, id=ids.run_delivery_id("u1", day), subject=day))
    assert call("why", "u1", day, "--json").json["why"] == "accepted"
    assert call("prune", "--yes", "--json").json["deleted"] == 1
    told = call("why", "u1", day, "--json")
    assert (told.code, told.json["why"]) == (1, "pruned")
    assert "what became of it is kept for 90 days, and then pruned" in told.json["sentence"]
