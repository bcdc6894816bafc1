"""Which page an address names."""

from functools import cache

from flask import Request
from werkzeug.routing import Map, MapAdapter, Rule


@cache
def _map() -> Map:
    reading, acting = ["GET"], ["GET", "POST"]
    rules = [
        Rule("/", endpoint="overview", methods=reading),
        Rule("/runs/<run_key>", endpoint="run", methods=reading),
        Rule("/recipients/<user_id>", endpoint="recipient", methods=reading),
        Rule("/deliveries/<delivery_id>", endpoint="delivery", methods=reading),
        Rule("/record", endpoint="record", methods=reading),
        Rule("/search", endpoint="search", methods=["POST"]),
        Rule("/session", endpoint="session", methods=["POST"]),
        # A GET of these asks, and the POST does it.
        Rule("/deliveries/<delivery_id>/<any(retry, cancel, settle):act>", endpoint="override", methods=acting),
        Rule("/recipients/<user_id>/lift", endpoint="lift", methods=acting),
        Rule("/mail/<any(pause, resume):act>", endpoint="gate", methods=acting),
    ]
    return Map(rules, merge_slashes=False)


def bound(request: Request) -> MapAdapter:
    """The routes below wherever the function answers: `/` in the cloud, `/console` on one machine."""
    return _map().bind_to_environ(request.environ)
