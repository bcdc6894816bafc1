"""What an account says of itself: ``GET /v3/scopes``, ``/v3/verified_senders`` and ``/v3/whitelabel/domains``.

Shapes as in Twilio's API reference ("Retrieve a list of scopes", "Get All Verified Senders", "List all authenticated
domains") and in public answers; a key without the scope is told "access forbidden" (sendgrid-ruby#393).
"""

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass

from flask import Blueprint, Response, jsonify, request

from emulator.inbox import FULL_ACCESS
from emulator.inbox.shapes import Problem

SEND = "mail.send"
MOST_DOMAINS = 50  # a page where no limit is asked for
UNAUTHORIZED = Problem("authorization required")  # of every address but the sending one
FORBIDDEN = Problem("access forbidden")


@dataclass(frozen=True)
class Account:
    """What this SendGrid account accepts: its key and what that may do, its verified addresses and domains in lower case."""

    key: str
    verified: frozenset[str]
    scopes: frozenset[str] = frozenset(FULL_ACCESS)


def blueprint(account: Account) -> Blueprint:
    """The three addresses as Flask routes."""
    routes = Blueprint("account", __name__)
    names = sorted(account.verified)
    senders = [_sender(number, name) for number, name in enumerate(names, 1) if "@" in name]
    domains = [_domain(number, name) for number, name in enumerate(names, 1) if "@" not in name]

    @routes.get("/v3/scopes")
    def scopes() -> Response:
        return _guarded(account, None, lambda: jsonify(scopes=sorted(account.scopes)))

    @routes.get("/v3/verified_senders")
    def verified_senders() -> Response:
        limit = request.args.get("limit", len(senders), type=int)
        return _guarded(account, "verified_senders.read", lambda: jsonify(results=senders[:limit]))

    @routes.get("/v3/whitelabel/domains")
    def authenticated_domains() -> Response:
        wanted = request.args.get("domain", "").lower()
        offset = request.args.get("offset", 0, type=int)
        limit = request.args.get("limit", MOST_DOMAINS, type=int)
        found = [entry for entry in domains if wanted in ("", entry["domain"])]
        return _guarded(account, "whitelabel.read", lambda: jsonify(found[offset : offset + limit]))

    return routes


def errors(status: int, *found: Problem) -> Response:
    """An answer in the service's own form of refusal."""
    body = json.dumps({"errors": [dataclasses.asdict(problem) for problem in found]})
    return Response(body, status, mimetype="application/json")


def _guarded(account: Account, scope: str | None, answer: Callable[[], Response]) -> Response:
    if request.headers.get("Authorization") != f"Bearer {account.key}":
        return errors(401, UNAUTHORIZED)
    if scope is not None and scope not in account.scopes:
        return errors(403, FORBIDDEN)
    return answer()


def _sender(number: int, address: str) -> dict[str, object]:
    place = {
        "address": "1 Main Street",
        "address2": "",
        "city": "Denver",
        "state": "CO",
        "zip": "80202",
        "country": "USA",
    }
    who = {"nickname": address, "from_email": address, "from_name": "", "reply_to": address, "reply_to_name": ""}
    return {"id": number, **who, **place, "verified": True, "locked": False}


def _domain(number: int, domain: str) -> dict[str, object]:
    records = {f"em{number}": "mail_cname", "s1._domainkey": "dkim1", "s2._domainkey": "dkim2"}
    dns = {
        name: {
            "valid": True,
            "type": "cname",
            "host": f"{label}.{domain}",
            "data": f"{label}.u{number}.wl.sendgrid.net",
        }
        for label, name in records.items()
    }
    flags = {"custom_spf": False, "default": False, "legacy": False, "automatic_security": True, "valid": True}
    return {
        "id": number,
        "user_id": 1,
        "subdomain": f"em{number}",
        "domain": domain,
        "username": "local",
        "ips": [],
        **flags,
        "dns": dns,
    }
