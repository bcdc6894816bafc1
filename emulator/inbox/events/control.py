"""The addresses by which tests and the demo turn events on, order them, and wait for them."""

from collections.abc import Callable
from typing import Any

from flask import Blueprint, Response, abort, jsonify

from emulator.inbox.asked import json_body, refusal
from emulator.inbox.events.happening import Happened, ordered
from emulator.inbox.events.plan import EventPlanError, read_plan
from emulator.inbox.shared import Shared

LONGEST_WAIT = 60  # seconds


def blueprint(shared: Shared, start: Callable[[], None]) -> Blueprint:
    """The control addresses as Flask routes; ``start`` begins to post."""
    routes = Blueprint("events", __name__, url_prefix="/events")
    outbox, mailbox, clock = shared.outbox, shared.mailbox, shared.clock

    @routes.put("")
    def use() -> Response:
        try:
            outbox.use(read_plan(json_body()))
        except EventPlanError as error:
            abort(refusal(str(error)))
        start()
        return Response(status=204)

    @routes.post("/emit")
    def emit() -> Response:
        wanted = json_body()
        mail_id = wanted.pop("mail_id", None)
        mail = None if mail_id is None else mailbox.get(mail_id) or abort(404)
        if not isinstance(wanted.get("event"), str) or outbox.plan.url is None:
            abort(refusal("event is a string, and events have a url"))
        happened = ordered(mail, wanted, clock.now())
        outbox.put([happened])
        return jsonify(happened.body)

    @routes.post("/flush")
    def flush() -> Response:
        outbox.flush()
        return settled()

    @routes.post("/settled")
    def settled() -> Response:
        return jsonify(settled=outbox.settled(LONGEST_WAIT))

    @routes.get("/of/<mail_id>")
    def of(mail_id: str) -> Response:
        return jsonify([as_json(happened) for happened in outbox.of(mail_id)])

    return routes


def as_json(happened: Happened) -> dict[str, Any]:
    """An event as it is posted, and what became of telling it."""
    told = {"lost": happened.lost, "posted": happened.posted, "failed": happened.failed}
    return {"body": happened.body, **told}
