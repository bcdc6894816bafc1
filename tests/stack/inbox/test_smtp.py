"""The local SMTP relay over the wire, with the standard library's own client."""

import smtplib
from email.message import EmailMessage
from email.policy import SMTP

import httpx
import pytest

from emulator import inbox
from emulator.inbox import DEFAULT_KEY, SMTP_USER, Inbox
from emulator.inbox.faults import KEEPING, Fault
from tests.stack.tasks.http_target import until

Met = int | type[smtplib.SMTPException] | type[OSError]
MET: dict[Fault, Met] = {
    Fault.THROTTLE: 451,
    Fault.UNAVAILABLE: 421,
    Fault.SERVER_ERROR: 451,
    Fault.ERROR_AFTER: 451,
    Fault.BAD_GATEWAY: 452,
    Fault.UNAUTHORIZED: 530,
    Fault.REFUSE: 550,
    Fault.HANG: 421,
    Fault.HANG_AFTER: 250,
    Fault.CUT: smtplib.SMTPServerDisconnected,
    Fault.RESET: smtplib.SMTPServerDisconnected,
}


def message(delivery_id: str = "u_j") -> EmailMessage:
    mail = EmailMessage()
    mail["From"] = "Jobs <jobs@example.com>"
    mail["To"] = "Ännchen <ann@mail.org>"
    mail["Subject"] = "A job für Ännchen"
    mail["Message-ID"] = "<m@example.com>"
    mail["X-Ledgermail-Delivery"] = delivery_id
    mail.set_content("tëxt\n")
    mail.add_alternative("<p>html</p>", subtype="html")
    mail.add_attachment(b"abc", maintype="text", subtype="csv", filename="rows.csv")
    return mail


def send(box: Inbox, to: tuple[str, ...] = ("ann@mail.org",)) -> int:
    """The code that the whole transaction ended with."""
    try:
        with smtplib.SMTP("127.0.0.1", box.smtp_port, timeout=20) as client:
            client.send_message(message(), to_addrs=list(to))
    except smtplib.SMTPResponseException as error:
        return error.smtp_code
    return 250


def send_to_one_that_hangs(box: Inbox) -> None:
    """Send a mail and hear nothing; only the answer to the mail itself is not waited for."""
    with smtplib.SMTP("127.0.0.1", box.smtp_port, timeout=20) as client:
        client.ehlo()
        client.mail("jobs@example.com")
        client.rcpt("ann@mail.org")
        assert client.docmd("DATA")[0] == 354
        client.send(message().as_bytes(policy=SMTP) + b".\r\n")
        until(lambda: box.stats()["hanging"] == 1)
        assert client.sock is not None
        client.sock.settimeout(0.2)
        with pytest.raises(smtplib.SMTPServerDisconnected, match="timed out"):
            client.getreply()


def test_a_mail_is_taken_and_kept_as_it_was_sent(box: Inbox) -> None:
    assert send(box, ("ann@mail.org", "archive@example.com")) == 250
    [mail] = box.mails(delivery_id="u_j")
    assert (mail["provider"], mail["subject"]) == ("smtp", "A job für Ännchen")
    assert (mail["from"], mail["to"]) == (
        {"email": "jobs@example.com", "name": "Jobs"},
        [{"email": "ann@mail.org", "name": "Ännchen"}],
    )
    assert (mail["cc"], mail["bcc"]) == ([], [{"email": "archive@example.com"}])
    assert (mail["text"], mail["html"].strip()) == ("tëxt\n", "<p>html</p>")
    assert mail["attachments"] == [{"name": "rows.csv", "type": "text/csv", "size": 3}]
    assert mail["headers"] == {"Message-ID": "<m@example.com>", "X-Ledgermail-Delivery": "u_j"}
    assert "A job für Ännchen" in httpx.get(f"{box.url}/mails/{mail['id']}", trust_env=False).text


def test_every_fault_is_tested() -> None:
    assert set(MET) == set(Fault)


@pytest.mark.parametrize("fault", Fault)
def test_a_fault_is_met_once_and_keeps_the_mail_only_where_it_says_so(box: Inbox, fault: Fault) -> None:
    box.faults(hang_seconds=0)
    box.fail_next(fault)
    try:
        met: Met = send(box)
    except (smtplib.SMTPException, OSError) as error:
        met = type(error)
    assert met == MET[fault]
    assert len(box.mails()) == (fault in KEEPING)
    assert send(box) == 250
    stats = box.stats()
    assert (stats["by_fault"], stats["duplicates"]) == ({fault: 1}, int(fault in KEEPING))
    assert stats["requests"] == 2


def test_a_hang_outlasts_the_sender(box: Inbox) -> None:
    box.faults(hang_seconds=3600)
    box.fail_next("hang_after")
    send_to_one_that_hangs(box)
    assert box.copies() == {"u_j": 1}
    box.faults()


@pytest.mark.parametrize("code", [450, 550])
def test_a_recipient_is_refused_by_the_code_in_its_address(box: Inbox, code: int) -> None:
    with pytest.raises(smtplib.SMTPRecipientsRefused) as refused:
        send(box, (f"refuse-{code}@mail.org",))
    assert [answer[0] for answer in refused.value.recipients.values()] == [code]
    assert box.stats()["by_status"] == {str(code): 1}


def test_a_sender_who_is_not_verified_is_refused(box: Inbox) -> None:
    with (
        smtplib.SMTP("127.0.0.1", box.smtp_port, timeout=20) as client,
        pytest.raises(smtplib.SMTPSenderRefused) as refused,
    ):
        client.sendmail("eve@elsewhere.example", ["ann@mail.org"], "Subject: x\r\n\r\nx")
    assert refused.value.smtp_code == 550


@pytest.mark.parametrize(("user", "password"), [(SMTP_USER, "SG.wrong"), ("ann", DEFAULT_KEY)])
def test_who_logs_in_must_have_the_key(box: Inbox, user: str, password: str) -> None:
    with smtplib.SMTP("127.0.0.1", box.smtp_port, timeout=20) as client:
        with pytest.raises(smtplib.SMTPAuthenticationError):
            client.login(user, password)
        assert client.login(SMTP_USER, DEFAULT_KEY)[0] == 235


def test_the_server_stops_while_a_mail_hangs() -> None:
    own = inbox.start()
    own.faults(hang_seconds=3600)
    own.fail_next("hang")
    send_to_one_that_hangs(own)
    idle = smtplib.SMTP("127.0.0.1", own.smtp_port, timeout=20)
    own.stop()
    idle.close()
    assert own.server.process.returncode == 0
