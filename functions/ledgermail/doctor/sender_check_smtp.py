"""The doctor's look at an SMTP server: it lets us in, and takes mail from who writes. Nothing is sent."""

import smtplib
import ssl
from collections.abc import Iterator

from ledgermail.doctor.finding import Finding, ok, problem, unseen
from ledgermail.providers.smtp_outcomes import Step
from ledgermail.providers.smtp_talk import Refusal, Talk
from ledgermail.providers.words import said
from ledgermail.settings import Settings

MEND = {
    Step.CONNECT: "let LEDGERMAIL_SMTP_HOST and _PORT be reached from here (Google Cloud blocks port 25), or change them",
    Step.STARTTLS: "change LEDGERMAIL_SMTP_TLS: 587 is mostly starttls, 465 implicit",
    Step.AUTH: "make LEDGERMAIL_SMTP_USER and LEDGERMAIL_SMTP_PASSWORD those of an account there",
    Step.MAIL: "let this account write as LEDGERMAIL_SENDER there, or change it",
}
OTHERWISE = "see that LEDGERMAIL_SMTP_HOST and _PORT are those of a server for submission, and that it is well"


def sender(settings: Settings, context: ssl.SSLContext | None = None) -> Iterator[Finding]:
    """One finding; the step that failed, if one did. `context` holds the authorities to trust, by default certifi's."""
    if settings.smtp_user and not settings.secrets["SMTP_PASSWORD"]:
        yield unseen("sender", "needs the password of the SMTP server")
        return
    talk = Talk(settings, context)
    where = f"{settings.smtp_host}:{settings.smtp_port}"
    try:
        with talk:
            talk.open()
            talk.write_as(settings.sender)
    except Refusal as no:
        yield problem(talk.step, f"{where} says {no.code} {said(no.words)}", MEND.get(talk.step, OTHERWISE))
    except (OSError, smtplib.SMTPException, ValueError) as error:
        yield problem(talk.step, f"{where}: {type(error).__name__}", MEND.get(talk.step, OTHERWISE))
    else:
        yield ok("sender", f"{where} takes mail from {settings.sender}")
