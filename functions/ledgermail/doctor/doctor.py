"""The doctor: looks at everything a deployment rests on, from inside, and says of each what is wrong and what to do.

It reads only: nothing is changed, no mail is sent, no task is made.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import assert_never

from ledgermail import mailing
from ledgermail.app import App
from ledgermail.delivering.content import must_compile
from ledgermail.doctor.finding import Finding, ok, problem, unseen
from ledgermail.errors import ConfigurationError
from ledgermail.mailing import Mailing
from ledgermail.settings import FOLDER, PREFIX, SECRETS, Provider, Settings, read, secrets_of

SET = "set it for every function (README: Deploy has the table), or `python -m deploy apply`"
STORE = "store it in Secret Manager and give it to `{functions}` alone"
MEND = "mend the mailing's folder, and deploy again"


def examine(environment: Mapping[str, str]) -> list[Finding]:
    """All there is to find, with the settings of this environment. The clients of Google read their own from os.environ."""
    settings, about_settings = _settings(environment)
    mailings, about_mailings = _mailings(environment)
    return [*about_settings, *about_mailings, *_secrets(environment), *_beyond(settings, mailings)]


def _settings(environment: Mapping[str, str]) -> tuple[Settings | None, list[Finding]]:
    try:
        # A secret that is missing is told of below.
        settings = read({name: value for name, value in environment.items() if name != "FUNCTION_TARGET"})
    except ConfigurationError as error:
        return None, [problem("settings", said, SET) for said in error.problems]
    return settings, [ok("settings", f"all are there, for {settings.project}")]


def _mailings(environment: Mapping[str, str]) -> tuple[Mapping[str, Mailing], list[Finding]]:
    try:
        mailings = mailing.load(Path(environment.get(f"{PREFIX}MAILINGS", "").strip() or FOLDER))
        must_compile(mailings.values())
    except ConfigurationError as error:
        return {}, [problem("mailings", said, MEND) for said in error.problems]
    except OSError as error:
        return {}, [problem("mailings", f"{type(error).__name__}: {error.filename}", MEND)]
    return mailings, [ok("mailings", ", ".join(mailings))]


def _secrets(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Of the whole deployment: each function is given only its own, so that one function never sees both."""
    named = environment.get(f"{PREFIX}PROVIDER", "")
    provider = Provider(named) if named in set(Provider) else Provider.SENDGRID
    read_by = {function: secrets_of(function, provider) for function in SECRETS}
    for name in sorted({name for names in read_by.values() for name in names}):
        if environment.get(PREFIX + name, "").strip():
            yield ok("secret", f"{PREFIX}{name} is there")
        else:
            readers = "` and `".join(function for function, names in read_by.items() if name in names)
            yield problem("secret", f"{PREFIX}{name} is missing", STORE.format(functions=readers))


def _beyond(settings: Settings | None, mailings: Mapping[str, Mailing]) -> Iterator[Finding]:
    """What is outside of this process."""
    if settings is None:
        yield from (
            unseen(check, "needs the settings") for check in ("firestore", "indexes", "gate", "queues", "sender")
        )
        return
    from ledgermail.doctor.ledger_check import ledger
    from ledgermail.doctor.queue_check import queues

    yield from ledger(App(settings, mailings))
    yield from queues(settings)
    yield from _sender(settings)


def _sender(settings: Settings) -> Iterator[Finding]:
    """What the provider in use says of our key and of who writes."""
    from ledgermail.doctor import sender_check_resend, sender_check_sendgrid, sender_check_smtp

    match settings.provider:
        case Provider.SENDGRID:
            return sender_check_sendgrid.sender(settings)
        case Provider.RESEND:
            return sender_check_resend.sender(settings)
        case Provider.SMTP:
            return sender_check_smtp.sender(settings)
    assert_never(settings.provider)
