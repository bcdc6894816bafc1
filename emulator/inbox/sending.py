"""``POST /v3/mail/send``: what the real service checks, in its order, then the fault this try meets."""

import json
import secrets
from hashlib import sha256
from typing import cast

from flask import Blueprint, Response, request

from emulator.clock import Clock
from emulator.inbox import failing
from emulator.inbox.account import FORBIDDEN, SEND, Account, errors
from emulator.inbox.events.happening import happenings
from emulator.inbox.faults import KEEPING, Fault, Faults
from emulator.inbox.mails import DELIVERY_ID, mails_of
from emulator.inbox.shapes import BAD_REQUEST, Problem, SendBody
from emulator.inbox.shared import Shared
from emulator.inbox.validation import problems, sender_problem

LARGEST_BODY = 30 * 1024 * 1024  # bytes, attachments included
RATE_LIMIT = 600  # requests; only ever shown in a throttled answer
_ROUTES = ["GET", "POST", "PUT", "PATCH", "DELETE"]
# The edge in front of the API answers this, not the API: it is HTML (sendgrid-nodejs#370).
_TOO_LARGE = (
    "<html>\r\n<head><title>413 Request Entity Too Large</title></head>\r\n<body>\r\n"
    "<center><h1>413 Request Entity Too Large</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
)
_UNAUTHORIZED = Problem("The provided authorization grant is invalid, expired, or revoked")


def blueprint(shared: Shared) -> Blueprint:
    """The send address as Flask routes."""
    routes = Blueprint("sending", __name__)
    account, mailbox, faults, clock = shared.account, shared.mailbox, shared.faults, shared.clock

    @routes.route("/v3/mail/send", methods=_ROUTES)
    def send() -> Response:
        checked = _checked(account)
        if isinstance(checked, Response):
            mailbox.count(str(checked.status_code), None)
            return checked
        fault = faults.meet(_message_key(checked))
        message_id = secrets.token_urlsafe(16)
        sandbox = checked.get("mail_settings", {}).get("sandbox_mode", {}).get("enable")
        if not sandbox and (fault is None or fault in KEEPING):
            kept = mailbox.keep(mails_of(checked, message_id, clock.now()))
            shared.outbox.put(happenings(kept, shared.outbox.plan, clock.now()))
        accepted = Response(status=200 if sandbox else 202, headers={"X-Message-Id": message_id})
        answer = failing.answer(fault, accepted, faults, lambda met: _refusal(met, faults, clock))
        mailbox.count(str(answer.status_code) if answer else "none", fault)
        if answer is None:
            raise failing.NoAnswerError
        return answer

    return routes


def _checked(account: Account) -> SendBody | Response:
    """The request's body when the service would take it, or the service's refusal."""
    if request.method != "POST":
        return errors(405, Problem("POST method allowed only"))
    if request.headers.get("Authorization") != f"Bearer {account.key}":
        return errors(401, _UNAUTHORIZED)
    if SEND not in account.scopes:
        return errors(403, FORBIDDEN)
    if request.mimetype != "application/json":
        return errors(415, Problem("Content-Type should be application/json."))
    if (request.content_length or 0) > LARGEST_BODY:
        return Response(_TOO_LARGE, 413, mimetype="text/html")
    try:
        body = _parsed(request.get_data())
    except (ValueError, RecursionError):
        return errors(400, BAD_REQUEST)
    found = problems(body)
    if found:
        return errors(400, *found)
    unverified = sender_problem(cast("SendBody", body), account.verified)
    return errors(403, unverified) if unverified else cast("SendBody", body)


def _parsed(data: bytes) -> object:
    """Parse as Go's decoder does: invalid UTF-8 and lone surrogates become the replacement character."""
    text = json.dumps(json.loads(data.decode(errors="replace")), ensure_ascii=False)
    return json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def _message_key(body: SendBody) -> str:
    """What makes a try a try of the same message: the delivery id, or else the whole body."""
    custom_args = {**body.get("custom_args", {}), **body["personalizations"][0].get("custom_args", {})}
    return custom_args.get(DELIVERY_ID) or sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()


def _refusal(fault: Fault, faults: Faults, clock: Clock) -> Response:
    match fault:
        case Fault.THROTTLE:
            return _throttled(faults, clock)
        case Fault.UNAVAILABLE:
            return errors(503, Problem("Service Unavailable"))
        case Fault.UNAUTHORIZED:
            return errors(401, _UNAUTHORIZED)
        case Fault.REFUSE:
            return errors(400, Problem("Does not contain a valid address.", "personalizations.0.to.0.email"))
        case _:
            return errors(500, Problem("Internal Server Error"))


def _throttled(faults: Faults, clock: Clock) -> Response:
    answer = errors(429, Problem("too many requests"))
    answer.headers["X-RateLimit-Limit"] = str(RATE_LIMIT)
    answer.headers["X-RateLimit-Remaining"] = "0"
    answer.headers["X-RateLimit-Reset"] = str(int(clock.now().timestamp()) + faults.plan.pause)
    if faults.plan.retry_after is not None:
        answer.headers["Retry-After"] = str(faults.plan.retry_after)
    return answer
