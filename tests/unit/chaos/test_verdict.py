"""The verdict on a chaos: what breaks the promise, by guarantee, from what is owed, on record and at the provider."""

from collections import Counter
from dataclasses import replace
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from emulator.chaos.play import Played
from emulator.chaos.points import POINTS
from emulator.chaos.verdict import Outside, judge, show
from emulator.chaos.watch import History, Seen
from emulator.demo.scene import Scene
from ledgermail.ledger.delivery import Guarantee

ONCE, AGAIN = Guarantee.AT_MOST_ONCE, Guarantee.AT_LEAST_ONCE
ALERT = Seen(mailing="job-alert", guarantee=ONCE, run_key="r", status="accepted", sent=True)
DIGEST = replace(ALERT, mailing="daily-digest", guarantee=AGAIN)
SUPPRESSED = replace(ALERT, status="suppressed", sent=False)


def verdict(alert: Seen, digest: Seen, mails: int, **others: Any) -> bool:
    """Whether the promise was kept where each of two deliveries was mailed so often."""
    there = {"a": alert.status, "d": digest.status}
    return kept(alert, digest, {"a": mails, "d": mails} if mails else {}, **{"found": there, **others})


def kept(alert: Seen, digest: Seen, mailed: dict[str, int], **others: Any) -> bool:
    """Whether the promise was kept where the two deliveries that were owed came to this."""
    scene = Scene(
        users={}, matches={}, reports={}, owed={"job-alert": {"a"}, "daily-digest": {"d"}}, leaving=[], joining={}
    )
    judged = judge(scene, History(deliveries={"a": alert, "d": digest}), Outside(mailed=mailed, **others))
    return all(one.kept for one in judged)


def test_one_mail_each_is_the_promise() -> None:
    assert verdict(ALERT, DIGEST, 1)
    assert verdict(ALERT, DIGEST, 1, events=True)


def test_two_mails_are_allowed_for_a_digest_alone_that_was_in_doubt_and_not_where_events_settle_that() -> None:
    doubted = replace(DIGEST, doubts=1)
    found = {"a": "suppressed", "d": "accepted"}
    assert not verdict(ALERT, doubted, 2)
    assert kept(SUPPRESSED, doubted, {"d": 2}, found=found)
    assert not kept(SUPPRESSED, doubted, {"d": 2}, found=found, events=True)


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
    unknown = replace(ALERT, status="unknown", doubts=1)
    assert verdict(unknown, DIGEST, 1)
    assert not verdict(unknown, DIGEST, 1, events=True)


@pytest.mark.parametrize("status", ["expired", "cancelled"])
def test_nothing_ends_that_nobody_has_ended(status: str) -> None:
    assert not verdict(replace(SUPPRESSED, status=status), replace(SUPPRESSED, guarantee=AGAIN), 0)


def test_only_an_alert_ends_as_unknown_and_only_after_a_doubt() -> None:
    digest = replace(SUPPRESSED, guarantee=AGAIN)
    assert verdict(replace(SUPPRESSED, status="unknown", doubts=1), digest, 0, events=True)
    assert not verdict(replace(SUPPRESSED, status="unknown"), digest, 0, events=True)
    assert not verdict(SUPPRESSED, replace(digest, status="unknown", doubts=1), 0, events=True)


def test_no_more_is_rejected_than_the_provider_has_refused() -> None:
    both = replace(SUPPRESSED, status="rejected"), replace(SUPPRESSED, status="rejected", guarantee=AGAIN)
    assert verdict(*both, 0, refused=2)
    assert not verdict(*both, 0, refused=1)


def test_a_webhook_that_is_on_record_was_received() -> None:
    told = replace(DIGEST, told=True)
    assert verdict(ALERT, told, 1, told={"d:accepted"})
    assert not verdict(ALERT, told, 1, told={"a:accepted"})


def test_a_point_counts_once_wherever_around_it_somebody_died_and_those_where_nobody_did_are_named() -> None:
    console = Console(record=True, width=400, file=StringIO())
    kills = Counter({"claim before": 3, "claim after": 1, "send during": 1})
    show([], History(), Played(), kills, console)
    shown = console.export_text()
    assert f"5 at 2 of {len(POINTS)} crash points" in shown
    (spared,) = [line for line in shown.splitlines() if line.startswith("Nobody died at: ")]
    assert set(spared.removeprefix("Nobody died at: ").rstrip(".").split(", ")) == {
        point.name for point in POINTS if point.name not in {"claim", "send"}
    }
