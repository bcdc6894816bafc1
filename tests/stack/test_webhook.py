"""A webhook over the wire: what is sent, whom it trusts, where it goes, and what the answer comes to."""

import base64
import logging
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from ledgermail.clock import Clock
from ledgermail.delivering.outcomes import Accepted, Outcome, Rejected, Transient
from ledgermail.ledger.delivery import Failure
from ledgermail.trust import authorities
from ledgermail.webhooks.egress import LOOPBACK, PUBLIC, Address
from tests.samples import telling
from tests.stack.receivers import Authority, Receiver, says
from tests.stack.telling import ACCEPTED, SECRET, TOLD, WELL, Names, tell

OTHER = "whsec_" + base64.b64encode(bytes(range(1, 33))).decode()


def tell_in_tls(receiver: Receiver, authority: Authority | None) -> Outcome:
    context = authority.trusted() if authority else None
    webhooks = telling(WELL, resolve=Names(), allowed=LOOPBACK, context=context)
    return webhooks.send(f"https://shop.example:{receiver.port}/hook", SECRET, TOLD)


def failure(outcome: Outcome) -> Failure:
    assert not isinstance(outcome, Accepted)
    return outcome.failure


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ("200 OK", Accepted),
        ("202 Accepted", Accepted),
        ("204 No Content", Accepted),
        ("400 Bad Request", Rejected),
        ("404 Not Found", Rejected),
        ("410 Gone", Rejected),
        ("408 Request Timeout", Transient),
        ("425 Too Early", Transient),
        ("429 Too Many Requests", Transient),
        ("500 Internal Server Error", Transient),
        ("503 Service Unavailable", Transient),
    ],
)
def test_the_answer_decides(status: str, kind: type[Outcome]) -> None:
    with Receiver(says(status, "Retry-After: 60\r\n")) as shop:
        outcome = tell(shop)
    assert type(outcome) is kind
    if isinstance(outcome, Accepted):
        assert outcome == ACCEPTED
    else:
        assert outcome.failure == Failure(category=outcome.failure.category, code=status[:3])
        assert outcome.failure.category == kind.__name__.lower()


def test_what_the_customer_gets_is_what_was_signed() -> None:
    with Receiver(says("200 OK")) as shop:
        assert tell(shop, path="/hook?shop=7") == ACCEPTED
    (heard,) = shop.heard
    assert heard.path == "/hook?shop=7"
    assert heard.headers["Host"] == f"shop.example:{shop.port}"
    assert heard.headers["Content-Type"] == "application/json"
    told = Webhook(SECRET).verify(heard.body, dict(heard.headers))
    assert (told["type"], told["delivery_id"], told["reference"]) == ("delivery.accepted", "u1_j1", "m1")
    with pytest.raises(WebhookVerificationError):
        Webhook(OTHER).verify(heard.body, dict(heard.headers))
    with pytest.raises(WebhookVerificationError):
        Webhook(SECRET).verify(heard.body.replace(b"u1_j1", b"u1_j2"), dict(heard.headers))


def test_a_second_attempt_tells_the_same_event_at_its_own_time() -> None:
    start = datetime.now(UTC)
    times = iter([start, start + timedelta(seconds=61)])
    with Receiver(says("500 Oops")) as shop:
        webhooks = telling(WELL, Clock(now=lambda: next(times)), resolve=Names(), allowed=LOOPBACK)
        for attempt in (1, 2):
            webhooks.send(f"http://shop.example:{shop.port}/", SECRET, replace(TOLD, attempt=attempt))
    first, second = shop.heard
    assert first.body == second.body
    assert first.headers["webhook-id"] == second.headers["webhook-id"] == "u1_j1:accepted"
    assert int(second.headers["webhook-timestamp"]) - int(first.headers["webhook-timestamp"]) == 61
    for heard in (first, second):
        Webhook(SECRET).verify(heard.body, dict(heard.headers))


def test_the_certificate_and_sni_are_those_of_the_name_though_an_address_is_called(authority: Authority) -> None:
    with Receiver(says("200 OK"), authority.server("shop.example")) as shop:
        assert tell_in_tls(shop, authority) == ACCEPTED
    assert shop.names == ["shop.example"]
    assert shop.heard[0].headers["Host"] == f"shop.example:{shop.port}"


def test_a_certificate_of_another_name_is_not_trusted(authority: Authority) -> None:
    with Receiver(says("200 OK"), authority.server("other.example")) as other:
        outcome = tell_in_tls(other, authority)
    assert isinstance(outcome, Transient)
    assert "shop.example" in outcome.failure.detail
    assert other.heard == []


def test_a_certificate_for_the_address_that_is_called_is_not_one_for_the_name(authority: Authority) -> None:
    with Receiver(says("200 OK"), authority.server("127.0.0.1")) as shop:
        assert isinstance(tell_in_tls(shop, authority), Transient)
    assert shop.heard == []


def test_a_certificate_that_has_run_out_is_not_trusted(authority: Authority) -> None:
    with Receiver(says("200 OK"), authority.server("shop.example", valid=timedelta(days=-1))) as shop:
        assert "expired" in failure(tell_in_tls(shop, authority)).detail
    assert shop.heard == []


def test_an_authority_that_only_the_environment_names_is_not_trusted(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    authorities.cache_clear()  # as in a new process
    for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"):
        monkeypatch.setenv(name, str(authority.file))
    with Receiver(says("200 OK"), authority.server("shop.example")) as shop:
        assert isinstance(tell_in_tls(shop, None), Transient)
    assert shop.heard == []


def only_first(address: Address) -> bool:
    return str(address) == "127.0.0.1"


def test_a_name_that_changes_its_mind_is_asked_once_and_called_where_it_was_checked() -> None:
    names = Names([["127.0.0.1"], ["127.0.0.2"]])
    allowed = replace(LOOPBACK, address=only_first)
    with Receiver(says("200 OK")) as shop, Receiver(says("200 OK"), host="127.0.0.2", port=shop.port) as inside:
        webhooks = telling(WELL, resolve=names, allowed=allowed)
        assert webhooks.send(f"http://shop.example:{shop.port}/", SECRET, TOLD) == ACCEPTED
        assert (names.asked, len(shop.heard)) == (1, 1)
        again = webhooks.send(f"http://shop.example:{shop.port}/", SECRET, TOLD)
    assert failure(again).code == "address_not_allowed"
    assert (names.asked, len(shop.heard), inside.heard) == (2, 1, [])


def test_no_address_is_called_when_one_of_them_is_not_allowed() -> None:
    names = Names([["127.0.0.1", "127.0.0.2"]])
    with Receiver(says("200 OK")) as shop:
        webhooks = telling(WELL, resolve=names, allowed=replace(LOOPBACK, address=only_first))
        outcome = webhooks.send(f"http://shop.example:{shop.port}/", SECRET, TOLD)
    assert isinstance(outcome, Rejected)
    assert shop.heard == []


def test_an_address_that_does_not_answer_is_followed_by_the_next() -> None:
    with Receiver(says("200 OK")) as shop:
        webhooks = telling(WELL, resolve=Names([["127.0.0.9", "127.0.0.1"]]), allowed=LOOPBACK)
        assert webhooks.send(f"http://shop.example:{shop.port}/", SECRET, TOLD) == ACCEPTED


def test_an_address_in_the_url_is_named_as_http_has_it() -> None:
    with Receiver(says("200 OK")) as shop:
        webhooks = telling(WELL, resolve=Names(), allowed=LOOPBACK)
        assert webhooks.send(f"http://[2606:4700::1]:{shop.port}/", SECRET, TOLD) == ACCEPTED
    assert shop.heard[0].headers["Host"] == f"[2606:4700::1]:{shop.port}"


def test_in_production_a_server_on_this_machine_hears_nothing() -> None:
    with Receiver(says("200 OK")) as metadata:
        everything_else = replace(LOOPBACK, address=PUBLIC.address)
        assert failure(tell(metadata, allowed=everything_else)).code == "address_not_allowed"
        assert failure(tell(metadata, allowed=PUBLIC)).code == "scheme_not_allowed"
    assert metadata.heard == []


def test_a_server_that_is_not_there_is_tried_again_later() -> None:
    with Receiver(says("200 OK")) as shop:
        pass
    outcome = tell(shop)
    assert isinstance(outcome, Transient)
    assert outcome.failure.code == "ConnectError"


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"])
def test_a_redirect_is_not_followed(status: str) -> None:
    with Receiver(says("200 OK")) as elsewhere:
        location = f"Location: http://shop.example:{elsewhere.port}/\r\n"
        with Receiver(says(status, location)) as shop:
            outcome = tell(shop)
    assert outcome == Rejected(Failure(category="rejected", code=status[:3]))
    assert (len(shop.heard), elsewhere.heard) == (1, [])


def test_a_proxy_that_the_environment_names_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with Receiver(says("502 Proxy")) as proxy, Receiver(says("200 OK")) as shop:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
        assert tell(shop) == ACCEPTED
    assert proxy.heard == []


def test_an_answer_that_is_cut_off_is_asked_for_again() -> None:
    with Receiver(lambda write, _: write(b"HTTP/1.1 20")) as shop:
        assert tell(shop) == Transient(Failure(category="transient", code="RemoteProtocolError"))


def test_nothing_of_the_url_s_query_the_secret_the_body_or_the_answer_is_logged(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    with Receiver(says("400 Bad Request", "", "w0rds of the answer")) as shop:
        outcome = tell(shop, path="/hook?token=t0ken")
    written = caplog.text + "".join(capfd.readouterr()) + repr(outcome)
    assert b"job-alert" in shop.heard[0].body
    assert not any(word in written for word in ("t0ken", SECRET, SECRET[6:], "job-alert", "w0rds"))
