"""What the account says of itself over the wire, with the real sendgrid library and with httpx."""

import httpx
import pytest
from sendgrid import SendGridAPIClient

from emulator import inbox
from emulator.inbox import Inbox
from tests.stack.inbox.payloads import payload

ADDRESSES = ["/v3/scopes", "/v3/verified_senders", "/v3/whitelabel/domains"]


def test_the_real_client_reads_scopes_senders_and_domains(running: Inbox) -> None:
    api = SendGridAPIClient(inbox.DEFAULT_KEY, host=running.url).client
    assert "mail.send" in api.scopes.get().to_dict["scopes"]
    assert api.verified_senders.get().to_dict == {"results": []}
    domains = api.whitelabel.domains.get().to_dict
    assert [(entry["domain"], entry["valid"]) for entry in domains] == [("example.com", True), ("mail.example", True)]


def test_domains_are_searched_and_paged(http: httpx.Client) -> None:
    def domains(**query: str | int) -> list[str]:
        return [entry["domain"] for entry in http.get("/v3/whitelabel/domains", params=query).json()]

    assert domains(domain="Mail.Example") == ["mail.example"]
    assert domains(domain="example") == []
    assert domains(limit=1) == ["example.com"]
    assert domains(limit=1, offset=1) == ["mail.example"]


@pytest.mark.parametrize("path", ADDRESSES)
def test_a_wrong_key_is_told_nothing(path: str, http: httpx.Client) -> None:
    answer = http.get(path, headers={"Authorization": "Bearer SG.wrong"})
    assert (answer.status_code, answer.json()["errors"][0]["message"]) == (401, "authorization required")


def test_a_key_is_told_and_may_do_only_what_its_scopes_let_it() -> None:
    server = inbox.start(verified=("ann@example.com",), scopes=("verified_senders.read",))
    with httpx.Client(base_url=server.url, headers={"Authorization": f"Bearer {inbox.DEFAULT_KEY}"}) as http:
        answers = [http.get(path) for path in ADDRESSES]
        sent = http.post("/v3/mail/send", json=payload("u_j"))
    server.stop()
    assert [answer.status_code for answer in [*answers, sent]] == [200, 200, 403, 403]
    assert answers[0].json() == {"scopes": ["verified_senders.read"]}
    [sender] = answers[1].json()["results"]
    assert (sender["from_email"], sender["verified"]) == ("ann@example.com", True)
    assert sent.json()["errors"][0]["message"] == "access forbidden"
