"""What a customer is told, and what its answer means."""

import base64
import json
from dataclasses import replace
from datetime import timedelta, timezone

import pytest

from ledgermail.delivering.outcomes import Kind, Rejected
from ledgermail.ledger.delivery import Delivery, Stage, Status, from_document, to_document
from ledgermail.ledger.transitions import EMAIL
from ledgermail.webhooks.webhook import BAD_SECRET, body, event_id, kind_of_status
from tests.samples import NOW, a_delivery, telling

TOLD = a_delivery(Status.IN_FLIGHT, stages={EMAIL: Stage(at=NOW, reference="m1")})
KEY = base64.b64encode(bytes(range(32))).decode()


def those_that_are(kind: Kind) -> set[int]:
    return {status for status in range(100, 600) if kind_of_status(status) is kind}


def test_any_2xx_is_acceptance_and_nothing_else_is() -> None:
    assert those_that_are(Kind.ACCEPTED) == set(range(200, 300))


def test_a_refusal_about_the_moment_and_any_trouble_of_the_server_is_tried_again() -> None:
    assert those_that_are(Kind.TRANSIENT) == {408, 425, 429, *range(500, 600)}


def test_any_other_answer_is_final() -> None:
    every_other = {*range(100, 200), *range(300, 500)} - {408, 425, 429}
    assert those_that_are(Kind.REJECTED) == every_other >= {302, 400, 401, 404, 410}


def test_what_is_told_names_the_delivery_and_nobody() -> None:
    assert json.loads(body(TOLD)) == {
        "type": "delivery.accepted",
        "delivery_id": "u1_j1",
        "mailing": "job-alert",
        "run_key": "job-alert:2026-08-16",
        "subject": "j1",
        "accepted_at": "2026-08-16T09:30:00.000+00:00",
        "reference": "m1",
    }


@pytest.mark.parametrize(
    "later",
    [
        TOLD.changed(attempt=7, generation=9, claim_id="c9"),
        TOLD.changed(stages={EMAIL: Stage(at=NOW.astimezone(timezone(timedelta(hours=5))), reference="m1")}),
        TOLD.changed(stages={EMAIL: Stage(at=NOW + timedelta(microseconds=7), reference="m1")}),
        from_document(TOLD.id, to_document(TOLD)),
    ],
    ids=["at a later attempt", "in another zone", "with more digits", "as read back"],
)
def test_the_same_bytes_are_told_each_time(later: Delivery) -> None:
    assert (event_id(later), body(later)) == (event_id(TOLD), body(TOLD))


def test_an_event_id_has_no_full_stop_as_the_signature_separates_by_them() -> None:
    assert event_id(replace(TOLD, id="u.1_v1.2")) == "u%2E1_v1%2E2:accepted"
    assert event_id(TOLD) == "u1_j1:accepted"


@pytest.mark.parametrize(
    "secret",
    [
        None,
        7,
        b"whsec_" + KEY.encode(),
        "",
        "whsec_",
        KEY,
        "whsk_" + KEY,
        "WHSEC_" + KEY,
        f"whsec_{KEY} ",
        f"whsec_{KEY}\n",
        "whsec_!!!!",
        "whsec_" + "ä" * 40,
        "whsec_" + "\ud800" * 40,
        "whsec_" + "-_" * 20,  # the other alphabet, of which the library would drop every letter
        "whsec_" + "A" * 33,  # no number of bytes
        "whsec_" + base64.b64encode(bytes(23)).decode(),
        "whsec_" + base64.b64encode(bytes(65)).decode(),
    ],
)
def test_a_secret_that_cannot_sign_is_refused_before_anything_is_looked_up(secret: object) -> None:
    outcome = webhooks.send("https://shop.example/", secret, TOLD)
    assert outcome is BAD_SECRET
    assert BAD_SECRET.failure.code == "bad_secret"


def refuse_to_look_up(host: str, port: int) -> list[str]:
    raise AssertionError(host)


def local(host: str, port: int) -> list[str]:
    return ["127.0.0.1"]


webhooks = telling(resolve=refuse_to_look_up)


@pytest.mark.parametrize(
    "secret", ["whsec_" + KEY, "whsec_" + KEY.rstrip("="), "whsec_" + "A" * 32, "whsec_" + "A" * 86]
)
def test_a_secret_of_24_to_64_bytes_signs_with_or_without_padding(secret: str) -> None:
    outcome = telling(resolve=local).send("https://shop.example/", secret, TOLD)
    assert isinstance(outcome, Rejected)
    assert (outcome.failure.category, outcome.failure.code) == ("rejected", "address_not_allowed")


def test_a_url_that_is_refused_is_not_in_what_is_said_of_it() -> None:
    said = repr(webhooks.send("https://ada:pw@shop.example/?token=t0ken", "whsec_" + KEY, TOLD))
    assert "credentials_in_url" in said
    assert not any(word in said for word in ("ada", "pw@", "t0ken", KEY))
