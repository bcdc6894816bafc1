"""Planning by itself: matches in, what they owe out; no Firestore, no clock."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from google.cloud.firestore import GeoPoint

from ledgermail.ledger import ids
from ledgermail.ledger.delivery import Guarantee, Status
from ledgermail.planning.page import (
    JOB_CHARS,
    JOB_DEPTH,
    Match,
    Page,
    content_hash,
    owners,
    plan_page,
    read_matches,
)
from ledgermail.preferences.chosen import wants
from tests.samples import NOW, a_mailing, a_match, a_user

MAILING = a_mailing()
YES: dict[str, dict[str, Any]] = {"u1": a_user(), "u2": a_user()}


def read(*documents: dict[str, Any]) -> list[Match]:
    matches, invalid = read_matches([(f"m{number}", document) for number, document in enumerate(documents)])
    assert invalid == []
    return matches


def plan(*documents: dict[str, Any], users: dict[str, dict[str, Any]] | None = None) -> Page:
    return plan_page(MAILING, read(*documents), YES if users is None else users, now=NOW, shards=4)


def problem_of(document: dict[str, Any]) -> str:
    matches, ((match_id, problem),) = read_matches([("m1", document)])
    assert (matches, match_id) == ([], "m1")
    return problem


def nested(depth: int) -> object:
    value: object = "x"
    for level in range(depth):
        value = [value] if level % 2 else {"in": value}
    return value


def test_a_planned_delivery_is_pending_and_holds_the_job_as_it_was_matched() -> None:
    (delivery,) = plan(a_match()).deliveries
    assert (delivery.id, delivery.status, delivery.guarantee) == ("u1_j1", Status.PENDING, Guarantee.AT_MOST_ONCE)
    assert (delivery.due_at, delivery.created_at, delivery.run_key) == (NOW, NOW, "job-alert:2026-08-16")
    assert delivery.wake_at == NOW + MAILING.policy.slack
    assert delivery.shard == ids.shard_of(delivery.id, 4)
    assert delivery.content is not None
    assert delivery.content.items == ({**a_match()["job"], "job_id": "j1"},)
    assert delivery.content.hash == content_hash(delivery.content.items)


def test_the_job_cannot_name_another_job_than_its_match() -> None:
    (delivery,) = plan(a_match(job={"title": "x", "job_id": "another"})).deliveries
    assert delivery.content is not None
    assert delivery.content.items is not None
    assert delivery.content.items[0]["job_id"] == "j1"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"job": None}, "job.title:"),
        ({"job": ["x"]}, "job.title:"),
        ({"job": {"title": " \n"}}, "job.title:"),
        ({"job": {"title": 7}}, "job.title:"),
        ({"job": {"title": "x", "photo": b"\0"}}, "job: a bytes"),
        ({"job": {"title": "x", "place": GeoPoint(1, 2)}}, "job: a GeoPoint"),
        ({"job": {"title": "x" * JOB_CHARS}}, "job: is larger than"),
        ({"job": {"title": "x", "in": nested(JOB_DEPTH)}}, "job: has maps or lists"),
        ({"user_id": None}, "user_id: must be text"),
        ({"user_id": ""}, "user_id: is empty"),
        ({"user_id": "a/b"}, "user_id: cannot be"),
        ({"user_id": "__x__"}, "user_id: cannot be"),
        ({"user_id": "é" * 701}, "user_id: is longer than 1400 bytes"),
        ({"user_id": "\ud800"}, "user_id: has a lone surrogate"),
        ({"job_id": 7}, "job_id: must be text"),
        ({"job_id": ""}, "job_id: is empty"),
        ({"job_id": "x" * JOB_CHARS}, "job: is larger than"),
    ],
)
def test_what_is_no_match_is_refused_by_field(changes: dict[str, Any], problem: str) -> None:
    assert problem_of(a_match(**changes)).startswith(problem)


@pytest.mark.parametrize("name", ["job", "user_id", "job_id"])
def test_what_is_missing_is_refused_by_field(name: str) -> None:
    document = a_match()
    del document[name]
    assert problem_of(document).startswith(name)


def test_a_job_may_hold_whatever_a_mail_can_show() -> None:
    job = {"title": "Ingénieur", "at": NOW, "tags": ["a", None, 1.5, True], "in": nested(JOB_DEPTH - 1)}
    (match,) = read(a_match(job=job, user_id="é" * 700))
    assert match.job == job


def test_one_that_is_none_hides_no_other() -> None:
    matches, invalid = read_matches([("a", {}), ("b", a_match()), ("c", a_match(job={}))])
    assert [match.id for match in matches] == ["b"]
    assert [match_id for match_id, _ in invalid] == ["a", "c"]


def test_one_job_for_one_user_is_owed_once_however_often_it_was_matched() -> None:
    page = plan(a_match(), a_match(job={"title": "edited"}), a_match(job_id="j2"), a_match(user_id="u2"))
    assert [delivery.id for delivery in page.deliveries] == ["u1_j1", "u1_j2", "u2_j1"]
    assert page.counts == {"duplicates": 1}
    assert page.deliveries[0].content is not None
    assert page.deliveries[0].content.items is not None
    assert page.deliveries[0].content.items[0]["title"] == "Data Engineer"


def test_what_is_older_than_max_age_is_not_owed() -> None:
    oldest = NOW - MAILING.max_age
    page = plan(a_match(matched_at=oldest), a_match(job_id="j2", matched_at=oldest - timedelta(microseconds=1)))
    assert ([delivery.id for delivery in page.deliveries], page.counts) == (["u1_j1"], {"too_old": 1})


def test_who_does_not_want_it_is_not_owed_and_who_is_not_there_is() -> None:
    users = {"u1": a_user(mailings={"job-alert": {"active": False}})}
    page = plan(a_match(), a_match(user_id="nobody"), users=users)
    assert ([delivery.id for delivery in page.deliveries], page.counts) == (["nobody_j1"], {"not_wanted": 1})


def test_who_is_suppressed_is_planned_so_that_the_ledger_says_why_no_mail_went() -> None:
    assert len(plan(a_match(), users={"u1": a_user(suppressed={"reason": "bounce"})}).deliveries) == 1


def test_planning_needs_each_owner_once_and_none_of_what_is_too_old() -> None:
    old = a_match(user_id="u3", matched_at=NOW - timedelta(seconds=1))
    assert owners(read(a_match(), a_match(user_id="u2"), a_match(job_id="j2"), old), NOW) == ["u1", "u2"]


def test_a_page_without_what_exists_counts_it() -> None:
    page = plan(a_match(), a_match(), a_match(job_id="j2")).without({"u1_j1", "other"})
    assert ([delivery.id for delivery in page.deliveries], page.counts) == (["u1_j2"], {"duplicates": 2})


def test_equal_items_have_one_hash_however_they_were_written() -> None:
    there = {"title": "x", "tags": ["a", "b"], "at": datetime(2026, 8, 16, tzinfo=UTC)}
    assert content_hash([there]) == content_hash((dict(reversed(there.items())),))
    assert content_hash([there]) != content_hash([{**there, "tags": ["b", "a"]}])


@pytest.mark.parametrize(
    ("user", "wanted"),
    [
        (a_user(), True),
        (a_user(mailings={"job-alert": {"active": 1}}), False),
        (a_user(mailings={"job-alert": True}), False),
        (a_user(mailings={"job-alert": {}}), False),
        (a_user(mailings={}), False),
        (a_user(mailings=["job-alert"]), False),
        ({}, False),
        (None, False),
    ],
)
def test_a_mailing_is_wanted_only_where_the_user_says_so(user: dict[str, Any] | None, wanted: bool) -> None:
    assert wants(user, "job-alert") is wanted
