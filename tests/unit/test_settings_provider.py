"""The settings of who takes our mail: the one that is chosen is checked, and only its key is missed, where it is read."""

from collections.abc import Mapping
from datetime import timedelta

import pytest

from ledgermail.errors import ConfigurationError
from ledgermail.mailing import in_force, load
from ledgermail.settings import FOLDER, PROVIDER_SECRETS, SECRETS, Provider, SmtpTls, read, secrets_of
from tests.samples import ENVIRONMENT

KEYS = {f"LEDGERMAIL_{name}" for name in PROVIDER_SECRETS.values()}
KEYLESS = {name: value for name, value in ENVIRONMENT.items() if name not in KEYS}
SMTP = {"PROVIDER": "smtp", "SMTP_HOST": "smtp.example.com", "SMTP_USER": "mailer", "SMTP_PASSWORD": "open sesame"}
PRODUCTION = {"K_SERVICE": "deliver", "LEDGERMAIL_FUNCTION_URL": "https://{function}.example"}


def named(base: Mapping[str, str] = ENVIRONMENT, /, *, function: str = "", **changes: str) -> list[str]:
    """The variables that are complained of."""
    ours = {f"LEDGERMAIL_{name}": value for name, value in changes.items()}
    try:
        read({**base, **ours, "FUNCTION_TARGET": function})
    except ConfigurationError as error:
        return [problem.partition(":")[0].removeprefix("LEDGERMAIL_") for problem in error.problems]
    return []


def test_sendgrid_is_who_takes_our_mail_unless_told_otherwise() -> None:
    assert read(ENVIRONMENT).provider is Provider.SENDGRID
    assert named(PROVIDER="mailgun") == ["PROVIDER"]


@pytest.mark.parametrize(("provider", "key"), PROVIDER_SECRETS.items())
def test_only_the_key_of_the_provider_in_use_is_missed_and_only_where_mail_is_sent(
    provider: Provider, key: str
) -> None:
    keyless = {**KEYLESS, **{f"LEDGERMAIL_{name}": value for name, value in SMTP.items() if name != "SMTP_PASSWORD"}}
    assert named(keyless, PROVIDER=provider) == []
    assert named(keyless, PROVIDER=provider, function="sweep") == []
    assert named(keyless, PROVIDER=provider, function="deliver") == [key]


def test_every_function_reads_the_secret_of_at_most_one_provider() -> None:
    for function in SECRETS:
        for provider in Provider:
            others = set(PROVIDER_SECRETS.values()) - {PROVIDER_SECRETS[provider]}
            assert not others & set(secrets_of(function, provider))
            assert set(secrets_of(function, provider)) <= set(SECRETS[function])


def test_an_smtp_server_is_named_with_an_account_there() -> None:
    assert named(**SMTP) == []
    assert named(PROVIDER="smtp") == ["SMTP_HOST", "SMTP_USER"]
    assert named(SMTP_PORT="0") == ["SMTP_PORT"]
    assert named(**(SMTP | {"SMTP_TLS": "maybe"})) == ["SMTP_TLS"]
    for host in (
        "",
        "https://smtp.example.com",
        "smtp.example.com:25",
        "a b",
        "münchen.example",
        "x" * 64 + ".example",
    ):
        assert "SMTP_HOST" in named(**(SMTP | {"SMTP_HOST": host}))
    for host in ("smtp-relay.example.com", "localhost", "127.0.0.1", "::1", "2001:db8::25"):
        assert named(**(SMTP | {"SMTP_HOST": host})) == []


def test_an_address_that_cannot_be_posted_to_is_named_before_anything_is_claimed() -> None:
    for url in (
        "api.sendgrid.example",
        "ftp://sendgrid.example",
        "https://api.sendgrid.com:8O",
        "https://api.sendgrid.com:99999",
        "https://api.sendgrid.com:0",
        "http://127.0.0.1:-1",
        "https://[::1",
        "http://127.0.0.1:9\\x",
        "http://127.0.0.1:٩",
        "https://api.séndgrid.example",
        "http://127.0.0.1:9/é",
        "https://api..sendgrid.com",
        "https://.sendgrid.com",
        f"https://{'a' * 64}.example",
        "https://key@api.sendgrid.com",
        "https://api.sendgrid.com?a=b",
        "https://api.sendgrid.com/#a",
        "https://api.sendgrid.com/a b",
        "https://",
    ):
        assert named(SENDGRID_URL=url) == ["SENDGRID_URL"], url
        assert named(RESEND_URL=url, CERTS_URL=url) == ["RESEND_URL", "CERTS_URL"]
    for url in ("https://api.eu.sendgrid.com", "http://localhost:8025/", "http://[::1]:8025/a/b", "http://127.0.0.1:1"):
        assert named(SENDGRID_URL=url) == []


def test_a_password_may_be_several_words_and_a_key_may_not() -> None:
    assert named(**SMTP) == []
    assert named(SMTP_PASSWORD="pass\nwort") == ["SMTP_PASSWORD"]
    assert named(SMTP_PASSWORD="pässwort") == ["SMTP_PASSWORD"]
    assert named(RESEND_KEY="re a") == ["RESEND_KEY"]


def test_mail_goes_in_the_open_only_on_this_machine() -> None:
    local = {"PROVIDER": "smtp", "SMTP_HOST": "127.0.0.1", "SMTP_TLS": "none"}
    assert named(**local) == []
    assert named(ENVIRONMENT | PRODUCTION, **local) == ["SMTP_TLS"]
    for tls in (SmtpTls.STARTTLS, SmtpTls.IMPLICIT):
        assert named(ENVIRONMENT | PRODUCTION, **(SMTP | {"SMTP_TLS": tls})) == []


def test_no_secret_is_shown() -> None:
    ours = {f"LEDGERMAIL_{name}": value for name, value in SMTP.items()}
    assert "sesame" not in repr(read({**ENVIRONMENT, **ours, "LEDGERMAIL_RESEND_KEY": "re_sesame"}))


@pytest.mark.parametrize("provider", Provider)
def test_only_who_is_told_of_events_waits_for_them_and_only_a_known_key_is_repeated(provider: Provider) -> None:
    declared = load(FOLDER)["weekly-digest"]
    keyed = {f"LEDGERMAIL_{name}": value for name, value in SMTP.items()} | {"LEDGERMAIL_PROVIDER": provider}
    for events, told in (("", False), ("M" * 124, provider is Provider.SENDGRID)):
        mailings = {"weekly-digest": declared}
        policy = in_force(mailings, read({**ENVIRONMENT, **keyed, "LEDGERMAIL_EVENTS_KEY": events}))[
            "weekly-digest"
        ].policy
        assert policy.evidence_grace == (declared.policy.evidence_grace if told else timedelta())
        assert policy.repeatable == (timedelta(hours=23) if provider is Provider.RESEND else timedelta())
