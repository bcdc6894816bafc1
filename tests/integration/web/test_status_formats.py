"""A status as JSON and as Prometheus reads it: by what is asked for, and by what is accepted."""

from datetime import UTC, datetime, timedelta

import pytest
from prometheus_client.parser import text_string_to_metric_families

from ledgermail.ledger.delivery import Status
from tests.integration.conftest import Ground
from tests.integration.delivering import owed
from tests.integration.planning import SHIPPED
from tests.integration.web.conftest import Call

PROMETHEUS = "application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
RUN = {"mailing": "job-alert", "intended": 3, "duplicates": 2}


def samples(text: str) -> dict[tuple[str, str], float]:
    """Every sample's value, by its name and its labels' values but the mailing, of alerts or of all."""
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.labels.get("mailing", "job-alert") == "job-alert":
                labels = [value for name, value in sample.labels.items() if name != "mailing"]
                found[sample.name.removeprefix("ledgermail_"), " ".join(labels)] = sample.value
    return found


@pytest.fixture
def three(ground: Ground, planned: None) -> Ground:
    """A run of three alerts, one of which was accepted a moment ago."""
    now = datetime.now(UTC)
    done = owed("j1", Status.ACCEPTED, first_claimed_at=now + timedelta(seconds=2), attempt=2)
    times = {"settled_at": now, "prune_at": now + SHIPPED["job-alert"].policy.retention - timedelta(minutes=1)}
    ground.put([done.changed(**times), owed("j2"), owed("j3")])
    ground.db.document("runs/job-alert:2026-08-16").set({**RUN, "opened_at": now})
    return ground


def test_json_tells_each_run_each_mailing_and_the_cost(three: Ground, call: Call) -> None:
    answer = call("status", "GET")
    assert (answer.status_code, answer.content_type) == (200, "application/json")
    told = answer.json
    assert told is not None
    counts = {"intended": 3, "accepted": 1, "pending": 2, "in_flight": 0, "pruned": 0, "duplicates_suppressed": 2}
    (run,) = told["runs"]
    for place in (run, told["mailings"]["job-alert"]):
        assert {name: place[name] for name in counts} == counts
        assert place["identity"] == "holds"
    figures = told["mailings"]["job-alert"]["finished"]
    assert (figures["sampled"], figures["attempts"], figures["stage_seconds"]) == (1, 2, {})
    assert figures["lag_seconds"]["median"] == pytest.approx(2, abs=0.1)
    assert told["held_back"] == {"paused": False, "breaker_open": False, "until": None, "reason": ""}
    assert told["cost"]["reads"] > 0


def test_prometheus_gets_the_same_figures(three: Ground, call: Call) -> None:
    answer = call("status", "GET", "/?format=prometheus")
    assert (answer.status_code, answer.content_type.partition(";")[0]) == (200, "text/plain")
    found = samples(answer.text)
    expected = {
        ("healthy", ""): 1,
        ("breaker_open", ""): 0,
        ("paused", ""): 0,
        ("identity_holds", ""): 1,
        ("intended", ""): 3,
        ("deliveries", "accepted"): 1,
        ("deliveries", "pending"): 2,
        ("deliveries", "unknown"): 0,
        ("duplicates_suppressed", ""): 2,
        ("attempts", ""): 2,
        ("problems", "late"): 0,
        ("unfinished_from_before", ""): 0,
    }
    assert {name: found[name] for name in expected} == expected
    assert found["claim_lag_seconds", "0.5"] == pytest.approx(found["claim_lag_seconds", "0.95"])
    assert found["status_reads", ""] > 0
    assert ("oldest_unfinished_seconds", "") in found


@pytest.mark.parametrize(
    ("accept", "content_type"),
    [
        (None, "application/json"),
        ("*/*", "application/json"),
        ("application/json", "application/json"),
        ("text/html,application/xhtml+xml,*/*;q=0.8", "application/json"),
        (PROMETHEUS, "application/openmetrics-text"),
        ("text/plain;version=0.0.4", "text/plain"),
    ],
)
def test_the_format_is_what_is_accepted(accept: str | None, content_type: str, call: Call, three: Ground) -> None:
    answer = call("status", "GET", "/?runs=0", headers={"Accept": accept} if accept else {})
    assert answer.content_type.partition(";")[0] == content_type


@pytest.mark.parametrize(("form", "code"), [("json", 503), ("prometheus", 200)])
def test_what_is_not_well_is_503_but_a_figure_for_prometheus_which_drops_what_is_not_200(
    form: str, code: int, call: Call, three: Ground
) -> None:
    until = datetime.now(UTC) + timedelta(minutes=5)
    three.db.document("state/gate").set({"breaker": {"open_until": until, "reason": "403"}})
    answer = call("status", "GET", f"/?runs=0&format={form}")
    assert answer.status_code == code
    if form == "prometheus":
        found = samples(answer.text)
        assert (found["healthy", ""], found["problems", "breaker"], found["breaker_open", ""]) == (0, 1, 1)
        assert "identity_holds" not in {name for name, _ in found}  # nobody has looked


def test_a_format_that_there_is_not_is_400_by_name(call: Call) -> None:
    answer = call("status", "GET", "/?format=xml")
    assert (answer.status_code, answer.json) == (400, {"error": "format: must be json or prometheus"})
