"""One-click unsubscribe (RFC 8058) as a mail program does it for the reader of a mail."""

import re
from dataclasses import dataclass

import httpx

from emulator.inbox.mails import Mail

FIELD, VALUE = "List-Unsubscribe", "One-Click"
SECONDS = 20
SHOWN_CHARS = 2000  # of an answer


@dataclass(frozen=True)
class Answered:
    """What came back: a status (0: no answer) and the beginning of the body, or what went wrong."""

    status: int
    body: str


def target(mail: Mail) -> str | None:
    """Where a mail program posts to; None where the mail offers no one-click. Locally http will do."""
    offered = mail.header("List-Unsubscribe-Post") or ""
    if offered.replace(" ", "") != f"{FIELD}={VALUE}":
        return None
    found = re.search(r"<\s*(https?://[^>\s]+)\s*>", mail.header("List-Unsubscribe") or "")
    return found[1] if found else None


def unsubscribe(url: str) -> Answered:
    """Post the one field as a form of several parts, without cookies; a redirect is shown and not followed."""
    try:
        answer = httpx.post(url, files={FIELD: (None, VALUE)}, timeout=SECONDS, follow_redirects=False, trust_env=False)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return Answered(0, f"{type(error).__name__}: {error}")
    return Answered(answer.status_code, answer.text[:SHOWN_CHARS])
