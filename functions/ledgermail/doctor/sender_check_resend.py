"""The doctor's look at Resend: the key is accepted, and the domain of who writes is verified. Nothing is sent.

The address is that of Resend's API reference: GET /domains. A key that may only send, as one should have, may not see it.
"""

from collections.abc import Iterator
from typing import Any

import httpx

from ledgermail.doctor.finding import Finding, ok, problem, unseen
from ledgermail.providers.provider_http import json_object
from ledgermail.settings import Settings

MOST_DOMAINS = 100  # in one answer
NEW_KEY = "make a key with Sending access in Resend (API Keys), and store it as LEDGERMAIL_RESEND_KEY"
VERIFY = "verify it in Resend (Domains), or change LEDGERMAIL_SENDER"
REACH = "let LEDGERMAIL_RESEND_URL be reached from here, or change it"
RESTRICTED = "restricted_api_key"


def sender(settings: Settings) -> Iterator[Finding]:
    """A finding for the key and one for the sender."""
    key, seconds = settings.secrets["RESEND_KEY"], settings.provider_timeout.total_seconds()
    if not key:
        yield from (unseen(check, "needs the Resend key") for check in ("key", "sender"))
        return
    url, headers = f"{settings.resend_url}/domains", {"Authorization": f"Bearer {key}"}
    try:
        answer = httpx.get(url, params={"limit": MOST_DOMAINS}, headers=headers, timeout=seconds)
    except httpx.HTTPError as error:  # its words could hold the key
        yield problem("resend", f"{settings.resend_url}: {type(error).__name__}", REACH)
        return
    yield from found(answer.status_code, json_object(answer.content), settings.sender)


def found(status: int, answer: dict[str, Any], address: str) -> Iterator[Finding]:
    """What an answer to GET /domains says of the key and of this sender."""
    domains = answer.get("data")
    if answer.get("name") == RESTRICTED:
        yield ok("key", "Resend accepts it, and it may only send")
        yield unseen("sender", f"whether {address} is verified: the key may not see domains")
    elif status in {httpx.codes.BAD_REQUEST, httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN}:
        yield problem("key", "Resend does not accept it", NEW_KEY)
    elif status != httpx.codes.OK or not isinstance(domains, list):
        yield problem("key", f"Resend answers {status}, and not as it should", REACH)
    else:
        yield ok("key", "Resend accepts it; one with Sending access alone would be enough")
        yield _domain(domains, address)


def _domain(domains: list[Any], address: str) -> Finding:
    domain = address.rpartition("@")[2].lower()
    statuses = [d.get("status") for d in domains if isinstance(d, dict) and str(d.get("name")).lower() == domain]
    if "verified" in statuses:
        return ok("sender", f"{domain} is verified")
    if statuses:
        return problem("sender", f"{domain} is {str(statuses[0]).replace('_', ' ')}", VERIFY)
    if len(domains) >= MOST_DOMAINS:
        return unseen("sender", f"whether {domain} is verified: there are more domains than are shown")
    return problem("sender", f"{domain} is not there", VERIFY)
