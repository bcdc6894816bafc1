"""The addresses for tests and the demo: the kept mails as JSON, the counts, the faults, the clock."""

from dataclasses import asdict
from datetime import timedelta

from flask import Blueprint, Response, abort, jsonify, request

from emulator.inbox import one_click
from emulator.inbox.asked import json_body, refusal
from emulator.inbox.faults import Fault, FaultPlanError, Faults, Plan, read_plan
from emulator.inbox.mails import Mail
from emulator.inbox.shared import Shared


def blueprint(shared: Shared) -> Blueprint:
    """The control addresses as Flask routes."""
    routes = Blueprint("control", __name__)
    _mail_routes(routes, shared)
    _fault_routes(routes, shared.faults)

    @routes.post("/clock")
    def advance() -> Response:
        seconds = json_body().get("advance_seconds")
        if not isinstance(seconds, int | float) or seconds < 0:
            abort(refusal("advance_seconds is a number, at least 0"))
        now = shared.clock.advance(timedelta(seconds=seconds))
        shared.outbox.wake()
        return jsonify(now=now.isoformat())

    return routes


def _mail_routes(routes: Blueprint, shared: Shared) -> None:
    mailbox = shared.mailbox

    @routes.get("/api/mails")
    def mails() -> Response:
        to, delivery_id = request.args.get("to"), request.args.get("delivery_id")
        return jsonify(
            [
                as_json(mail)
                for mail in mailbox.newest_first()
                if (to is None or mail.names(to)) and (delivery_id is None or mail.delivery_id == delivery_id)
            ]
        )

    @routes.get("/api/mails/<mail_id>")
    def one(mail_id: str) -> Response:
        mail = mailbox.get(mail_id) or abort(404)
        return jsonify({**as_json(mail), "raw": mail.raw})

    @routes.post("/api/mails/<mail_id>/unsubscribe")
    def unsubscribe(mail_id: str) -> Response:
        url = one_click.target(mailbox.get(mail_id) or abort(404))
        return jsonify(asdict(one_click.unsubscribe(url))) if url else abort(refusal("the mail offers no one-click"))

    @routes.delete("/api/mails")
    def clear() -> Response:
        shared.clear()
        return Response(status=204)

    @routes.get("/api/deliveries")
    def deliveries() -> Response:
        return jsonify(mailbox.copies())

    @routes.get("/api/stats")
    def stats() -> Response:
        return jsonify({**mailbox.stats(), "hanging": shared.faults.hanging, "events": shared.outbox.stats()})


def _fault_routes(routes: Blueprint, faults: Faults) -> None:
    @routes.put("/faults")
    def use() -> Response:
        try:
            faults.use(read_plan(json_body()))
        except FaultPlanError as error:
            abort(refusal(str(error)))
        return Response(status=204)

    @routes.delete("/faults")
    def end() -> Response:
        faults.use(Plan())
        return Response(status=204)

    @routes.post("/faults/next")
    def order() -> Response:
        wanted = json_body()
        times = wanted.get("times", 1)
        if wanted.get("fault") not in list(Fault) or type(times) is not int or times < 1:
            abort(refusal(f"fault is one of {', '.join(Fault)}; times is an integer, at least 1"))
        faults.order(Fault(wanted["fault"]), times)
        return Response(status=204)


def as_json(mail: Mail) -> dict[str, object]:
    """A mail as the list shows it: everything but the raw request."""
    return {
        "id": mail.id,
        "provider": mail.provider,
        "message_id": mail.message_id,
        "delivery_id": mail.delivery_id,
        "number": mail.number,
        "copy": mail.copy,
        "received_at": mail.received_at.isoformat(),
        "from": mail.sender,
        "to": mail.to,
        "cc": mail.cc,
        "bcc": mail.bcc,
        "subject": mail.subject,
        "text": mail.text,
        "html": mail.html,
        "headers": mail.headers,
        "custom_args": mail.custom_args,
        "attachments": [asdict(file) for file in mail.attachments],
    }
