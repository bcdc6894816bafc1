"""Settings: read once, every problem at once, and what would break the promise refused."""

import os
import subprocess
import sys
from datetime import timedelta

import pytest

from emulator.process import ROOT
from ledgermail.errors import ConfigurationError
from ledgermail.settings import SECRET_NAMES, read
from tests.samples import ENVIRONMENT, settings


def problems(**changes: str | None) -> tuple[str, ...]:
    """What is wrong with a good environment in which these are changed, or missing where None."""
    with pytest.raises(ConfigurationError) as refused:
        read({name: value for name, value in (ENVIRONMENT | changes).items() if value is not None})
    return refused.value.problems


def ours(**changes: str | None) -> tuple[str, ...]:
    return problems(**{f"LEDGERMAIL_{name}": value for name, value in changes.items()})


def test_a_good_environment_is_read_with_its_defaults() -> None:
    read_ = settings()
    assert (read_.project, read_.queue, read_.upkeep_queue, read_.shards) == ("demo", "deliver", "upkeep", 4)
    assert read_.lease > read_.function_timeout > read_.provider_timeout


def test_every_missing_variable_is_named_at_once() -> None:
    with pytest.raises(ConfigurationError) as refused:
        read({})
    named = {problem.partition(":")[0].removeprefix("LEDGERMAIL_") for problem in refused.value.problems}
    assert named == {"PROJECT", "LOCATION", "FUNCTION_URL", "TASK_ACCOUNT", "SENDER"}


def test_several_problems_are_told_together() -> None:
    told = ours(LEASE="30s", SHARDS="0", SENDER=" ", PORJECT="demo", PROVIDER_TIMEOUT="soon")
    assert [problem.partition(":")[0].removeprefix("LEDGERMAIL_") for problem in told] == [
        "SENDER",
        "SHARDS",
        "PROVIDER_TIMEOUT",
        "PORJECT",
        "LEASE",
    ] + ["LEASE"] * (len(told) - 5)


def test_a_misspelt_variable_does_not_pass_for_its_default() -> None:
    assert ours(LAESE="5m") == ("LEDGERMAIL_LAESE: is not known",)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"LEASE": "30s", "PROVIDER_TIMEOUT": "60s"}, "LEASE"),
        ({"LEASE": "30s", "PROVIDER_TIMEOUT": "20s", "FUNCTION_TIMEOUT": "31s", "TIME_BOX": "5s"}, "LEASE"),
        ({"LEASE": "60s", "FUNCTION_TIMEOUT": "60s"}, "LEASE"),
        ({"PROVIDER_TIMEOUT": "50s"}, "FUNCTION_TIMEOUT"),
        ({"FUNCTION_TIMEOUT": "14s", "PROVIDER_TIMEOUT": "2s", "TIME_BOX": "5s"}, "FUNCTION_TIMEOUT"),
        ({"FUNCTION_TIMEOUT": "31m", "LEASE": "1h"}, "FUNCTION_TIMEOUT"),
        ({"TIME_BOX": "60s"}, "TIME_BOX"),
        ({"FUNCTION_URL": "https://functions.example"}, "FUNCTION_URL"),
    ],
)
def test_times_that_would_break_the_promise_are_refused(changes: dict[str, str], named: str) -> None:
    assert any(problem.startswith(f"LEDGERMAIL_{named}: must") for problem in ours(**changes))


def test_the_longest_deadline_that_a_task_can_have_is_taken() -> None:
    assert settings(function_timeout="30m", lease="31m").function_timeout == timedelta(minutes=30)


@pytest.mark.parametrize("name", ["SENDER", "REPLY_TO", "ARCHIVE"])
@pytest.mark.parametrize(
    "address",
    ["alerts", "alerts@", "a b@example.com", "Alerts <alerts@example.com>", "zoë@example.com", "zoe@exämple.com"],
)
def test_an_address_of_ours_that_no_mail_could_carry_is_refused_before_it_rejects_every_mail(
    name: str, address: str
) -> None:
    (problem,) = ours(**{name: address})
    assert problem.startswith(f"LEDGERMAIL_{name}: must be an address")


EVENTS = (
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEis/5eIg6GC/6tSoANe2xdK2CnkVteRXYOczjAXeADf5G"
    "jXqt3rJf7UQFLOrXtQKCMXjXPqacNUB8fWZ6B+W25w=="
)


@pytest.mark.parametrize(
    "key", ["MFkw...", EVENTS[:60], "SG.a-key-of-the-api", f"{EVENTS},nonsense", f"-----BEGIN {EVENTS}"]
)
def test_an_events_key_by_which_no_event_could_be_verified_is_refused(key: str) -> None:
    """Else each batch is refused, and what is in doubt waits for evidence that never comes."""
    (problem,) = ours(EVENTS_KEY=key)
    assert problem.startswith("LEDGERMAIL_EVENTS_KEY: each must be a public key")
    assert settings(EVENTS_KEY=f"{EVENTS}, {EVENTS}").events_keys == (EVENTS, EVENTS)


@pytest.mark.parametrize("name", ["SENDGRID_KEY", "TRIGGER_KEY"])
def test_a_key_is_read_without_the_line_end_that_its_file_had(name: str) -> None:
    assert settings(**{name: "SG.abc\n"}).secrets[name] == "SG.abc"


@pytest.mark.parametrize("key", ["SG.a b", "SG.a\nX-Evil: 1", "ключ"])
def test_a_key_that_no_header_carries_is_refused_and_not_told(key: str) -> None:
    (problem,) = ours(SENDGRID_KEY=key)
    assert problem.startswith("LEDGERMAIL_SENDGRID_KEY: must be one word")
    assert key not in problem


@pytest.mark.parametrize(
    ("function", "missing"),
    [
        ("deliver", ("SENDGRID_KEY", "TOKEN_KEY")),
        ("preferences", ("TOKEN_KEY",)),
        ("trigger", ("TRIGGER_KEY",)),
        ("console", ("CONSOLE_KEY",)),
        ("scan", ()),
        ("", ()),
    ],
)
def test_a_secret_is_missed_only_where_its_function_runs(function: str, missing: tuple[str, ...]) -> None:
    without = {f"LEDGERMAIL_{name}": None for name in SECRET_NAMES} | {"FUNCTION_TARGET": function}
    if missing:
        assert problems(**without) == tuple(f"LEDGERMAIL_{name}: is missing" for name in missing)
    else:
        read({name: value for name, value in (ENVIRONMENT | without).items() if value is not None})


@pytest.mark.parametrize("name", ["TOKEN_KEY", "CONSOLE_KEY"])
@pytest.mark.parametrize("key", ["short", f"{'k' * 32},short", f",{'k' * 32}", f"{'k' * 32},", ","])
def test_a_key_that_signs_and_could_be_guessed_is_refused_and_not_told(name: str, key: str) -> None:
    (problem,) = ours(**{name: key})
    assert problem.startswith(f"LEDGERMAIL_{name}: each key must have at least 32 characters")
    assert "kkk" not in problem
    assert settings(**{name: "k" * 32}).secrets[name] == "k" * 32


def test_where_mail_is_really_sent_its_links_are_https() -> None:
    assert problems(K_SERVICE="deliver") == (
        "LEDGERMAIL_FUNCTION_URL: must be https: every mail has a link there, which unsubscribes",
    )


def test_a_secret_shows_in_no_text_of_the_settings() -> None:
    assert "open-sesame" not in repr(settings()) + str(settings().secrets)


@pytest.mark.parametrize("host", ["FIRESTORE_EMULATOR_HOST", "CLOUD_TASKS_EMULATOR_HOST", "PUBSUB_EMULATOR_HOST"])
def test_where_mail_is_really_sent_no_emulator_may_be_named(host: str) -> None:
    assert problems(K_SERVICE="deliver", **{host: "127.0.0.1:1"})[0].startswith(f"{host}: ")
    read(ENVIRONMENT | {host: "127.0.0.1:1"})


def test_where_mail_is_really_sent_no_webhook_goes_to_this_machine() -> None:
    assert settings(webhooks="loopback").webhooks == "loopback"
    assert problems(K_SERVICE="deliver", LEDGERMAIL_WEBHOOKS="loopback")[0].startswith("LEDGERMAIL_WEBHOOKS: ")
    assert problems(LEDGERMAIL_WEBHOOKS="anywhere")[0].startswith("LEDGERMAIL_WEBHOOKS: ")


def test_where_mail_is_really_sent_the_console_asks_who_somebody_is() -> None:
    assert settings(console_auth="local").console_auth == "local"
    assert problems(K_SERVICE="console", LEDGERMAIL_CONSOLE_AUTH="local")[0].startswith("LEDGERMAIL_CONSOLE_AUTH: ")
    assert ours(CONSOLE_AUTH="none")[0].startswith("LEDGERMAIL_CONSOLE_AUTH: must be one of")


@pytest.mark.parametrize(("auth", "missing"), [("iap", "IAP_AUDIENCE"), ("firebase", "CONSOLE_SIGN_IN")])
def test_a_way_to_sign_in_is_refused_without_what_it_rests_on(auth: str, missing: str) -> None:
    (problem,) = ours(CONSOLE_AUTH=auth)
    assert problem.startswith(f"LEDGERMAIL_{missing}: ")
    assert settings(console_auth=auth, **{missing.lower(): "https://staff.example.com/"}).console_auth == auth


def test_the_project_may_come_from_where_google_puts_it() -> None:
    environment = {name: value for name, value in ENVIRONMENT.items() if name != "LEDGERMAIL_PROJECT"}
    assert read(environment | {"GOOGLE_CLOUD_PROJECT": "theirs"}).project == "theirs"


@pytest.mark.parametrize(
    ("written", "read_"),
    [("250ms", 0.25), ("30s", 30), ("1.5m", 90), ("6h", 21600), ("1d", 86400)],
)
def test_a_duration_is_a_number_and_its_unit(written: str, read_: float) -> None:
    told = settings(time_box="1ms", lease="2d", provider_timeout="1ms", function_timeout="15s")
    assert told.lease == timedelta(days=2)
    from ledgermail.declared import Declared

    assert Declared({"a": written}).duration("a", timedelta()) == timedelta(seconds=read_)


# The start of a function


def started(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """A process that does what a deployed function does first."""
    return subprocess.run(
        [sys.executable, "-c", "import main"],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "functions"), **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


DEPLOYED = {
    "K_SERVICE": "deliver",
    "FUNCTION_TARGET": "deliver",
    "LEDGERMAIL_FUNCTION_URL": "https://{function}.example.com",
}


def test_a_deployed_function_with_bad_settings_does_not_start_and_names_all_that_is_wrong() -> None:
    bad = {"LEDGERMAIL_LEASE": "10s", "LEDGERMAIL_SENDER": "nobody", "FIRESTORE_EMULATOR_HOST": "127.0.0.1:1"}
    refused = started(ENVIRONMENT | bad | {"K_SERVICE": "deliver", "FUNCTION_TARGET": "deliver"})
    assert refused.returncode != 0
    for name in bad:
        assert f"{name}: " in refused.stderr
    assert "SG.local" not in refused.stderr + refused.stdout


def test_a_deployed_function_with_good_settings_starts() -> None:
    assert started(ENVIRONMENT | DEPLOYED).returncode == 0


def test_settings_wait_for_the_first_request_where_nothing_is_deployed() -> None:
    assert started({}).returncode == 0


def test_a_function_starts_without_the_libraries_that_only_a_request_needs() -> None:
    """What a cold start must not pay for. (jinja2 comes with flask, so it is not among them.)"""
    heavy = ["google.cloud.firestore", "google.cloud.tasks_v2", "grpc", "sendgrid", "mjml", "firebase_admin", "httpx"]
    shown = subprocess.run(
        [sys.executable, "-c", f"import main, sys; print([name for name in {heavy} if name in sys.modules])"],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "functions")},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert shown.stdout.strip() == "[]"
