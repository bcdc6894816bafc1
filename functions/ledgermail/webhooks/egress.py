"""The way out to an address that a customer has named: only to public ones, and never for longer than the time limit.

Whoever names it may want it to be one of ours (server-side request forgery). So the name is resolved here and once; every
address that it has must be public; and the connection goes to such an address, with the certificate, SNI and Host of the
name. A name that changes its mind between check and use (DNS rebinding) changes nothing.

It is httpcore, the layer below httpx: it follows no redirect, asks no environment for a proxy, and writes no URL to a
log.
"""

import ipaddress
import re
import socket
import ssl
from collections.abc import Callable, Container, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta

import httpcore
import httpx

from ledgermail.clock import Clock
from ledgermail.settings import WebhookTargets
from ledgermail.timed import Deadline
from ledgermail.trust import authorities
from ledgermail.webhooks.pinned import Pinned

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], Sequence[str]]

PORTS = {"http": 80, "https": 443}
# As DNS has names, or an IPv6 address.
HOST = re.compile(r"[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*\.?|[0-9a-f.]*:[0-9a-f:.]*")

# All of IPv6 that is given out (IANA, IPv6 Global Unicast Address Space): what embeds an IPv4 address lies outside, but
# for 6to4 and Teredo. ipaddress counts as global whatever is not registered otherwise.
GIVEN_OUT = ipaddress.IPv6Network("2000::/3")
# What ipaddress, in any Python from 3.11, counts as global although it belongs to protocols and not to servers.
PROTOCOLS = (
    ipaddress.ip_network("192.0.0.0/24"),  # IETF protocol assignments
    ipaddress.ip_network("192.88.99.0/24"),  # 6to4 relays
    ipaddress.ip_network("224.0.0.0/4"),  # multicast
    ipaddress.ip_network("2001::/23"),  # IETF protocol assignments, Teredo among them
    ipaddress.ip_network("2002::/16"),  # 6to4: the IPv4 address within may be any
    ipaddress.ip_network("3fff::/20"),  # documentation
)


def is_public(address: Address) -> bool:
    """Whether a server of somebody else's may have this address on the internet."""
    given_out = address.version == 4 or address in GIVEN_OUT
    return given_out and address.is_global and not any(address in network for network in PROTOCOLS)


@dataclass(frozen=True)
class Allowed:
    """Where a request may go; by default, where one may go in production."""

    schemes: Container[str] = frozenset({"https"})
    ports: Container[int] = frozenset({443, 8443})
    address: Callable[[Address], bool] = is_public


PUBLIC = Allowed()
# The local cloud and the tests.
LOOPBACK = Allowed(frozenset(PORTS), range(1, 65536), lambda address: address.is_loopback)


ALLOWED = {WebhookTargets.PUBLIC: PUBLIC, WebhookTargets.LOOPBACK: LOOPBACK}


@dataclass(frozen=True)
class Refused:
    """Not sent, and never will be: the URL is not one we post to. `code` says why."""

    code: str


@dataclass(frozen=True)
class NoAnswer:
    """No usable answer came, whether or not the request left."""

    code: str
    detail: str = ""


def look_up(host: str, port: int) -> list[str]:
    """The addresses of a name, as the system resolves it. Raises OSError."""
    # As bytes: a str would go through Python's IDNA codec, which raises errors of its own.
    found = socket.getaddrinfo(host.encode("ascii"), port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


class Egress:
    """Posts to what a customer has named. Every request has a connection of its own."""

    def __init__(
        self,
        timeout: timedelta,
        clock: Clock,
        *,
        resolve: Resolve = look_up,
        allowed: Allowed = PUBLIC,
        context: ssl.SSLContext | None = None,
    ) -> None:
        """`timeout` is for everything together: the name, the connection, the request, the answer's head."""
        self._seconds = timeout.total_seconds()
        self._clock = clock
        self._resolve = resolve
        self._allowed = allowed
        self._context = context

    def post(self, url: object, headers: Mapping[str, str], body: bytes) -> int | Refused | NoAnswer:
        """The status of the answer, whose body is not read. Nothing is raised for any URL, name, address or server."""
        target = self._target(url)
        if isinstance(target, Refused):
            return target
        deadline = Deadline(self._clock, self._seconds)
        try:
            addresses = self._addresses(target, deadline)
            if not all(self._allowed.address(ipaddress.ip_address(address)) for address in addresses):
                return Refused("address_not_allowed")
            return self._send(target, Pinned(addresses, deadline), headers, body)
        except (httpcore.NetworkError, OSError) as error:  # the system's own words, and nothing of the server's
            return NoAnswer(type(error).__name__, str(error))
        except (httpcore.TimeoutException, httpcore.ProtocolError) as error:
            return NoAnswer(type(error).__name__)

    def _target(self, url: object) -> httpx.URL | Refused:
        try:
            target = httpx.URL(url if isinstance(url, str) else "")
        except (httpx.InvalidURL, UnicodeError):  # a lone surrogate is the latter
            return Refused("not_a_url")
        if not HOST.fullmatch(target.raw_host.decode("ascii")):
            return Refused("not_a_url")
        if target.scheme not in self._allowed.schemes:
            return Refused("scheme_not_allowed")
        if target.userinfo:
            return Refused("credentials_in_url")
        if _port(target) not in self._allowed.ports:
            return Refused("port_not_allowed")
        return target

    def _addresses(self, target: httpx.URL, deadline: Deadline) -> Sequence[str]:
        """Resolve in time. A look-up cannot be called off: one that takes longer ends by itself, in its own thread."""
        executor = ThreadPoolExecutor(max_workers=1)
        try:
            found = executor.submit(self._resolve, target.raw_host.decode("ascii"), _port(target))
            return found.result(deadline.left())
        finally:
            executor.shutdown(wait=False)

    def _send(self, target: httpx.URL, pinned: Pinned, headers: Mapping[str, str], body: bytes) -> int:
        # As parsed before: two parsers could see two hosts.
        url = httpcore.URL(scheme=target.raw_scheme, host=target.raw_host, port=_port(target), target=target.raw_path)
        sent = [("Host", target.netloc.decode("ascii")), ("Connection", "close"), *headers.items()]
        with (
            httpcore.ConnectionPool(ssl_context=self._context or authorities(), network_backend=pinned) as pool,
            pool.stream("POST", url, headers=sent, content=body) as answer,
        ):
            return answer.status


def _port(target: httpx.URL) -> int:
    return PORTS.get(target.scheme, 0) if target.port is None else target.port
