"""Whom the provider's certificate is believed from."""

from pathlib import Path

import pytest

from ledgermail.clock import Clock
from ledgermail.delivering.outcomes import Accepted, Outcome, Transient
from ledgermail.providers.provider_sendgrid import SendGrid
from tests.samples import settings
from tests.stack.receivers import Authority, Receiver, says


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def sent_to(name: str, authority: Authority) -> Outcome:
    """What one attempt comes to at a server on this machine whose certificate is for this name."""
    with Receiver(says("202 Accepted"), authority.server(name)) as receiver:
        provider = SendGrid(settings(sendgrid_url=f"https://localhost:{receiver.port}"), Clock())
        try:
            return provider.send(b"{}", "u1_j1")
        finally:
            provider.close()


def test_an_authority_that_the_environment_names_is_believed_as_a_gateway_needs_it(
    authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.file))
    assert isinstance(sent_to("localhost", authority), Accepted)
    assert isinstance(sent_to("elsewhere.example", authority), Transient)


def test_no_other_is(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
    assert isinstance(sent_to("localhost", authority), Transient)
