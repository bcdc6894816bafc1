"""A local SendGrid, a local Resend and a local SMTP relay: each takes mail as the real one does, fails as it may, and
shows what it took. All three share one mailbox, one plan of faults and one clock.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
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
        """What was counted since the start or the last clear(): see Mailbox.stats; and how many sends hang now."""
        stats: dict[str, Any] = self._call("GET", "/api/stats").json()
        return stats

    def faults(self, rates: Mapping[str, float] | None = None, **plan: object) -> None:
        """Let these shares of all sends fail: see Plan for the other fields. Without arguments, nothing fails."""
        self._call("PUT", "/faults", json={"rates": dict(rates or {}), **plan})

    def fail_next(self, fault: str, times: int = 1) -> None:
        """Let the next sends fail in this way: see Fault for the ways."""
        self._call("POST", "/faults/next", json={"fault": fault, "times": times})

    def advance(self, seconds: float) -> datetime:
        """Move the server's clock forward; its new time."""
        answer = self._call("POST", "/clock", json={"advance_seconds": seconds})
        return datetime.fromisoformat(answer.json()["now"])

    def clear(self) -> None:
        """Forget every mail, every count and every idempotency key; the faults stay."""
        self._call("DELETE", "/api/mails")

    def stop(self) -> None:
        """End the server; what hangs ends with it."""
        self.server.stop()

    def _call(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        return httpx.request(method, self.url + path, timeout=30, trust_env=False, **arguments).raise_for_status()


def start(
    *,
    port: int = 0,
    smtp_port: int = 0,
    key: str = DEFAULT_KEY,
    verified: tuple[str, ...] = DEFAULT_VERIFIED,
    scopes: tuple[str, ...] = FULL_ACCESS,
) -> Inbox:
    """Start the servers as one process of their own, SendGrid and Resend on ``port``, SMTP on ``smtp_port``.

    ``verified`` are the sender addresses and domains, ``scopes`` what SendGrid's key may do.
    """
    lists = [f"--verified={name}" for name in verified] + [f"--scope={scope}" for scope in scopes]
    server = spawn("emulator.inbox", "--port", str(port), "--smtp-port", str(smtp_port), "--key", key, *lists)
    return Inbox(server, server.addresses["url"], int(server.addresses["smtp_port"]))
