"""What is watched is what the code says, and watching it costs little."""

import ast
import re
from datetime import UTC, datetime
from itertools import islice, pairwise

from cronsim import CronSim

from deploy import ROOT, plan
from deploy.alerts import ABSENCES, COUNTS
from deploy.table import SCHEDULES
from deploy.target import Target
from ledgermail.delivery import Status
from ledgermail.status import MOST_READS
from tests.unit.deploy.conftest import commands
from tests.unit.deploy.fake_gcloud import flags_of

SOURCE = ROOT / "functions" / "ledgermail"


def test_an_absence_is_longer_than_the_time_between_two_calls() -> None:
    """Else it would be told every day; and Cloud Monitoring takes none above 23.5 hours."""
    calls = {schedule.name: _longest_gap(schedule.cron) for schedule in SCHEDULES}
    for absence in ABSENCES:
        function = absence.event.partition(".")[0]
        assert calls[function] < absence.seconds <= 23.5 * 3600


def _longest_gap(cron: str) -> float:
    instants = list(islice(CronSim(cron, datetime(2026, 8, 16, tzinfo=UTC)), 100))
    return max((later - earlier).total_seconds() for earlier, later in pairwise(instants))


def emitted() -> set[str]:
    """The names of all events in the source; one that ends in a delivery's status stands for each of these."""
    found: set[str] = set()
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "log" and node.args:
                found |= _names(node.args[0])
    return found


def _names(argument: ast.expr) -> set[str]:
    match argument:
        case ast.Constant(value=str(name)):
            return {name}
        case ast.IfExp(body=body, orelse=other):
            return _names(body) | _names(other)
        case ast.JoinedStr(values=[ast.Constant(value="delivery."), ast.FormattedValue()]):
            return {f"delivery.{status}" for status in Status}
        case _:
            raise AssertionError(f"the name of an event that cannot be read: {ast.unparse(argument)}")


def test_alerts_name_events_that_the_code_emits() -> None:
    """A renamed event would else be an alert that never comes."""
    watched = {event for count in COUNTS for event in count.events} | {absence.event for absence in ABSENCES}
    assert watched <= emitted(), watched - emitted()


def test_alerts_go_by_what_status_reports() -> None:
    """A filter of a field, or a value, that is not in the log would never let anything through."""
    logged = (SOURCE / "status_web.py").read_text("utf-8").partition('"status.reported"')[2]
    said = (SOURCE / "status.py").read_text("utf-8")
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


def test_to_be_watched_costs_little(target: Target) -> None:
    """What docs/deploy.md, 8 counts: calls a day by schedules and by the uptime check from three regions."""
    calls = {schedule.name: 24 * 60 * 60 // _longest_gap(schedule.cron) for schedule in SCHEDULES}
    (probe,) = [flags_of(command) for command in commands(target) if command[1:4] == ["monitoring", "uptime", "create"]]
    probes = len(probe["regions"][0].split(",")) * 24 * 60 // int(probe["period"][0])
    assert probe["path"] == ["/?runs=0"]
    ages = 10  # reads: a test of the budget measures them
    assert (calls["status"] * ages + probes * ages, calls["identity"] * MOST_READS) == (5_760, 4_800)
    assert "5,760 reads a day" in (ROOT / "docs" / "deploy.md").read_text("utf-8")
