"""What a control address is asked, and how it refuses."""

from typing import Any

from flask import Response, abort, jsonify, request


def json_body() -> dict[str, Any]:
    """The request's JSON object; anything else is refused."""
    body = request.get_json(force=True, silent=True)
    return body if isinstance(body, dict) else abort(refusal("the body is a JSON object"))


def refusal(reason: str) -> Response:
    """The answer 400 with its reason."""
    answer = jsonify(error=reason)
    answer.status_code = 400
    return answer
