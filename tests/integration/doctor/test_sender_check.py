"""The doctor's look at SendGrid: what the key may do and see, and answers that are none."""

import pytest

from emulator import inbox as local_inbox
from tests.integration.doctor.conftest import Examine
from tests.integration.raw_server import answering, serving


@pytest.mark.parametrize(
    ("scopes", "code", "found_of"),
    [
        (("verified_senders.read", "whitelabel.read"), 1, {"key": "may not send"}),
        (("mail.send", "whitelabel.read"), 0, {}),
        (("mail.send", "verified_senders.read"), 0, {"sender": "may not see domains"}),
        (("mail.send",), 0, {"sender": "may not see senders and domains"}),
    ],
)
def test_what_the_key_may_not_see_is_no_problem_but_that_it_may_not_send_is(
    scopes: tuple[str, ...],
    code: int,
    found_of: dict[str, str],
    examine: Examine,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = local_inbox.start(scopes=scopes)
    monkeypatch.setenv("LEDGERMAIL_SENDGRID_URL", server.url)
    exit_code, found = examine()
    server.stop()
    assert (exit_code, set(found)) == (code, set(found_of))
    assert all(words in found[check][1] for check, words in found_of.items())


@pytest.mark.parametrize(
    ("status", "body"),
    [
        ("200 OK", b""),
        ("200 OK", b'{"scopes": 1}'),
        ("200 OK", b"[" * 50_000),
        ("500 Oops", b'{"scopes": ["mail.send"]}'),
        ("302 Found", b"<html>"),
    ],
)
def test_an_answer_that_is_none_of_sendgrids_is_a_problem_and_stops_nobody(
    status: str, body: bytes, examine: Examine, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body
    with serving(answering(said)) as url:
        monkeypatch.setenv("LEDGERMAIL_SENDGRID_URL", url)
        code, found = examine()
    assert (code, set(found) - {"sender"}) == (1, {"key"})
    assert found["key"][1] == f"SendGrid answers {status[:3]}, and not as it should"
