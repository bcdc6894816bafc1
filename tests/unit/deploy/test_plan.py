"""The plan covers what there is: every function, index and secret, compared with where each is declared."""

import json
import tomllib
from pathlib import Path

import pytest

from deploy import plan
from deploy.database import INDEXES
from deploy.queues import QUEUES
from deploy.table import FUNCTIONS, GENERATED, SCHEDULES, Access
from deploy.target import Target, read
from emulator.functions import names
from ledgermail import settings
from ledgermail.errors import ConfigurationError
from tests.unit.deploy.conftest import commands
from tests.unit.deploy.fake_gcloud import flags_of


def test_every_function_of_main_is_deployed_and_no_other(target: Target) -> None:
    """The table, and the deploy commands, name exactly the entry points."""
    deployed = [flags_of(command)["function"][0] for command in commands(target) if "deploy" in command[:3]]
    assert sorted(deployed) == sorted(function.name for function in FUNCTIONS) == sorted(names())


def test_readers_of_a_newer_schema_are_deployed_before_its_writers() -> None:
    """A worker that meets a newer delivery must wait; it should not have to."""
    order = [function.name for function in FUNCTIONS]
    readers, writers = ("deliver", "sweep", "prune"), ("plan", "scan", "trigger")
    assert max(map(order.index, readers)) < min(map(order.index, writers))


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
    assert by_function == settings.SECRETS
    assert set(GENERATED) <= set(settings.SECRET_NAMES)
    read_by = {name: settings.secrets_of(name, settings.Provider.SENDGRID) for name in settings.SECRETS}
    assert mounted_by(target) == {function: list(secrets) for function, secrets in read_by.items()}
    readers = [flags_of(c)["member"][0] for c in commands(target) if "--role=roles/secretmanager.secretAccessor" in c]
    allowed = [name for name, secrets in read_by.items() for _ in secrets]
    assert sorted(readers) == sorted(f"serviceAccount:{target.account(name)}" for name in allowed)


def mounted_by(target: Target) -> dict[str, list[str]]:
    """The secrets that are mounted, by function."""
    return {
        flags["function"][0]: [
            pair.partition("=")[0].removeprefix(settings.PREFIX) for pair in flags["set-secrets"][0].split(",")
        ]
        for command in commands(target)
        if "set-secrets" in (flags := flags_of(command))
    }


@pytest.mark.parametrize(
    ("declared", "secret"),
    [
        ('PROVIDER = "resend"', "RESEND_KEY"),
        ('PROVIDER = "smtp"\nSMTP_HOST = "mail.example"\nSMTP_USER = "mailer"', "SMTP_PASSWORD"),
    ],
)
def test_another_provider_needs_its_own_secret_and_none_of_the_others(
    declared: str, secret: str, tmp_path: Path
) -> None:
    file = tmp_path / "deploy.toml"
    file.write_text(f'[settings]\nSENDER = "a@example.com"\n{declared}\n')
    mounted = mounted_by(read("my-project", "europe-west1", file))
    assert secret in mounted["deliver"]
    assert not set(settings.PROVIDER_SECRETS.values()) - {secret} & set(mounted["deliver"])


def test_the_environment_of_every_function_is_what_the_settings_accept(target: Target) -> None:
    """With nothing but the secrets added, a deployed function starts."""
    for command in commands(target):
        flags = flags_of(command)
        if "function" not in flags:
            continue
        env = dict(pair.split("=", 1) for pair in flags["set-env-vars"])
        secrets = {pair.partition("=")[0]: "k" * 32 for pair in ",".join(flags.get("set-secrets", [])).split(",")}
        accepted = settings.read({**env, **secrets, "K_SERVICE": "x", "FUNCTION_TARGET": flags["function"][0]})
        assert flags["timeout"] == [f"{accepted.function_timeout.seconds}s"]
        assert accepted.function_timeout < accepted.lease
        assert env["THREADS"] == flags["concurrency"][0]
        assert env["PYTHONTZPATH"] == ""


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
    """Who may call: the task account what is called, monitoring only `status`. Who may write: not `status`, not `trigger`."""
    granted = [(flags_of(c)["role"][0], c[c.index("add-iam-policy-binding") + 1], flags_of(c)) for c in _grants(target)]
    calls = {where for role, where, flags in granted if role == "roles/run.invoker" and "tasks@" in flags["member"][0]}
    workers = ("deliver", "scan", "plan", "sweep", "prune")
    assert calls == {target.name(name) for name in (*workers, "status")}
    watched = [where for role, where, flags in granted if "gcp-sa-monitoring" in flags["member"][0]]
    assert watched == [target.name("status")]
    writers = {flags["member"][0] for role, _, flags in granted if role == Access.WRITE}
    assert writers == {
        f"serviceAccount:{target.account(name)}" for name in (*workers, "events", "preferences", "console")
    }
    assert all("databases/(default)" in flags["condition"][0] for role, _, flags in granted if role in set(Access))
    public = [c[3] for c in commands(target) if "--allow-unauthenticated" in c]
    assert public == [target.name(name) for name in ("events", "preferences", "trigger")]


def test_where_firebase_signs_operators_in_the_console_lets_them_in_itself(tmp_path: Path) -> None:
    """Else it is private, and has no right in Firebase."""
    declared = """[settings]
SENDER = "alerts@example.com"
CONSOLE_AUTH = "firebase"
CONSOLE_SIGN_IN = "https://staff.example.com/sign-in"
"""
    (tmp_path / "deploy.toml").write_text(declared)
    target = read("my-project-1", "europe-west1", tmp_path / "deploy.toml")
    public = [c[3] for c in commands(target) if "--allow-unauthenticated" in c]
    assert target.name("console") in public
    rights = [flags_of(c)["member"][0] for c in _grants(target) if flags_of(c)["role"] == ["roles/firebaseauth.admin"]]
    assert rights == [f"serviceAccount:{target.account('console')}"]


def _grants(target: Target) -> list[list[str]]:
    return [command for command in commands(target) if "add-iam-policy-binding" in command]


def test_every_schedule_calls_a_function_that_may_be_called() -> None:
    """And no retry outlives the next call's work."""
    called = {function.name for function in FUNCTIONS if function.called}
    assert {schedule.function for schedule in SCHEDULES} <= called
    assert all(0 <= schedule.retries <= 5 for schedule in SCHEDULES)


def test_what_runs_is_posted_and_what_is_looked_at_is_got(target: Target) -> None:
    """With a token for the function itself, whatever the path; `status` is the only one that is looked at."""
    made = {flags_of(c)["uri"][0]: flags_of(c) for c in commands(target) if c[1:4] == ["scheduler", "jobs", "create"]}
    got = {uri for uri, flags in made.items() if flags["http-method"] == ["get"]}
    assert got == {f"{target.url('status')}/?runs=0", f"{target.url('status')}/"}
    for uri, flags in made.items():
        assert ("message-body" in flags, "headers" in flags) == ((False, False) if uri in got else (True, True))
        assert uri.startswith(flags["oidc-token-audience"][0])


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
        ('notify = ["oncall"]\n', "notify: 'oncall' is no address"),
        ("notify = [5]\n", "notify: 5 is no address"),
        ('database = "my data"\n', "database: must be (default), or 4 to 63"),
        ("[functions.deliver]\nconcurrency = 0\n", "functions.deliver.concurrency: must be 1 or more"),
        ("[functions.deliver]\nmin_instances = -1\n", "functions.deliver.min_instances: must be 0 or more"),
        ('[functions.deliver]\nmemory = "lots"\n', "functions.deliver.memory: must be as 512Mi"),
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
    """A wrong project, region, key and table are told together, and what the functions would say of the rest."""
    file = tmp_path / "deploy.toml"
    tables = '[settings]\nQUEUE = "x"\nLEASE = "30s"\n[functions.deliver]\ncpu = "2"\n[functions.delivr]\ncpu = 2\n'
    file.write_text(f'colour = 1\nttl = 3\nprefix = "M"\n{tables}')
    with pytest.raises(ConfigurationError) as refused:
        read("My Project", "europe", file)
    assert [problem.partition(":")[0] for problem in refused.value.problems] == [
        "--project",
        "--region",
        "colour",
        "ttl",
        "prefix",
        "settings.QUEUE",
        "functions.deliver.cpu",
        "functions.delivr",
        "LEDGERMAIL_SENDER",
        "LEDGERMAIL_LEASE",
    ]


@pytest.mark.parametrize(("timeout", "deadline"), [("15m", "930s"), ("1790s", "1800s"), ("30m", "1800s")])
def test_no_timeout_that_is_accepted_asks_more_of_a_schedule_than_it_takes(
    tmp_path: Path, timeout: str, deadline: str
) -> None:
    """Cloud Scheduler waits at most half an hour: refused, it would be so at the very end of an apply."""
    config = tmp_path / "deploy.toml"
    config.write_text(f'[settings]\nSENDER = "a@b.example"\nFUNCTION_TIMEOUT = "{timeout}"\nLEASE = "31m"\n')
    made = [flags_of(c) for c in commands(read("my-project-1", "europe-west1", config)) if "scheduler" in c]
    assert {flags["attempt-deadline"][0] for flags in made} == {deadline}


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
