"""The plan covers what there is: every function, index, secret and event, compared with where each is declared."""

import ast
import json
import tomllib
from datetime import UTC, datetime
from itertools import islice, pairwise
from pathlib import Path

import pytest
from cronsim import CronSim

from deploy import ROOT, plan
from deploy.alerts import ABSENCES, COUNTS, PROBES
from deploy.database import INDEXES
from deploy.queues import QUEUES
from deploy.table import FUNCTIONS, GENERATED, SCHEDULES, Access
from deploy.target import Target, read
from emulator.functions import names
from ledgermail import settings
from ledgermail.delivery import Status
from ledgermail.errors import ConfigurationError
from tests.unit.deploy.fake_gcloud import flags_of

SOURCE = ROOT / "functions" / "ledgermail"


def commands(target: Target) -> list[list[str]]:
    """Every command of the plan that makes something."""
    return [list(step.create) for step in plan.steps(target) if step.create]


def test_every_function_of_main_is_deployed_and_no_other(target: Target) -> None:
    """The table, and the deploy commands, name exactly the entry points."""
    deployed = [flags_of(command)["function"][0] for command in commands(target) if "deploy" in command[:3]]
    assert sorted(deployed) == sorted(function.name for function in FUNCTIONS) == sorted(names())


def test_readers_of_a_newer_schema_are_deployed_before_its_writers() -> None:
    """A worker that meets a newer delivery must wait; it should not have to."""
    order = [function.name for function in FUNCTIONS]
    assert max(order.index("deliver"), order.index("sweep")) < min(order.index("scan"), order.index("trigger"))


def test_every_index_and_exemption_is_made_and_no_other(target: Target) -> None:
    """Field by field as firestore.indexes.json says."""
    declared = json.loads(INDEXES.read_text("utf-8"))
    made = [flags_of(command) for command in commands(target) if "composite" in command]
    assert [(index["collection-group"][0], index["field-config"]) for index in made] == [
        (
            index["collectionGroup"],
            [f"field-path={field['fieldPath']},order={field['order'].lower()}" for field in index["fields"]],
        )
        for index in declared["indexes"]
    ]
    exempt = [command for command in commands(target) if "--disable-indexes" in command]
    assert [(flags_of(command)["collection-group"][0], command[5]) for command in exempt] == [
        (override["collectionGroup"], override["fieldPath"]) for override in declared["fieldOverrides"]
    ]


def test_each_function_reads_exactly_the_secrets_that_the_settings_say(target: Target) -> None:
    """In the table, in what is mounted, and in who may read it."""
    by_function = {function.name: function.secrets for function in FUNCTIONS if function.secrets}
    assert by_function == {function: (secret,) for function, secret in settings.SECRETS.items()}
    mounted = {
        flags["function"][0]: [pair.partition("=")[0].removeprefix(settings.PREFIX) for pair in flags["set-secrets"]]
        for command in commands(target)
        if "set-secrets" in (flags := flags_of(command))
    }
    assert mounted == {function: [secret] for function, secret in settings.SECRETS.items()}
    assert set(GENERATED) <= set(settings.SECRETS.values())
    readers = [flags_of(c)["member"][0] for c in commands(target) if "--role=roles/secretmanager.secretAccessor" in c]
    assert sorted(readers) == sorted(f"serviceAccount:{target.account(name)}" for name in settings.SECRETS)


def test_the_environment_of_every_function_is_what_the_settings_accept(target: Target) -> None:
    """With nothing but the secrets added, a deployed function starts."""
    for command in commands(target):
        flags = flags_of(command)
        if "function" not in flags:
            continue
        env = dict(pair.split("=", 1) for pair in flags["set-env-vars"])
        secrets = {pair.partition("=")[0]: "key" for pair in flags.get("set-secrets", [])}
        accepted = settings.read({**env, **secrets, "K_SERVICE": "x", "FUNCTION_TARGET": flags["function"][0]})
        assert flags["timeout"] == [f"{accepted.function_timeout.seconds}s"]
        assert accepted.function_timeout < accepted.lease
        assert env["THREADS"] == flags["concurrency"][0]


def test_a_service_answers_where_the_functions_look_for_it(target: Target) -> None:
    """The name of each service is the one in FUNCTION_URL."""
    template = target.environment()["LEDGERMAIL_FUNCTION_URL"]
    for command in commands(target):
        if "deploy" in command[:3]:
            address = template.replace("{function}", flags_of(command)["function"][0])
            assert address.startswith(f"https://{command[3]}-@PROJECT_NUMBER@.")
            assert len(address.split("//")[1].split(".")[0].replace("@PROJECT_NUMBER@", "123456789012")) <= 63


def test_a_queue_never_sends_more_than_the_instances_can_take() -> None:
    """More would be answered 429 by Cloud Run, which slows the queue for nothing."""
    queues = tomllib.loads(QUEUES.read_text("utf-8"))
    room = {function.name: function.concurrency * function.max_instances for function in FUNCTIONS}
    assert queues["deliver"]["max_concurrent_dispatches"] <= room["deliver"]
    assert {queue for function in FUNCTIONS for queue in function.queues} == set(queues)


def test_no_command_of_the_plan_deletes_a_queue_or_the_database(target: Target) -> None:
    """Not even the commands for going away."""
    everything = [" ".join(command) for step in plan.steps(target) for command in step.commands()]
    assert not [one for one in everything if "queues delete" in one or "queues purge" in one]
    assert not [one for one in everything if "databases delete" in one]


def test_nobody_may_do_more_than_needed(target: Target) -> None:
    """Who may call: the task account what is called, monitoring `status`. Who may write: not `status`, not `trigger`."""
    granted = [(flags_of(c)["role"][0], c[c.index("add-iam-policy-binding") + 1], flags_of(c)) for c in _grants(target)]
    calls = {where for role, where, flags in granted if role == "roles/run.invoker" and "tasks@" in flags["member"][0]}
    assert calls == {target.name(name) for name in ("deliver", "scan", "sweep", "prune")}
    writers = {flags["member"][0] for role, _, flags in granted if role == Access.WRITE}
    assert writers == {f"serviceAccount:{target.account(n)}" for n in ("deliver", "scan", "sweep", "prune")}
    assert all("databases/(default)" in flags["condition"][0] for role, _, flags in granted if role in set(Access))
    public = [c[3] for c in commands(target) if "--allow-unauthenticated" in c]
    assert public == [target.name("trigger")]


def _grants(target: Target) -> list[list[str]]:
    return [command for command in commands(target) if "add-iam-policy-binding" in command]


def test_every_schedule_calls_a_function_that_may_be_called() -> None:
    """And no retry outlives the next call's work."""
    called = {function.name for function in FUNCTIONS if function.called}
    assert {schedule.function for schedule in SCHEDULES} <= called
    assert all(0 <= schedule.retries <= 5 for schedule in SCHEDULES)


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


def test_probes_look_for_words_that_status_says() -> None:
    """As json.dumps writes them."""
    said = (SOURCE / "status.py").read_text("utf-8")
    assert '"identity": "holds" if run.holds else "broken"' in said
    assert {probe.never for probe in PROBES} == {
        "",
        json.dumps({"identity": "broken"}).strip("{}"),
        "the oldest unfinished delivery is older than",
    }
    assert "the oldest unfinished delivery is older than" in said


@pytest.mark.parametrize(
    ("declared", "problem"),
    [
        ("[settings]\n", "LEDGERMAIL_SENDER: is missing"),
        (
            '[settings]\nSENDER = "a@example.com"\nLEASE = "30s"\n',
            "LEDGERMAIL_LEASE: must be longer than FUNCTION_TIMEOUT",
        ),
        ('[settings]\nSENDER = "a@example.com"\nSENDGRID_KEY = "x"\n', "settings.SENDGRID_KEY: is a secret"),
        ('[settings]\nSENDER = "a@example.com"\nQUEUE = "x"\n', "settings.QUEUE: is set by the deployment"),
        ('[settings]\nSENDER = "a@example.com"\nSENDRE = "x"\n', "LEDGERMAIL_SENDRE: is not known"),
        ('prefix = "Ledger_Mail"\n', "prefix: must be 2 to 18"),
        ('prefxi = "x"\n', "prefxi: is not known"),
        ("[functions.delivr]\ncpu = 2\n", "functions.delivr: there is no such function"),
        ('[functions.deliver]\ncpu = "2"\n', "functions.deliver.cpu: must be"),
        ("notify = true\n", "notify: must be list"),
    ],
)
def test_a_deployment_that_cannot_work_is_refused_before_it_begins(tmp_path: Path, declared: str, problem: str) -> None:
    """Each problem by its name."""
    file = tmp_path / "deploy.toml"
    file.write_text(declared)
    with pytest.raises(ConfigurationError) as refused:
        read("my-project-1", "europe-west1", file)
    assert [one for one in refused.value.problems if one.startswith(problem)], refused.value.problems


def test_all_problems_are_named_at_once(tmp_path: Path) -> None:
    """A wrong project, region and key are told together."""
    file = tmp_path / "deploy.toml"
    file.write_text("colour = 1\nttl = 3\n")
    with pytest.raises(ConfigurationError) as refused:
        read("My Project", "europe", file)
    assert len(refused.value.problems) == 4


def test_what_deploy_toml_says_of_a_function_is_deployed(tmp_path: Path) -> None:
    """Concurrency changes THREADS with it; a name with a comma arrives whole."""
    file = tmp_path / "deploy.toml"
    file.write_text(
        'prefix = "mail"\n[settings]\nSENDER = "a@example.com"\nSENDER_NAME = "Acme, Inc."\nFUNCTION_TIMEOUT = "90s"\n'
        "[functions.deliver]\nconcurrency = 16\nmin_instances = 1\n"
    )
    target = read("my-project-1", "europe-west1", file)
    deploy = next(command for command in commands(target) if "--function=deliver" in command)
    assert deploy[3] == "mail-deliver"
    for flag in ("--concurrency=16", "--min-instances=1", "--set-env-vars=THREADS=16", "--timeout=90s"):
        assert flag in deploy
    assert "--set-env-vars=^;;^LEDGERMAIL_SENDER_NAME=Acme, Inc." in deploy
