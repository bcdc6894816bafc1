"""How Resend refuses: status, name and message as in its list of errors (https://resend.com/docs/api-reference/errors)."""

from dataclasses import dataclass, field

from flask import Response, jsonify

from emulator.inbox.faults import Fault, Plan

RATE_LIMIT = 2  # requests a second; only ever shown in a throttled answer


@dataclass(frozen=True)
class Refusal:
    """The answer to a request that is not taken."""

    status: int
    name: str
    message: str
    headers: dict[str, str] = field(default_factory=dict)

    def response(self) -> Response:
        """The answer: JSON with statusCode, name and message."""
        answer = jsonify(statusCode=self.status, name=self.name, message=self.message)
        answer.status_code = self.status
        answer.headers.update(self.headers)
        return answer


class Refused(Exception):
    """A request is not taken, for this reason."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


MISSING_KEY = Refusal(401, "missing_api_key", "Missing API Key")
# The sending addresses say so of an unknown key; an older edition of the list has 403 invalid_api_key instead.
WRONG_KEY = Refusal(401, "validation_error", "API key is invalid")
BAD_JSON = Refusal(400, "validation_error", "The request body is not valid JSON.")
BAD_IDEMPOTENCY_KEY = Refusal(400, "invalid_idempotency_key", "The key must be between 1-256 chars.")
OTHER_PAYLOAD = Refusal(
    409, "invalid_idempotent_request", "Same idempotency key used with a different request payload."
)
IN_PROGRESS = Refusal(
    409, "concurrent_idempotent_requests", "Same idempotency key used while original request is still in progress."
)


def missing(name: str) -> Refusal:
    """A field that must be there and is not."""
    return Refusal(422, "missing_required_field", f"Missing `{name}` field.")


def invalid(name: str, why: str) -> Refusal:
    """A field whose value cannot be used."""
    return Refusal(422, "validation_error", f"Invalid `{name}` field. {why}")


def unverified(domain: str) -> Refusal:
    """A sender whose domain nobody has shown to be theirs."""
    message = f"The {domain} domain is not verified. Please, add and verify your domain on https://resend.com/domains"
    return Refusal(403, "validation_error", message)


def because_of(fault: Fault, plan: Plan) -> Refusal:
    """The refusal in which a fault shows."""
    match fault:
        case Fault.THROTTLE:
            return _throttled(plan.pause)
        case Fault.UNAVAILABLE:
            return Refusal(503, "service_unavailable", "Service is temporarily unavailable.")
        case Fault.UNAUTHORIZED:
            return WRONG_KEY
        case Fault.REFUSE:
            return invalid("to", "This address cannot receive mail.")
        case _:
            return Refusal(500, "internal_server_error", "An unexpected error occurred.")


def _throttled(seconds: int) -> Refusal:
    message = f"Too many requests. You can only make {RATE_LIMIT} requests per second."
    left = {"ratelimit-limit": str(RATE_LIMIT), "ratelimit-remaining": "0", "ratelimit-reset": str(seconds)}
    return Refusal(429, "rate_limit_exceeded", message, {**left, "retry-after": str(seconds)})
