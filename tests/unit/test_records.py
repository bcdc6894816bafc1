"""A line to import: read as the document that it becomes, or refused by its field."""

import io
import json
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledgermail.cli.lines import LINE_BYTES, lines
from ledgermail.cli.records import Kind, Record, read_record
from ledgermail.errors import InvalidDocument
from tests.unit.digests import SHIPPED

USER = {"user_id": "u1", "email": "u1@example.com"}
MATCH = {"user_id": "u1", "job_id": "acme-1", "job": {"title": "Cook"}}
REPORT = {"topic": "school", "version": "v1", "rows": [{"a": 1}]}
GOOD: dict[Kind, dict[str, Any]] = {Kind.USERS: USER, Kind.MATCHES: MATCH, Kind.REPORTS: REPORT}


def read(kind: Kind, fields: object) -> Record:
    return read_record(kind, json.dumps(fields).encode(), SHIPPED)


def test_a_user_is_written_with_what_the_line_says_and_no_more() -> None:
    chosen = {"active": True, "schedule": "0 8 * * 1 Europe/Berlin", "since": "2026-08-16T08:00:00Z", "topics": ["a"]}
    record = read(Kind.USERS, USER | {"timezone": "Europe/Berlin", "mailings": {"daily-digest": chosen}})
    assert record.path == ("users", "u1")
    assert record.document["mailings"]["daily-digest"] == chosen | {"since": datetime(2026, 8, 16, 8, tzinfo=UTC)}
    assert "user_id" not in record.document
    assert "mailings" not in read(Kind.USERS, USER | {"mailings": {}}).document


def test_whoever_must_not_be_mailed_or_has_come_back_is_taken_over_from_the_system_before() -> None:
    """All fields of the README's table: an adopter brings the unsubscribed with them above all."""
    suppressed = {"reason": "unsubscribed at our old provider", "at": "2026-08-16T10:00:00+02:00"}
    chosen = {"active": True, "resumed_at": "2026-08-16T08:00:00Z"}
    record = read(Kind.USERS, USER | {"suppressed": suppressed, "mailings": {"daily-digest": chosen}})
    at = datetime(2026, 8, 16, 8, tzinfo=UTC)
    assert record.document["suppressed"] == suppressed | {"at": at}
    assert record.document["mailings"]["daily-digest"]["resumed_at"] == at
    assert read(Kind.USERS, USER | {"webhook_secret": f"whsec_{'A' * 32}"}).document["webhook_secret"]


def test_a_match_has_an_id_of_its_user_and_job_and_the_time_of_writing_unless_it_says_another() -> None:
    record = read(Kind.MATCHES, MATCH)
    assert (record.path, record.stamped) == (("matches", "u1_acme-1"), "matched_at")
    named = read(Kind.MATCHES, MATCH | {"match_id": "m1", "matched_at": "2026-08-16T10:00:00+02:00"})
    assert (named.path, named.stamped) == (("matches", "m1"), "")
    assert named.document["matched_at"] == datetime(2026, 8, 16, 8, tzinfo=UTC)


def test_a_report_is_a_version_of_its_topic() -> None:
    record = read(Kind.REPORTS, REPORT | {"columns": ["a"]})
    assert (record.path, record.stamped) == (("reports", "school", "versions", "v1"), "published_at")


WRONG = [
    (Kind.USERS, {"email": "none"}, "email: must be an address"),
    (Kind.USERS, {"email": 3}, "email: must be an address"),
    (Kind.USERS, {"user_id": "a/b"}, "user_id: cannot be a document id"),
    (Kind.USERS, {"user_id": ""}, "user_id: must be text, and not empty"),
    (Kind.USERS, {"timezone": "Mars/Base"}, "timezone: is not known: 'Mars/Base'"),
    (Kind.USERS, {"name": 5}, "name: must be text"),
    (Kind.USERS, {"mail": "x"}, "mail: is not known; there are user_id, email"),
    (Kind.USERS, {"webhook_url": "javascript:alert(1)"}, "webhook_url: must be an http(s) address"),
    (Kind.USERS, {"webhook_secret": "sesame"}, "webhook_secret: is not whsec_ and 24 to 64 bytes in base64"),
    (Kind.USERS, {"suppressed": True}, "suppressed: must be a map"),
    (Kind.USERS, {"suppressed": {"at": "2026-08-16T08:00:00Z"}}, "suppressed.reason: must be text, and not empty"),
    (Kind.USERS, {"suppressed": {"reason": "asked"}}, "suppressed.at: must be a time in ISO 8601"),
    (Kind.USERS, {"suppressed": {"reason": "asked", "on": "x"}}, "suppressed.on: is not known; there are reason, at"),
    (Kind.USERS, {"mailings": []}, "mailings: must be a map"),
    (Kind.USERS, {"mailings": {"daily": {}}}, "mailings.daily: there is no such mailing; there are "),
    (Kind.USERS, {"mailings": {"job-alert": True}}, "mailings.job-alert: must be a map"),
    (Kind.USERS, {"mailings": {"job-alert": {}}}, "mailings.job-alert.active: must be true or false"),
    (Kind.USERS, {"mailings": {"job-alert": {"active": 1}}}, "mailings.job-alert.active: must be true or false"),
    (Kind.USERS, {"mailings": {"daily-digest": {"active": True, "schedule": "8"}}}, "mailings.daily-digest.schedule: must"),
    (Kind.USERS, {"mailings": {"daily-digest": {"active": True, "topics": [""]}}}, "mailings.daily-digest.topics: must be"),
    (Kind.USERS, {"mailings": {"job-alert": {"active": True, "topics": ["a/b"]}}}, "mailings.job-alert.topics: cannot be"),
    (Kind.USERS, {"mailings": {"job-alert": {"active": True, "resumed_at": "x"}}}, "mailings.job-alert.resumed_at: must be"),
    (Kind.USERS, {"mailings": {"job-alert": {"active": True, "since": "now"}}}, "mailings.job-alert.since: must be a time"),
    (Kind.MATCHES, {"job": {}}, "job.title: must be text"),
    (Kind.MATCHES, {"user_id": "a/b"}, "user_id: cannot be a document id"),
    (Kind.MATCHES, {"job_id": ""}, "job_id: is empty"),
    (Kind.MATCHES, {"matched_at": "2026-08-16T10:00:00"}, "matched_at: has no time zone"),
    (Kind.MATCHES, {"matched_at": "0001-01-01T00:00:00+14:00"}, "matched_at: is in no year from 1 to 9999 of UTC"),
    (Kind.MATCHES, {"matched_at": "9999-12-31T23:59:59-14:00"}, "matched_at: is in no year from 1 to 9999 of UTC"),
    (Kind.MATCHES, {"match_id": ".."}, "match_id: cannot be a document's id"),
    (Kind.MATCHES, {"job": {"title": "x", "salary": 2**63}}, "job.salary: is a whole number of more than 64 bits"),
    (Kind.MATCHES, {"job": {"title": "x", "": 1}}, "job.'': cannot be the name of a field"),
    (Kind.MATCHES, {"job": {"title": "x", "n" * 1_501: 1}}, "job.'nnnnnnnnnnnnnnnnnnnn'...: is longer than the name"),
    (Kind.MATCHES, {"job": {"title": "x", "rows": [[1]]}}, "job.rows[0]: is a list in a list"),
    (Kind.MATCHES, {"job": {"title": "x", "rows": [{"a": [{"b": 2**63}]}]}}, "job.rows[0].a[0].b: is a whole number"),
    (Kind.MATCHES, {"user_id": None}, "user_id: must be text, not null"),
    (Kind.MATCHES, {"job_id": {}}, "job_id: must be text, not map"),
    (Kind.REPORTS, {"rows": {}}, "rows: must be a list of maps"),
    (Kind.REPORTS, {"rows": [1]}, "rows: must be a list of maps"),
    (Kind.REPORTS, {"columns": "a"}, "columns: must be a list of text"),
    (Kind.REPORTS, {"topic": "a/b"}, "topic: cannot be a document's id"),
    (Kind.REPORTS, {"version": 1}, "version: must be text"),
    (Kind.REPORTS, {"rows": [{"a": "\ud800"}]}, "rows[0].a: has a lone surrogate"),
    (Kind.REPORTS, {"rows": [{"a": 1}] * 100_001}, "takes 1000015 bytes in Firestore, and a document may have 1000000"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "change", "problem"), WRONG)
def test_what_cannot_be_a_document_is_refused_by_its_field(kind: Kind, change: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidDocument) as refused:
        read(kind, GOOD[kind] | change)
    assert str(refused.value).startswith(problem)


@pytest.mark.parametrize("line", [b"{", b"\xff", b"[1]", b'{"a": NaN}', b"[" * 100_000, b"null", b"1" * 5_000])
def test_what_is_no_json_object_is_refused(line: bytes) -> None:
    with pytest.raises(InvalidDocument, match=r"is no JSON|must be a JSON object|is too deep"):
        read_record(Kind.USERS, line, SHIPPED)


def test_a_posting_is_told_apart_from_a_match() -> None:
    posting = {"job_id": "j1", "title": "Cook", "company": "Acme", "url": "https://jobs.example.com/1"}
    with pytest.raises(
        InvalidDocument, match="is a posting of a job, and not a match: a match says whom the job is for"
    ):
        read(Kind.MATCHES, posting)


@given(st.binary(max_size=60), st.sampled_from(Kind))
def test_whatever_a_line_holds_it_is_read_or_refused(line: bytes, kind: Kind) -> None:
    with suppress(InvalidDocument):
        assert read_record(kind, line, SHIPPED).path


def test_lines_are_numbered_as_an_editor_numbers_them_and_blank_ones_left_out() -> None:
    found = list(lines(io.BytesIO(b"a\n\n  \nb\r\nc")))
    assert [(line.number, (line.text or b"").strip(), line.end) for line in found] == [
        (1, b"a", 2),
        (4, b"b", 9),
        (5, b"c", 10),
    ]


def test_of_a_line_that_is_too_long_nothing_is_kept_and_the_next_one_is_read() -> None:
    file = io.BytesIO(b"x" * (3 * LINE_BYTES) + b"\n" + b"y\n" + b"z" * LINE_BYTES)
    assert [(line.number, line.text and len(line.text)) for line in lines(file)] == [(1, None), (2, 2), (3, LINE_BYTES)]
