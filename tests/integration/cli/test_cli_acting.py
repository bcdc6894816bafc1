"""The verbs that change something: none without a yes, each on record with who asked for it."""

import getpass
from datetime import UTC, datetime, timedelta

import pytest

from ledgermail.ledger.delivery import Status
from tests.integration.cli.conftest import Call, process
from tests.integration.conftest import Ground
from tests.integration.delivering import JOB, Post
from tests.samples import ENVIRONMENT, a_delivery, a_match, a_user


def acts(post: Post) -> list[tuple[str, str, str]]:
    return [(entry.who, entry.action, entry.note) for entry in post.app.operations.audits.newest()]


def environment(post: Post, **changes: str) -> dict[str, str]:
    return {**ENVIRONMENT, "LEDGERMAIL_PROJECT": post.app.settings.project, **changes}


def test_a_rejected_one_is_tried_again_and_accepted(post: Post, ground: Ground, call: Call) -> None:
    ground.match("m1", a_match())
    post.owe()
    post.inbox.fail_next("refuse")
    post.deliver()
    told = call("retry", JOB, "--yes", "--by", "ada", "--note", "mended")
    assert (told.code, told.out, told.err) == (0, f"retry: {JOB} is pending now\n", "")
    assert acts(post) == [("ada", "retry", "mended")]
    post.deliver()
    assert post.status() == "accepted"
    refused = call("retry", JOB, "--yes", "--json")
    assert (refused.code, refused.json["code"]) == (1, 1)
    assert refused.json["error"][0].startswith("accepted: only ")


def test_without_a_yes_nothing_is_changed_and_the_question_says_what_it_is_about(post: Post, call: Call) -> None:
    post.owe()
    asked = process("cancel", JOB, "--json", stdin="n\n", **environment(post))
    assert (asked.code, asked.json["error"]) == (5, ["not confirmed: nothing was changed"])
    assert 'Not yet: "Job alert" about j1 for u1' in asked.err
    assert process("cancel", JOB, **environment(post)).code == 5  # nobody there to answer
    assert (post.status(), acts(post)) == ("pending", [])
    assert process("cancel", JOB, stdin="y\n", **environment(post)).code == 0
    assert post.status() == "cancelled"
    assert acts(post) == [(getpass.getuser(), "cancel", "")]


def test_one_of_which_nobody_knew_is_settled(post: Post, call: Call) -> None:
    post.owe()
    post.inbox.fail_next("cut")
    post.deliver()
    assert call("settle", JOB, "-y", "--by", "ada", "--json").json["status"] == "accepted"
    assert "has arrived, as ada said on" in call("why", "u1", "j1").out


def test_what_is_not_there_is_not_acted_on(post: Post, call: Call) -> None:
    assert call("cancel", "u1_gone", "--yes").code == 1
    assert call("cancel", "u1_gone").code == 1
    assert [call("cancel", "no id", *yes).code for yes in ([], ["--yes"])] == [2, 2]


@pytest.mark.parametrize("by", ["", " "])
def test_nobody_is_not_put_on_record(by: str, post: Post, call: Call) -> None:
    refused = call("pause", "--yes", "--by", by, "--json")
    assert (refused.code, acts(post)) == (2, [])
    assert "'--by'" in refused.json["error"][0]


def test_mail_is_held_back_and_let_go_again(post: Post, call: Call) -> None:
    assert call("pause", "-y").out == "pause: mail is held back now\n"
    assert call("pause", "-y").out == "pause: mail is held back already\n"
    assert "paused by an operator" in call("status").out
    assert call("resume", "-y", "--json").json["news"] is True
    assert call("resume").code == 5


def test_who_is_suppressed_is_listed_and_may_be_mailed_again(post: Post, ground: Ground, call: Call) -> None:
    suppressed = {"reason": "bounce", "at": datetime.now(UTC), "event": "e1", "address": "u1@example.com"}
    ground.user("u1", a_user(suppressed=suppressed))
    assert call("suppressions").out.splitlines()[1].split()[:2] == ["u1", "bounce"]
    assert call("suppressions", "--json").json["suppressions"][0]["user_id"] == "u1"
    assert call("lift", "u1").code == 5
    assert call("lift", "u1", "-y", "--by", "ada").out == "lift: u1 may be mailed again; it was bounce\n"
    assert call("lift", "u1", "-y").code == 1
    assert call("suppressions", "--json").json == {"suppressions": []}
    assert call("suppressions").out == "nobody is suppressed\n"


@pytest.mark.parametrize("dry", [True, False])
def test_what_is_past_its_retention_goes_and_a_dry_run_only_counts(
    dry: bool, post: Post, ground: Ground, call: Call
) -> None:
    long_ago = datetime.now(UTC) - timedelta(days=1)
    kept = a_delivery(Status.ACCEPTED, id="u1_kept", prune_at=long_ago + timedelta(days=9))
    ground.put([a_delivery(Status.ACCEPTED, prune_at=long_ago), kept])
    assert call("prune").code == 5
    assert set(ground.deliveries()) == {JOB, "u1_kept"}
    told = call("prune", *(["--dry-run"] if dry else ["--yes"]), "--json")
    assert told.json["counts"] == [{"mailing": "job-alert", "status": "accepted", "count": 1}]
    assert told.json["deleted"] == (0 if dry else 1)
    assert set(ground.deliveries()) == ({JOB, "u1_kept"} if dry else {"u1_kept"})


@pytest.mark.parametrize("verb", ["retry", "cancel", "settle"])
def test_what_can_be_no_deliverys_id_is_an_argument_at_fault_and_not_a_ledger_away(verb: str, call: Call) -> None:
    for name in ("", "..", "__x__", "a" * 1_600):
        assert call(verb, name, "--yes").code == 2
