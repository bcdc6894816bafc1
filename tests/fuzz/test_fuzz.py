"""Whatever comes in from outside: it is understood, or refused with an error of ours, and nothing else happens.

`make fuzz N=1000000` runs these, and the models, with as many examples; what it finds is kept here as an example.
"""

import json
import os
from typing import Any

import pytest
from email_validator import validate_email
from flask import Request
from hypothesis import example, given, settings
from hypothesis import strategies as st
from werkzeug.datastructures import Headers
from werkzeug.test import EnvironBuilder

from ledgermail.delivering.addresses import PLAIN, SPECIAL, usable_address
from ledgermail.delivering.content import link, one_line
from ledgermail.delivering.message import safe_name
from ledgermail.errors import InvalidDocument, InvalidId, NewerSchema
from ledgermail.events.events import parse, read_batch
from ledgermail.events.signature import SIGNATURE, TIMESTAMP, check
from ledgermail.ledger import ids
from ledgermail.ledger.delivery import from_document, to_document
from ledgermail.planning import schedules
from ledgermail.planning.page import read_matches
from ledgermail.web import Refused, answer, anybody, serve
from tests.samples import NOW, a_delivery, a_match

fuzzed = settings(max_examples=int(os.environ.get("FUZZ", "100")), deadline=None)
ANY_TEXT = st.text(st.characters(), max_size=300)  # lone surrogates, too
LEAF = st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    LEAF, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4), max_leaves=12
)
CRON = st.text("0123456789*/,-#L MONTUEjan?@", max_size=40)
ZONE = st.sampled_from(
    ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "..", "", "Europe", "/etc/passwd"]
)


@fuzzed
@given(user=ANY_TEXT, job=ANY_TEXT)
@example(user="a_b", job="c")
@example(user="a", job="b_c/..")
def test_an_id_is_a_document_id_and_tells_its_user_or_is_refused(user: str, job: str) -> None:
    try:
        made = ids.delivery_id(user, job)
    except InvalidId:
        return
    assert len(made.encode()) <= 1500
    assert "/" not in made
    assert made not in {".", ".."}
    assert ids.user_of(made) in {user, None}
    assert ids.task_name(made, 0).replace("-", "").isalnum()


@fuzzed
@given(address=ANY_TEXT | st.emails())
def test_an_address_can_stand_in_a_header_or_is_none(address: str) -> None:
    usable = usable_address(address)
    assert usable is None or (
        usable.isascii() and usable.isprintable() and usable.count("@") == 1 and " " not in usable
    )


@fuzzed
@given(address=st.from_regex(PLAIN, fullmatch=True).filter(lambda address: not address.endswith(SPECIAL)))
def test_what_needs_no_second_look_is_an_address_as_it_stands(address: str) -> None:
    assert validate_email(address, check_deliverability=False).ascii_email == address


@fuzzed
@given(text=ANY_TEXT)
@example(text="a\r\nBcc: all@example.com")
def test_a_name_or_a_title_is_one_line(text: str) -> None:
    for line in (one_line(text), safe_name(text)):
        assert not set(line) & set("\r\n\x00\x0b\x0c\x85\u2028\u2029")


@fuzzed
@given(
    url=ANYTHING | st.builds("{}:{}".format, st.sampled_from(["http", "javascript", " https", "//x", "data"]), ANY_TEXT)
)
@example(url="javascript:alert(1)")
@example(url="http://[::1")
def test_a_link_is_one_of_the_web_or_nothing(url: object) -> None:
    made = link(url)
    assert made == "" or made.lower().startswith(("http://", "https://"))
    assert " " not in made


@fuzzed
@given(line=CRON, zone=ZONE | ANY_TEXT)
def test_a_schedule_has_a_last_due_time_or_is_refused(line: str, zone: str) -> None:
    try:
        schedule = schedules.parse(f"{line} {zone}")
        due = schedules.last_due(schedule, NOW)
    except InvalidDocument:
        return
    assert due.at <= NOW


@fuzzed
@given(document=st.dictionaries(st.sampled_from([*a_match(), "other"]), ANYTHING))
def test_a_match_is_read_or_named_as_invalid(document: dict[str, Any]) -> None:
    matches, invalid = read_matches([("m1", a_match() | document)])
    assert len(matches) + len(invalid) == 1


@fuzzed
@given(changed=st.dictionaries(st.sampled_from(sorted(to_document(a_delivery()))), ANYTHING))
def test_a_delivery_is_read_or_refused_by_name(changed: dict[str, Any]) -> None:
    try:
        read = from_document("u1_j1", to_document(a_delivery()) | changed)
    except (InvalidDocument, NewerSchema):
        return
    assert read.id == "u1_j1"


@fuzzed
@given(raw=st.binary(max_size=400) | ANYTHING.map(lambda body: json.dumps(body).encode()))
def test_a_batch_of_events_is_counted_or_refused(raw: bytes) -> None:
    try:
        posted = parse(raw)
        batch = read_batch(posted)
    except InvalidDocument:
        return
    assert isinstance(posted, list)
    assert len(batch.events) + batch.counts.total() == len(posted)


@fuzzed
@given(raw=st.binary(max_size=200), signature=st.text(max_size=120), at=st.text(max_size=12))
@example(raw=b"\xff", signature="!!!", at=str(int(NOW.timestamp())))
@example(raw=b"[]", signature="MAA=", at=str(int(NOW.timestamp())))
def test_what_is_not_signed_is_refused(raw: bytes, signature: str, at: str) -> None:
    headers = Headers()
    headers[SIGNATURE], headers[TIMESTAMP] = (" ".join(value.split()) for value in (signature, at))
    with pytest.raises(Refused) as refused:
        check(raw, headers, [KEY], NOW)
    assert refused.value.status == 403


KEY = (
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEaxfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7Ltk"
    "BoN79R9Q=="
)


@fuzzed
@given(raw=st.binary(max_size=400) | ANYTHING.map(lambda body: json.dumps(body).encode()))
def test_a_request_is_answered_whatever_its_body_is(raw: bytes) -> None:
    request = Request(EnvironBuilder(method="POST", data=raw).get_environ())
    response = serve(request, methods=frozenset({"POST"}), guard=anybody, read=anybody, act=lambda _: answer({}))
    assert response.status_code in {200, 400}
