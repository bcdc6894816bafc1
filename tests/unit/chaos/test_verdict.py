"""The verdict on a chaos: what breaks the promise, by guarantee, from what is owed, on record and at the provider."""

from dataclasses import replace

import pytest

from emulator.chaos.verdict import Verdict, judge
from emulator.chaos.watch import History, Seen
from emulator.demo.scene import Scene
from ledgermail.ledger.delivery import Guarantee

ONCE, AGAIN = Guarantee.AT_MOST_ONCE, Guarantee.AT_LEAST_ONCE
ALERT = Seen(mailing="job-alert", guarantee=ONCE, run_key="r", status="accepted", sent=True)
DIGEST = replace(ALERT, mailing="daily-digest", guarantee=AGAIN)


def verdict(
    alert: Seen, digest: Seen, mails: int, *, events: bool = False, found: dict[str, str] | None = None
) -> bool:
    """Whether the promise was kept where each of two deliveries was mailed so often."""
    scene = Scene(
        users={}, matches={}, reports={}, owed={"job-alert": {"a"}, "daily-digest": {"d"}}, leaving=[], joining={}
    )
    history = History(deliveries={"a": alert, "d": digest})
    there = {"a": alert.status, "d": digest.status} if found is None else found
    judged: list[Verdict] = judge(scene, history, there, {"a": mails, "d": mails} if mails else {}, events)
    return all(one.kept for one in judged)


def test_one_mail_each_is_the_promise() -> None:
    assert verdict(ALERT, DIGEST, 1)
    assert verdict(ALERT, DIGEST, 1, events=True)


def test_two_mails_are_allowed_for_a_digest_alone_that_was_in_doubt_and_not_where_events_settle_that() -> None:
    doubted = replace(DIGEST, doubts=1)
    once = replace(ALERT, status="suppressed")
    assert not verdict(ALERT, doubted, 2)
    for events, kept in ((False, True), (True, False)):
        scene = Scene(users={}, matches={}, reports={}, owed={"m": {"a", "d"}}, leaving=[], joining={})
        history = History(deliveries={"a": once, "d": doubted})
        judged = judge(scene, history, {"a": "suppressed", "d": "accepted"}, {"d": 2}, events)
        assert all(one.kept for one in judged) is kept


@pytest.mark.parametrize("status", ["pending", "in_flight"])
def test_what_has_not_ended_is_lost(status: str) -> None:
    assert not verdict(replace(ALERT, status=status), DIGEST, 1)


def test_what_is_not_in_the_ledger_or_there_otherwise_is_lost() -> None:
    assert not verdict(ALERT, DIGEST, 1, found={"a": "accepted"})
    assert not verdict(ALERT, DIGEST, 1, found={"a": "accepted", "d": "pending"})
    assert not verdict(replace(ALERT, pruned=True), DIGEST, 1)


def test_what_is_accepted_was_mailed() -> None:
    assert not verdict(ALERT, DIGEST, 0)


def test_an_alert_that_was_mailed_is_not_said_not_to_be() -> None:
    assert not verdict(replace(ALERT, status="rejected"), DIGEST, 1)
    assert verdict(replace(ALERT, status="unknown"), DIGEST, 1)
    assert not verdict(replace(ALERT, status="unknown"), DIGEST, 1, events=True)
