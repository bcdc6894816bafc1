"""The functions, and nothing else: each entry point hands its request to the part of the same name.

Where it is deployed (K_SERVICE is set), bad settings refuse the start, so that such a revision never gets a request.
"""

import gc
import os

import functions_framework
from flask import Request, Response

from ledgermail import endpoints
from ledgermail.app import app

# The libraries make some 60,000 objects that stay: looking them through every 700 is a tenth of a cold start.
gc.set_threshold(50_000)

if "K_SERVICE" in os.environ:
    app()


@functions_framework.http
def scan(request: Request) -> Response:
    """Cloud Scheduler, every minute: new matches become deliveries."""
    return endpoints.scan(app(), request)


@functions_framework.http
def plan(request: Request) -> Response:
    """Cloud Scheduler, every five minutes: runs that are due are opened and planned."""
    return endpoints.plan(app(), request)


@functions_framework.http
def deliver(request: Request) -> Response:
    """Cloud Tasks: one wake-up of one delivery."""
    return endpoints.deliver(app(), request)


@functions_framework.http
def sweep(request: Request) -> Response:
    """Cloud Scheduler, every few minutes: what got stuck goes on."""
    return endpoints.sweep(app(), request)


@functions_framework.http
def prune(request: Request) -> Response:
    """Cloud Scheduler, twice a day: what is past its retention goes."""
    return endpoints.prune(app(), request)


@functions_framework.http
def status(request: Request) -> Response:
    """Monitoring and operators: what became of everything."""
    return endpoints.status(app(), request)


@functions_framework.http
def events(request: Request) -> Response:
    """SendGrid's Event Webhook: what became of the mails that it took."""
    return endpoints.events(app(), request)


@functions_framework.http
def preferences(request: Request) -> Response:
    """Readers and their mailboxes, by the link in every mail: what they get, and when."""
    return endpoints.preferences(app(), request)


@functions_framework.http
def console(request: Request) -> Response:
    """Support staff: what became of a mail, and what can be done about it."""
    return endpoints.console(app(), request)


@functions_framework.http
def trigger(request: Request) -> Response:
    """Any other scheduler, by a shared key: starts any of the above."""
    return endpoints.trigger(app(), request)
