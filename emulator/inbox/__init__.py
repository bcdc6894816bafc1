"""A local SendGrid, a local Resend and a local SMTP relay: each takes mail as the real one does, fails as it may, and
shows what it took. All three share one mailbox, one plan of faults and one clock.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

import httpx

from emulator.process import Server, spawn

DEFAULT_KEY = "SG.local"
RESEND_KEY = "re_local"
SMTP_USER = "apikey"  # its password is the SendGrid key, as at SendGrid's own relay
DEFAULT_VERIFIED = ("example.com", "mail.example")
FULL_ACCESS = ("2fa_required", "mail.send", "sender_verification_eligible", "verified_senders.read", "whitelabel.read")


@dataclass(frozen=True)
class Inbox:
    """The running servers. ``url`` is the host for the sendgrid client, and the inbox for a browser."""

    server: Server
    url: str
    smtp_port: int  # on 127.0.0.1, without TLS
    events_key: str  # verifies the signatures of SendGrid's events

    @property
    def resend_url(self) -> str:
        """What stands for https://api.resend.com."""
        return self.url

    def mails(self, *, to: str | None = None, delivery_id: str | None = None) -> list[dict[str, Any]]:
        """The accepted mails, newest first, as JSON objects; of one recipient or one delivery if asked."""
        wanted = {name: value for name, value in (("to", to), ("delivery_id", delivery_id)) if value is not None}
        mails: list[dict[str, Any]] = self._call("GET", "/api/mails", params=wanted).json()
        return mails

    def mail(self, mail_id: str) -> dict[str, Any]:
        """One mail, its raw request included. Raises httpx.HTTPStatusError when there is none."""
        mail: dict[str, Any] = self._call("GET", f"/api/mails/{mail_id}").json()
        return mail

    def copies(self) -> dict[str, int]:
        """How many mails were accepted of each delivery id since the last clear()."""
        copies: dict[str, int] = self._call("GET", "/api/deliveries").json()
        return copies

    def stats(self) -> dict[str, Any]:
        """What was counted since the start or the last clear(): see Mailbox.stats; how many sends hang now; and
        under ``events`` what became of those: see Counts.
        """
        stats: dict[str, Any] = self._call("GET", "/api/stats").json()
        return stats

    def faults(self, rates: Mapping[str, float] | None = None, **plan: object) -> None:
        """Let these shares of all sends fail: see Plan for the other fields. Without arguments, nothing fails."""
        self._call("PUT", "/faults", json={"rates": dict(rates or {}), **plan})

    def fail_next(self, fault: str, times: int = 1) -> None:
        """Let the next sends fail in this way: see Fault for the ways."""
        self._call("POST", "/faults/next", json={"fault": fault, "times": times})

    def events(self, url: str | None = None, **plan: object) -> None:
        """Post SendGrid's events to this address from now on: see EventPlan for the other fields. Without one: no more."""
        self._call("PUT", "/events", json={"url": url, **plan})

    def emit(self, event: str, mail_id: str | None = None, **fields: object) -> dict[str, Any]:
        """Let this event of a mail (or of none) happen now, and return it. ``fields`` replace what it usually says."""
        happened: dict[str, Any] = self._call(
            "POST", "/events/emit", json={"event": event, "mail_id": mail_id, **fields}
        ).json()
        return happened

    def happened(self, mail_id: str) -> list[dict[str, Any]]:
        """The events of a mail: each one's body, whether it is lost, how often it was posted, how often that failed."""
        events: list[dict[str, Any]] = self._call("GET", f"/events/of/{mail_id}").json()
        return events

    def settled(self) -> None:
        """Wait until every event that is due was posted. Raises TimeoutError when that does not come to an end."""
        self._wait("/events/settled")

    def flush(self) -> None:
        """Let every event be due that was delayed or failed, and wait as settled() does."""
        self._wait("/events/flush")

    def unsubscribe(self, mail_id: str) -> tuple[int, str]:
        """Do what a mail program does at one click; the status that came back (0: none) and the body's beginning."""
        answered = self._call("POST", f"/api/mails/{mail_id}/unsubscribe").json()
        return answered["status"], answered["body"]

    def advance(self, seconds: float) -> datetime:
        """Move the server's clock forward; its new time."""
        answer = self._call("POST", "/clock", json={"advance_seconds": seconds})
        return datetime.fromisoformat(answer.json()["now"])

    def clear(self) -> None:
        """Forget every mail, every event, every count and every idempotency key; the plans stay."""
        self._call("DELETE", "/api/mails")

    def stop(self) -> None:
        """End the server; what hangs ends with it."""
        self._http.close()
        self.server.stop()

    def _wait(self, path: str) -> None:
        if not self._call("POST", path).json()["settled"]:
            raise TimeoutError("events are still being posted")

    def _call(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        return self._http.request(method, self.url + path, **arguments).raise_for_status()

    @cached_property
    def _http(self) -> httpx.Client:
        """One client: to make one costs more than a request. It keeps no connection, so there is none to be closed."""
        return httpx.Client(timeout=90, trust_env=False, limits=httpx.Limits(max_keepalive_connections=0))


def start(
    *,
    port: int = 0,
    smtp_port: int = 0,
    key: str = DEFAULT_KEY,
    verified: tuple[str, ...] = DEFAULT_VERIFIED,
    scopes: tuple[str, ...] = FULL_ACCESS,
    events_url: str | None = None,
) -> Inbox:
    """Start the servers as one process of their own, SendGrid and Resend on ``port``, SMTP on ``smtp_port``.

    ``verified`` are the sender addresses and domains, ``scopes`` what SendGrid's key may do. To
    ``events_url`` its events are posted, as after ``Inbox.events(events_url)``.
    """
    lists = [f"--verified={name}" for name in verified] + [f"--scope={scope}" for scope in scopes]
    lists += [f"--events-url={events_url}"] if events_url else []
    server = spawn("emulator.inbox", "--port", str(port), "--smtp-port", str(smtp_port), "--key", key, *lists)
    return Inbox(server, server.addresses["url"], int(server.addresses["smtp_port"]), server.addresses["events_key"])
