"""The edge to HTTP: which methods, which callers, which bodies; every request gets an explicit answer."""

import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from math import ceil
from typing import Any, TypeVar

from flask import Request, Response

from ledgermail.errors import InvalidId, LedgermailError, LedgerUnavailable
from ledgermail.log import log, trace

BODY_BYTES = 100_000  # ours are a few hundred
UNAVAILABLE_WAIT = timedelta(seconds=30)


@dataclass(frozen=True)
class Refused(Exception):  # an answer, not a fault
    """The request cannot be served: its HTTP status, and why."""

    status: int
    reason: str


Body = dict[str, Any]
Guard = Callable[[Request], None]
Read = TypeVar("Read")


def serve(
    request: Request,
    *,
    methods: frozenset[str],
    guard: Guard,
    act: Callable[[Read], Response],
    read: Callable[[Request], Read],
) -> Response:
    """Answer a request: the method first, then who is calling, and only then what it says. No refusal has a side effect."""
    token = trace.set(_trace_of(request))
    try:
        if request.method not in methods:
            raise Refused(405, f"use {' or '.join(sorted(methods))}")
        guard(request)
        return act(read(request))
    except Refused as refused:
        log("request.refused", severity="WARNING", status=refused.status, reason=refused.reason)
        response = answer({"error": refused.reason}, refused.status)
        if refused.status == 405:
            response.headers["Allow"] = ", ".join(sorted(methods))
        return response
    except InvalidId as error:
        return answer({"error": str(error)}, 400)
    except LedgerUnavailable as error:
        log("request.put_off", severity="WARNING", error=str(error))
        return put_off({"error": "the ledger is not available"}, UNAVAILABLE_WAIT)
    except LedgermailError as error:
        log("request.failed", severity="ERROR", error=f"{type(error).__name__}: {error}")
        return answer({"error": type(error).__name__}, 500)
    finally:
        trace.reset(token)  # a thread serves many, and what it logs between them is of none


def answer(body: Mapping[str, Any], status: int = 200) -> Response:
    """A JSON answer."""
    return Response(json.dumps(body), status, content_type="application/json")


def put_off(body: Mapping[str, Any], wait: timedelta) -> Response:
    """503: come again after this long. Cloud Tasks slows the whole queue down for it."""
    response = answer(body, 503)
    response.headers["Retry-After"] = str(max(1, ceil(wait.total_seconds())))
    return response


def anybody(_request: Request) -> None:
    """The guard of functions that IAM guards."""


def holder_of(key: str) -> Guard:
    """The guard of a shared secret, in the header X-Ledgermail-Key or, for tools that only know URLs, as `key`."""

    def guard(request: Request) -> None:
        shown = request.headers.get("X-Ledgermail-Key") or request.args.get("key", "")
        if not key or not hmac.compare_digest(shown.encode(), key.encode()):
            raise Refused(403, "the key is missing or wrong")

    return guard


def text_of(body: Body, name: str) -> str:
    """A field that must be there, as text."""
    value = body.get(name)
    if not isinstance(value, str) or not value:
        raise Refused(400, f"{name}: must be text, and not empty")
    return value


def key_of(body: Body, name: str) -> str:
    """A field that must be there, as the id of a document: with a slash it would name another collection."""
    value = text_of(body, name)
    if "/" in value:
        raise Refused(400, f"{name}: must not have a slash")
    return value


def flag_of(body: Body, name: str) -> bool:
    """A field that is true or false, and false when it is missing."""
    value = body.get(name, False)
    if not isinstance(value, bool):
        raise Refused(400, f"{name}: must be true or false")
    return value


def number_of(body: Body, name: str) -> int:
    """A field that is a whole number of at least 0, and 0 when it is missing."""
    value = body.get(name, 0)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise Refused(400, f"{name}: must be a whole number of at least 0")
    return value


def raw_body(request: Request, most: int = BODY_BYTES) -> bytes:
    """The bytes of a request, at most so many."""
    raw: bytes = request.stream.read(most + 1)  # a body that comes in chunks does not say its length
    if len(raw) > most:
        raise Refused(413, f"the body is larger than {most} bytes")
    return raw


def json_body(request: Request) -> Body:
    """The JSON object of a request, whatever its content type says (Cloud Scheduler's is octet-stream); {} for nothing."""
    raw = raw_body(request)
    try:
        body = json.loads(raw) if raw.strip() else {}
    except (ValueError, RecursionError) as error:
        raise Refused(400, "the body is not JSON") from error
    if not isinstance(body, dict):
        raise Refused(400, "the body is not a JSON object")
    return body


def _trace_of(request: Request) -> str:
    return request.headers.get("X-Cloud-Trace-Context", "").partition("/")[0]
