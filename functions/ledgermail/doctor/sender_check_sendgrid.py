"""The doctor's look at SendGrid: the key is accepted and may send, and who writes is verified. Nothing is sent.

The three addresses are those of Twilio's API reference: GET /v3/scopes, /v3/verified_senders, /v3/whitelabel/domains.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import httpx

from ledgermail.doctor.finding import Finding, ok, problem, unseen
from ledgermail.settings import Settings

MOST_SENDERS = 100  # an account's single senders; more of its mail comes from domains
NEW_KEY = (
    "make a key with Mail Send in SendGrid (Settings, API Keys), and store it as LEDGERMAIL_SENDGRID_KEY; "
    "a key of the EU works only with LEDGERMAIL_SENDGRID_URL=https://api.eu.sendgrid.com"
)
VERIFY = "verify it in SendGrid (Settings, Sender Authentication), or change LEDGERMAIL_SENDER"
REACH = "let LEDGERMAIL_SENDGRID_URL be reached from here, or change it"

Entries = Sequence[Any]


def sender(settings: Settings) -> Iterator[Finding]:
    """A finding for the key and one for the sender."""
    key, seconds = settings.secrets["SENDGRID_KEY"], settings.provider_timeout.total_seconds()
    if not key:
        yield from (unseen(check, "needs the SendGrid key") for check in ("key", "sender"))
        return
    try:
        with httpx.Client(
            base_url=settings.sendgrid_url, headers={"Authorization": f"Bearer {key}"}, timeout=seconds
        ) as http:
            yield _key(http.get("/v3/scopes"))
            yield _sender(http, settings.sender)
    except httpx.HTTPError as error:  # its words could hold the key
        yield problem("sendgrid", f"{settings.sendgrid_url}: {type(error).__name__}", REACH)


def _key(answer: httpx.Response) -> Finding:
    if answer.status_code == httpx.codes.UNAUTHORIZED:
        return problem("key", "SendGrid does not accept it", NEW_KEY)
    if answer.status_code == httpx.codes.FORBIDDEN:
        return unseen("key", "SendGrid accepts it, and does not let it see what it may do")
    scopes = _member(answer, "scopes")
    if scopes is None:
        return problem("key", f"SendGrid answers {answer.status_code}, and not as it should", REACH)
    if "mail.send" not in scopes:
        return problem("key", "SendGrid accepts it, and it may not send (mail.send)", NEW_KEY)
    return ok("key", "SendGrid accepts it, and it may send")


def _sender(http: httpx.Client, address: str) -> Finding:
    domain = address.rpartition("@")[2]
    senders = _member(http.get("/v3/verified_senders", params={"limit": MOST_SENDERS}), "results")
    domains = _member(http.get("/v3/whitelabel/domains", params={"domain": domain}))
    return identity(address, senders, domains)


def identity(address: str, senders: Entries | None, domains: Entries | None) -> Finding:
    """Whether SendGrid takes mail from this address, by its lists of senders and domains; None: it does not show one."""
    domain = address.rpartition("@")[2]
    same = [entry.get("verified") is True for entry in _maps(senders) if _is(entry.get("from_email"), address)]
    same += [entry.get("valid") is True for entry in _maps(domains) if _is(entry.get("domain"), domain)]
    if any(same):
        return ok("sender", f"{address} is verified")
    if senders is None or domains is None:
        hidden = (
            "verified senders" if domains is not None else "domains" if senders is not None else "senders and domains"
        )
        return unseen("sender", f"whether {address} is verified: the key may not see {hidden}")
    if same:
        return problem("sender", f"{address} is waiting to be verified", VERIFY)
    return problem("sender", f"neither {address} nor {domain} is verified", VERIFY)


def _maps(entries: Entries | None) -> Iterator[Mapping[str, Any]]:
    return (entry for entry in entries or () if isinstance(entry, Mapping))


def _is(name: object, wanted: str) -> bool:
    return isinstance(name, str) and name.lower() == wanted.lower()


def _member(answer: httpx.Response, name: str | None = None) -> list[Any] | None:
    """The list in an answer, or under a name in it; None where the answer is another."""
    try:
        body = answer.json() if answer.status_code == httpx.codes.OK else None
    except (ValueError, RecursionError):
        return None
    found = body.get(name) if name is not None and isinstance(body, dict) else body
    return found if isinstance(found, list) else None
