"""The provider's events: each read by itself, ranked, and never a reason to refuse the others."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledgermail.errors import InvalidDocument
from ledgermail.events.events import RANKS, fate, parse, read_batch, read_event
from ledgermail.events.suppression import Reason
from tests.samples import NOW, an_event

# https://www.twilio.com/docs/sendgrid/for-developers/tracking-events/event: deliverability and engagement events.
DOCUMENTED = {
    "processed",
    "dropped",
    "delivered",
    "deferred",
    "bounce",
    "open",
    "click",
    "spamreport",
    "unsubscribe",
    "group_unsubscribe",
    "group_resubscribe",
}


def test_the_rank_table_has_every_documented_event_and_only_those() -> None:
    assert set(RANKS) - {"blocked"} == DOCUMENTED
    assert len(set(RANKS.values())) == len(RANKS)


def test_an_event_is_read_with_our_argument_and_the_id_that_the_send_was_answered_with() -> None:
    event = read_event(an_event())
    assert event is not None
    assert (event.kind, event.delivery_id, event.reference) == ("delivered", "u1_j1", "m1")
    assert event.at == NOW


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"kind": "bounce", "type": "bounce", "status": "5.1.1"}, Reason.BOUNCE),
        ({"kind": "bounce"}, Reason.BOUNCE),
        ({"kind": "bounce", "type": "blocked"}, None),
        ({"kind": "bounce", "type": "bounce", "status": "4.4.7"}, None),
        ({"kind": "dropped", "reason": "Bounced Address"}, Reason.BOUNCE),
        ({"kind": "dropped", "reason": "Invalid"}, Reason.INVALID),
        ({"kind": "dropped", "reason": "Spam Reporting Address"}, Reason.SPAM_REPORT),
        ({"kind": "dropped", "reason": "Unsubscribed Address"}, Reason.UNSUBSCRIBE),
        ({"kind": "dropped", "reason": "Spam Content (if Spam Checker app enabled)"}, None),
        ({"kind": "dropped"}, None),
        ({"kind": "spamreport"}, Reason.SPAM_REPORT),
        ({"kind": "unsubscribe"}, Reason.UNSUBSCRIBE),
        ({"kind": "group_unsubscribe"}, Reason.UNSUBSCRIBE),
        ({"kind": "group_resubscribe"}, None),
        ({"kind": "deferred"}, None),
        ({"kind": "delivered"}, None),
    ],
)
def test_hard_bounces_and_complaints_suppress_and_what_is_of_the_moment_does_not(
    fields: dict[str, Any], reason: Reason | None
) -> None:
    event = read_event(an_event(**fields))
    assert event is not None
    assert (event.cause and event.cause.reason) == reason


@pytest.mark.parametrize(
    ("broken", "named"),
    [
        (an_event(timestamp=None), "timestamp"),
        (an_event(timestamp="soon"), "timestamp"),
        (an_event(timestamp=True), "timestamp"),
        (an_event(timestamp=1e300), "timestamp"),
        (an_event(timestamp=float("nan")), "timestamp"),
        (an_event(event=5), "event"),
        (an_event(event=None), "event"),
        (an_event(email=["x"]), "email"),
        (an_event(sg_message_id={}), "sg_message_id"),
        ("text", "event"),
        (None, "event"),
        ([], "event"),
    ],
)
def test_a_malformed_event_names_its_field_and_takes_no_other_with_it(broken: Any, named: str) -> None:
    with pytest.raises(InvalidDocument, match=f"^{named}: "):
        read_event(broken)
    batch = read_batch([an_event(), broken, an_event("open")])
    assert ([event.kind for event in batch.events], batch.counts) == (["delivered", "open"], {"malformed": 1})


@pytest.mark.parametrize("name", ["email", "sg_message_id", "sg_event_id", "reason", "type", "status", "delivery_id"])
def test_what_an_event_leaves_open_is_no_fault_of_it(name: str) -> None:
    assert read_batch([an_event("dropped") | {name: None}]).counts == {}


def test_an_event_of_a_kind_that_is_not_about_a_mail_is_counted_and_passed_over() -> None:
    batch = read_batch([{"event": "account_status_change", "timestamp": 1}, an_event("something_new")])
    assert (batch.events, batch.counts) == ((), {"not_ours": 2})


@pytest.mark.parametrize("delivery_id", [None, "", 5, "no-underscore", "u1_a/b", "../x_y", "u" * 2000 + "_j"])
def test_an_event_without_a_usable_delivery_id_is_kept_for_its_address(delivery_id: Any) -> None:
    event = read_event(an_event("bounce", delivery_id=delivery_id))
    assert event is not None
    assert (event.delivery_id, event.email) == (None, "u1@example.com")


@pytest.mark.parametrize("raw", [b"", b"{", b"\xff[]", b"[" * 100_000, b"{}", b"null", b'"x"'])
def test_a_body_that_is_no_list_of_events_is_refused_by_name(raw: bytes) -> None:
    with pytest.raises(InvalidDocument, match=r"^events: "):
        read_batch(parse(raw))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(
    st.lists(st.fixed_dictionaries({}, optional=dict.fromkeys([*an_event(), "type", "status", "reason"], JSON)) | JSON)
)
def test_whatever_is_posted_every_event_is_counted_once(posted: list[Any]) -> None:
    batch = read_batch(json.loads(json.dumps(posted)))
    assert len(batch.events) + batch.counts.total() == len(posted)


@given(st.permutations(sorted(RANKS)))
def test_how_far_a_mail_has_got_does_not_depend_on_the_order(kinds: list[str]) -> None:
    for count in range(1, len(kinds) + 1):
        assert fate(kinds[:count]) == max(kinds[:count], key=RANKS.__getitem__)
    assert fate([]) is None
    assert fate(["something_newer"]) is None
