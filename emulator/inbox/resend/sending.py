"""``POST /emails``: what Resend checks, its idempotency keys, then the fault this try meets."""

import hmac
from hashlib import sha256
from typing import Any
from uuid import uuid4

from flask import Blueprint, Response, jsonify, request

from emulator.inbox import RESEND_KEY, failing
from emulator.inbox.faults import KEEPING, Fault
from emulator.inbox.mails import Mail
from emulator.inbox.resend.reading import read
from emulator.inbox.resend.refusals import BAD_JSON, MISSING_KEY, WRONG_KEY, Refused, because_of
from emulator.inbox.shared import Shared


def blueprint(shared: Shared) -> Blueprint:
    """The send address as a Flask route."""
    routes = Blueprint("resend", __name__)
    mailbox, faults, clock, keys = shared.mailbox, shared.faults, shared.clock, shared.keys

    @routes.post("/emails")
    def send() -> Response:
        idempotency_key = request.headers.get("Idempotency-Key")
        try:
            mail = read(_body(), shared.account.verified, str(uuid4()), clock.now())
            answered = keys.claim(idempotency_key, _fingerprint(), mail.received_at)
        except Refused as refused:
            mailbox.count(str(refused.refusal.status), None)
            return refused.refusal.response()
        try:
            return _take(mail, answered, idempotency_key)
        finally:
            keys.release(idempotency_key)

    def _take(mail: Mail, answered: str | None, idempotency_key: str | None) -> Response:
        fault = faults.meet(mail.delivery_id or idempotency_key or _fingerprint())
        if answered is None and (fault is None or fault in KEEPING):
            mailbox.keep([mail])
            keys.settle(idempotency_key, mail.message_id)
        accepted = jsonify(id=answered or mail.message_id)
        answer = failing.answer(fault, accepted, faults, _refused)
        mailbox.count(str(answer.status_code) if answer else "none", fault)
        if answer is None:
            raise failing.NoAnswerError
        return answer

    def _refused(fault: Fault) -> Response:
        return because_of(fault, faults.plan).response()

    return routes


def _body() -> dict[str, Any]:
    """The request's JSON object, when its key may send. Raises Refused."""
    given = request.headers.get("Authorization", "")
    if not given.startswith("Bearer "):
        raise Refused(MISSING_KEY)
    if not hmac.compare_digest(given.removeprefix("Bearer ").encode(), RESEND_KEY.encode()):
        raise Refused(WRONG_KEY)
    body = request.get_json(force=True, silent=True)
    if not isinstance(body, dict):
        raise Refused(BAD_JSON)
    return body


def _fingerprint() -> str:
    return sha256(request.get_data()).hexdigest()
