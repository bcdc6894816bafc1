"""Search finds who or what is meant by any of its names, and no address becomes part of a URL."""

import pytest

from ledgermail.ledger.delivery import Status
from tests.integration.delivering import JOB, owed
from tests.integration.web.console.operators import OURS, Operator
from tests.samples import a_match, a_user


@pytest.fixture(autouse=True)
def ledger(operator: Operator) -> None:
    """Two users, of whom one got an alert of a job that both were matched with."""
    operator.ground.user("u1", a_user())
    operator.ground.user("u2", a_user(email="both@example.com"))
    operator.ground.user("u3", a_user(email="both@example.com"))
    operator.ground.delivery(owed(status=Status.ACCEPTED))
    operator.ground.match("m1", a_match())
    operator.ground.match("m2", a_match(user_id="u2", job_id="shared"))
    operator.ground.match("m3", a_match(user_id="u1", job_id="shared"))
    operator.db.collection("runs").document("job-alert:2026-08-16").set({"mailing": "job-alert"})


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("u1", "/recipients/u1"),
        (" u1 ", "/recipients/u1"),
        ("u1@example.com", "/recipients/u1"),
        ("U1@Example.com", "/recipients/u1"),
        (JOB, f"/deliveries/{JOB}"),
        ("j1", f"/deliveries/{JOB}"),
        ("job-alert:2026-08-16", "/runs/job-alert:2026-08-16"),
        ("", "/"),
    ],
)
def test_whatever_has_one_name_is_gone_to(words: str, found: str, operator: Operator) -> None:
    answer = operator.search(words)
    assert (answer.status_code, answer.headers["Location"]) == (303, found)


def test_several_are_listed(operator: Operator) -> None:
    people = operator.search("both@example.com").text
    assert ("/recipients/u2" in people, "/recipients/u3" in people) == (True, True)
    matched = operator.search("shared").text
    assert ("/recipients/u1?about=shared" in matched, "/recipients/u2?about=shared" in matched) == (True, True)


@pytest.mark.parametrize(
    "words", ["nobody", "nobody@example.com", "a/b", "..", "u1_", "ключ", "x" * 3000, "@" * 3000, "ж" * 1500]
)
def test_what_is_not_there_is_said_not_to_be(words: str, operator: Operator) -> None:
    answer = operator.search(words)
    assert (answer.status_code, "Nothing was found" in answer.text) == (404, True)


def test_a_search_from_elsewhere_is_refused(operator: Operator) -> None:
    assert operator.post("search", q="u1").status_code == 403
    assert operator.post("search", q="u1", token="made up", headers=OURS).status_code == 403


def test_an_alert_that_cannot_be_read_is_not_said_to_be_unplanned(operator: Operator) -> None:
    operator.db.collection("deliveries").document("u2_shared").set({"schema_version": 99, "user_id": "u2"})
    text = operator.search("shared").text
    assert (text.count("cannot be read"), text.count("not planned")) == (1, 1)
    operator.db.collection("deliveries").document("u2_shared").delete()
    assert operator.search("shared").text.count("not planned") == 2
