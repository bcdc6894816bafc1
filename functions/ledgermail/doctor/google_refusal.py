"""What it means that a service of Google's refuses or does not answer, and what to do about it."""

import os
from dataclasses import dataclass

from google.api_core.exceptions import (
    DeadlineExceeded,
    Forbidden,
    GoogleAPICallError,
    NotFound,
    RetryError,
    ServiceUnavailable,
    Unauthorized,
)
from google.auth.exceptions import GoogleAuthError

from ledgermail.doctor.finding import Finding, problem

REFUSED = (GoogleAPICallError, RetryError, GoogleAuthError, ValueError)  # ValueErrors are Firestore's client's own
LOG_IN = "run it where a service account is, or `gcloud auth application-default login`"
DEPLOY = "`python -m deploy apply`"
WORDS_CHARS = 1000  # of a message are shown


@dataclass(frozen=True)
class Service:
    """One service, and the commands that make it well; in `grant`, ACCOUNT stands for the function's."""

    api: str
    host_variable: str  # names a local server in its place
    grant: str  # the command that gives the right that is missing
    create: str  # the command that makes what is not there


def diagnosis(check: str, service: Service, error: Exception) -> Finding:
    """The problem that an error of a Google client tells of."""
    error = cause_of(error)
    match error:
        case GoogleAuthError() | Unauthorized():
            return problem(check, f"Google does not know who asks: {words(error)}", LOG_IN)
        case Forbidden() if error.reason == "SERVICE_DISABLED":
            return problem(check, f"{service.api} is not enabled", f"`gcloud services enable {service.api}`")
        case Forbidden():
            return problem(check, f"permission denied: {words(error)}", f"{DEPLOY}, or `{service.grant}`")
        case NotFound():
            return problem(check, f"it is not there: {words(error)}", f"{DEPLOY}, or `{service.create}`")
        case ServiceUnavailable() | DeadlineExceeded():
            return problem(check, f"no answer: {words(error)}", _reach(service))
        case _:
            return problem(check, f"{type(error).__name__}: {words(error)}", "see what it says")


def cause_of(error: Exception) -> Exception:
    """What the last try met, where an error only says that all tries are used up."""
    cause = error.cause if isinstance(error, RetryError) else None
    return cause if isinstance(cause, Exception) else error


def words(error: Exception) -> str:
    """What an error says, in one line."""
    said = error.message if isinstance(error, GoogleAPICallError) else str(error)
    return " ".join(str(said).split())[:WORDS_CHARS] or type(error).__name__


def _reach(service: Service) -> str:
    host = os.environ.get(service.host_variable)
    if host:
        return f"{service.host_variable} names {host}: start it (`make up`), or unset the variable"
    return f"let {service.api} be reached from here, or name a local one in {service.host_variable}"
