"""Where a request may go: tables of addresses and URLs, and what becomes of a name that has them."""

import ipaddress
from collections.abc import Iterator, Sequence
from datetime import timedelta
from threading import Event

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledgermail.clock import Clock
from ledgermail.webhooks.egress import Address, Allowed, Egress, NoAnswer, Refused, is_public

NETWORKS = {
    "this network": "0.0.0.0/8",
    "private": "10.0.0.0/8",
    "private, 172": "172.16.0.0/12",
    "private, 192": "192.168.0.0/16",
    "carrier-grade NAT": "100.64.0.0/10",
    "loopback": "127.0.0.0/8",
    "link-local, metadata": "169.254.0.0/16",
    "protocol assignments": "192.0.0.0/24",
    "documentation 1": "192.0.2.0/24",
    "documentation 2": "198.51.100.0/24",
    "documentation 3": "203.0.113.0/24",
    "6to4 relays": "192.88.99.0/24",
    "benchmarks": "198.18.0.0/15",
    "multicast": "224.0.0.0/4",
    "reserved, broadcast": "240.0.0.0/4",
    "unspecified, loopback, IPv4-compatible": "::/96",
    "IPv4-mapped": "::ffff:0:0/96",
    "IPv4-translated": "::ffff:0:0:0/96",
    "NAT64": "64:ff9b::/96",
    "local NAT64": "64:ff9b:1::/48",
    "discard": "100::/64",
    "Teredo": "2001::/32",
    "protocol assignments, IPv6": "2001::/23",
    "documentation, IPv6": "2001:db8::/32",
    "6to4": "2002::/16",
    "documentation, IPv6, long": "3fff::/20",
    "segment routing": "5f00::/16",
    "unique local, metadata": "fc00::/7",
    "link-local, IPv6": "fe80::/10",
    "site-local": "fec0::/10",
    "multicast, IPv6": "ff00::/8",
    "not given out, low": "::/3",
    "not given out, high": "4000::/2",
}
PUBLIC_V4 = ["1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "172.15.255.255"]
PUBLIC_V4 += ["172.32.0.0", "192.0.1.0", "192.167.255.255", "198.17.255.255", "198.20.0.0", "223.255.255.255"]
PUBLIC_V6 = ["2001:200::", "2001:4860:4860::8888", "2606:4700:4700::1111", "2a00:1450:4001:80b::200e", "2003::"]
ANY_LOAD = settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.too_slow])


class Names:
    """A resolver with these answers, one after the other; the last one stays."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.asked: list[tuple[str, int]] = []
        self._answers = list(answers)

    def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append((host, port))
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


def post(url: object, resolve: Names, allowed: Allowed | None = None) -> int | Refused | NoAnswer:
    egress = Egress(timedelta(seconds=5), Clock(), resolve=resolve, allowed=allowed or Allowed())
    return egress.post(url, {}, b"")


@ANY_LOAD
@given(address=st.sampled_from(list(NETWORKS.values())).flatmap(lambda network: st.ip_addresses(network=network)))
def test_no_address_of_these_networks_is_public(address: Address) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS.keys())
def test_neither_end_of_these_networks_is_public(network: str) -> None:
    ends = ipaddress.ip_network(network)
    assert not is_public(ends[0])
    assert not is_public(ends[-1])


@pytest.mark.parametrize(
    "address",
    ["169.254.169.254", "fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "192.0.0.192"],
)
def test_no_cloud_s_metadata_server_is_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", PUBLIC_V4 + PUBLIC_V6)
def test_what_lies_next_to_these_networks_is_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@ANY_LOAD
@given(inner=st.ip_addresses(v=4))
def test_no_embedding_makes_an_ipv4_address_public(inner: ipaddress.IPv4Address) -> None:
    number = int(inner)
    embedded = [
        0xFFFF << 32 | number,
        number,
        0x64FF9B << 96 | number,
        0x2002 << 112 | number << 80,
        0x20010000 << 96 | number ^ 0xFFFFFFFF,
    ]
    assert not any(is_public(ipaddress.IPv6Address(outer)) for outer in embedded)


@ANY_LOAD
@given(address=st.ip_addresses())
def test_what_is_public_is_so_for_the_standard_library_too(address: Address) -> None:
    assert address.is_global or not is_public(address)


REFUSED_URLS: dict[str, list[object]] = {
    "not_a_url": [
        None,
        7,
        b"https://shop.example/",
        "",
        "   ",
        "shop.example/hook",
        "/hook",
        "mailto:ada@shop.example",
        "https:///hook",
        "https://[::1/",
        "https://shop.example:https/",
        "https://shop..example/",
        "https://.shop.example/",
        "https://shop%2eexample/",
        "https://shop.example\n/",
        "https://shop.example/\ud800",
        "https://" + "a" * 64 + ".example/",
        "https://shop.example/" + "a" * 70_000,
    ],
    "scheme_not_allowed": [
        "http://shop.example/",
        "ftp://shop.example/",
        "file://shop.example/etc/passwd",
        "//shop.example/",
    ],
    "credentials_in_url": [
        "https://ada:pw@shop.example/",
        "https://ada@shop.example/",
        "https://shop.example\\@127.0.0.1/",
        "https://shop.example%2f@127.0.0.1/",
    ],
    "port_not_allowed": [
        "https://shop.example:22/",
        "https://shop.example:80/",
        "https://shop.example:0/",
        "https://h:99999/",
    ],
}


@pytest.mark.parametrize(("code", "url"), [(code, url) for code, urls in REFUSED_URLS.items() for url in urls])
def test_a_url_that_is_not_ours_to_post_to_is_refused_before_its_name_is_looked_up(code: str, url: object) -> None:
    names = Names(["8.8.8.8"])
    assert post(url, names) == Refused(code)
    assert names.asked == []


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("https://shop.example", "shop.example", 443),
        ("HTTPS://Shop.Example.:8443/a?b=c#d", "shop.example.", 8443),
        ("https://bücher.example/", "xn--bcher-kva.example", 443),
        ("https://shop。example/", "shop.example", 443),
        ("https://2130706433/", "2130706433", 443),
        ("https://0x7f.1/", "0x7f.1", 443),
        ("https://[::ffff:127.0.0.1]/", "::ffff:127.0.0.1", 443),
        ("https://user_x.shop.example#@8.8.8.8/", "user_x.shop.example", 443),
    ],
)
def test_what_is_looked_up_is_the_host_as_the_connection_would_have_it(url: str, host: str, port: int) -> None:
    names = Names(["127.0.0.1"])
    assert post(url, names) == Refused("address_not_allowed")
    assert names.asked == [(host, port)]


@pytest.mark.parametrize("url", ["https://127.0.0.1/", "https://127.1/", "https://2130706433/", "https://0x7f000001/"])
def test_no_spelling_of_a_local_address_is_a_way_around(url: str) -> None:
    assert Egress(timedelta(seconds=5), Clock()).post(url, {}, b"") == Refused("address_not_allowed")


@pytest.mark.parametrize("addresses", [["8.8.8.8", "10.0.0.1"], ["10.0.0.1", "8.8.8.8"], ["8.8.8.8", "fe80::1%eth0"]])
def test_one_address_that_is_not_public_is_enough(addresses: list[str]) -> None:
    assert post("https://shop.example/", Names(addresses)) == Refused("address_not_allowed")


@ANY_LOAD
@given(url=st.text(st.characters(max_codepoint=0x2FFF) | st.sampled_from("/:@[]%.\\#?\ud800")).map("https://{}".format))
def test_no_url_raises_anything(url: str) -> None:
    assert isinstance(EVERYWHERE_LOCAL.post(url, {}, b""), Refused)


EVERYWHERE_LOCAL = Egress(timedelta(seconds=5), Clock(), resolve=Names(["127.0.0.1"]))


def test_a_name_without_addresses_gives_no_answer() -> None:
    assert post("https://shop.example/", Names([])) == NoAnswer("ConnectError", "the name has no address")


def test_a_name_that_nobody_knows_gives_no_answer() -> None:
    """`.invalid` is reserved for this (RFC 6761)."""
    found = Egress(timedelta(seconds=30), Clock()).post("https://shop.invalid/", {}, b"")
    assert isinstance(found, NoAnswer)
    assert found.code in {"gaierror", "TimeoutError"}


@pytest.fixture
def release() -> Iterator[Event]:
    event = Event()
    yield event
    event.set()


def test_a_name_server_that_never_answers_is_not_waited_for_longer_than_the_time_limit(release: Event) -> None:
    def hang(host: str, port: int) -> list[str]:
        release.wait(60)
        return ["8.8.8.8"]

    egress = Egress(timedelta(milliseconds=50), Clock(), resolve=hang)
    found = egress.post("https://shop.example/", {}, b"")
    assert found in (
        NoAnswer("TimeoutError"),
        NoAnswer("ReadTimeout"),
    )  # the latter where the wait itself came too late
