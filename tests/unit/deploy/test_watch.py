"""What is watched is what the code says, and watching it costs little."""

import json
import re
from datetime import UTC, datetime
from itertools import islice, pairwise

from cronsim import CronSim

from deploy import ROOT, plan, policies
from deploy.alerts import ABSENCES, COUNTS
from deploy.table import SCHEDULES
from deploy.target import Target
from ledgermail.log_table import EVENTS
from ledgermail.status.status import MOST_READS
from tests.unit.deploy.conftest import commands
from tests.unit.deploy.fake_gcloud import flags_of

SOURCE = ROOT / "functions" / "ledgermail"


def test_an_absence_is_longer_than_the_time_between_two_calls() -> None:
    """Else it would be told every day; and Cloud Monitoring takes none above 23.5 hours."""
    calls = {schedule.name: _longest_gap(schedule.cron) for schedule in SCHEDULES}
    for absence in ABSENCES:
        function = absence.event.partition(".")[0]
        assert calls[function] < absence.seconds <= 23.5 * 3600


def test_an_absence_says_how_many_calls_have_not_ended() -> None:
    """Of two prunes a day one is enough to be missed within the longest time that Cloud Monitoring looks back."""
    (prune,) = (absence for absence in ABSENCES if absence.event == "prune.done")
    (gap,) = (_longest_gap(schedule.cron) for schedule in SCHEDULES if schedule.name == "prune")
    assert (prune.seconds // gap, prune.says.split()[:2]) == (1, ["A", "prune"])


def test_another_deployment_of_the_project_is_not_watched_as_ours(target: Target) -> None:
    """With `ledgermail-eu` beside it, its events were ours: its late mail, and its scans where ours had stopped."""
    (pattern,) = re.findall(r'service_name=~"(.+?)"', policies.metric(target)["filter"])
    assert re.search(pattern, "ledgermail-scan")
    assert not re.search(pattern, "ledgermail-eu-scan")
    shown = json.dumps(policies.dashboard(target))
    assert set(re.findall(r"(?:service_name|queue_id)=([a-z_.]+)", shown)) == {"monitoring.regex.full_match", "one_of"}


def _longest_gap(cron: str) -> float:
    instants = list(islice(CronSim(cron, datetime(2026, 8, 16, tzinfo=UTC)), 100))
    return max((later - earlier).total_seconds() for earlier, later in pairwise(instants))


def test_alerts_name_events_that_the_code_emits() -> None:
    """A renamed event would else be an alert that never comes."""
    watched = {event for count in COUNTS for event in count.events} | {absence.event for absence in ABSENCES}
    assert watched <= {event.name for event in EVENTS}


def test_alerts_go_by_what_status_reports() -> None:
    """A filter of a field, or a value, that is not in the log would never let anything through."""
    logged = (SOURCE / "status" / "status_web.py").read_text("utf-8").partition('"status.reported"')[2]
    said = (SOURCE / "status" / "status.py").read_text("utf-8")
    filters = {count.name: count.only for count in COUNTS if count.only}
    assert set(filters) == {"late", "identity"}
    for name, value in re.findall(r"jsonPayload\.(\w+)=(\S+)", " ".join(filters.values())):
        assert f"{name}=" in logged
        assert value == "false" or value in said


def test_alerts_with_a_filter_count_by_a_counter_of_their_own(target: Target) -> None:
    """And each counter that an alert names is made before it."""
    steps = plan.steps(target)
    titles = [step.title for step in steps]
    for count in COUNTS:
        counter = target.name(count.name if count.only else "events")
        alert = titles.index(f"alert {target.name(count.name)}")
        assert f"logging.googleapis.com/user/{counter}\\" in "".join(steps[alert].files.values())
        assert titles.index(f"metric {counter}") < alert


def test_each_number_that_the_log_table_marks_is_measured_and_shown(target: Target) -> None:
    """The field is the one that is written, and the dashboard names the metric that is made."""
    files = {name: json.loads(text) for step in plan.steps(target) for name, text in step.files.items()}
    measured = [(event.name, field) for event in EVENTS for field in event.measured]
    assert measured
    for event, field in measured:
        made = files[f"metric-{policies.curve_name(event, field)}.json"]
        assert made["valueExtractor"] == f"EXTRACT(jsonPayload.{field})"
        assert f'jsonPayload.event="{event}"' in made["filter"]
        assert made["metricDescriptor"]["valueType"] == "DISTRIBUTION"
        assert f"user/{target.name(policies.curve_name(event, field))}" in json.dumps(files["dashboard.json"])


def test_to_be_watched_costs_little(target: Target) -> None:
    """What docs/deploy.md, 8 counts: calls a day by schedules and by the uptime check from three regions."""
    calls = {schedule.name: 24 * 60 * 60 // _longest_gap(schedule.cron) for schedule in SCHEDULES}
    (probe,) = [flags_of(command) for command in commands(target) if command[1:4] == ["monitoring", "uptime", "create"]]
    probes = len(probe["regions"][0].split(",")) * 24 * 60 // int(probe["period"][0])
    assert probe["path"] == ["/?runs=0"]
    ages = 10  # reads: a test of the budget measures them
    assert (calls["status"] * ages + probes * ages, calls["identity"] * MOST_READS) == (5_760, 4_800)
    assert "5,760 reads a day" in (ROOT / "docs" / "deploy.md").read_text("utf-8")
