"""A mail as SMTP carries it: whatever words come in, no header is added, none is lost, and any server can take it."""

from email import message_from_string, policy
from email.header import decode_header, make_header
from email.message import EmailMessage
from email.utils import getaddresses

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from ledgermail.delivering.attachment import Attachment
from ledgermail.delivering.content import Rendered, one_line
from ledgermail.delivering.message import headers_of, safe_name
from ledgermail.ledger import ids
from ledgermail.providers.message_smtp import mail, recipients
from tests.samples import LINK, NOW, RENDERED, a_message, settings

LINE_CHARS = 998  # RFC 5322, 2.1.1
OURS = ["Message-ID", "X-Ledgermail-Delivery", "List-Unsubscribe", "List-Unsubscribe-Post"]
HEADERS = ["From", "To", "Subject", "Date", *OURS, "MIME-Version", "Content-Type"]


def written(
    *, name: str = "Ada", content: Rendered = RENDERED, delivery_id: str = "u1_j1", **changes: str
) -> tuple[str, EmailMessage]:
    """The mail, and as a mailbox reads it."""
    made = mail(a_message(name=name, content=content, delivery_id=delivery_id), settings(**changes), NOW)
    return made, message_from_string(made, _class=EmailMessage, policy=policy.SMTP)


def unfolded(made: str, name: str) -> str:
    """A header as it stands in the mail: the library's newer parser puts spaces into long names."""
    return message_from_string(made)[name].replace("\r\n", "")


def decoded(words: str) -> str:
    return str(make_header(decode_header(words)))


def named(made: str, name: str) -> tuple[str, str]:
    """The one mailbox of a header: its name and its address."""
    ((shown, address),) = getaddresses([unfolded(made, name)])
    return decoded(shown), address


def test_a_mail_is_from_us_to_one_recipient_text_before_html() -> None:
    _, read = written(sender_name="Job Alerts", reply_to="help@example.com")
    assert (read["From"], read["To"]) == ("Job Alerts <alerts@example.com>", "Ada <u1@example.com>")
    assert (read["Reply-To"], read["Date"]) == ("help@example.com", "Sun, 16 Aug 2026 09:30:00 +0000")
    assert [part.get_content_type() for part in read.iter_parts()] == ["text/plain", "text/html"]


def test_it_names_its_delivery_and_is_the_same_mail_to_a_mailbox_at_each_attempt() -> None:
    (_, first), (_, second) = written(), written()
    for name, value in headers_of(a_message(), settings()).items():
        assert first[name] == second[name] == value


def test_a_long_header_of_ours_stays_on_one_line() -> None:
    """Folded, or as encoded words, a link would be one no more."""
    long = ids.delivery_id("u" * 190, "j" * 190)
    made, _ = written(delivery_id=long)
    assert f"\r\nX-Ledgermail-Delivery: {long}\r\n" in made
    assert f"\r\nList-Unsubscribe: <{LINK}>\r\n" in made


@pytest.mark.parametrize(
    "words", ["A\r\nBcc: all@example.com", "A\nBcc: x@y.example\n\nbody", "A\u2028Bcc: x@y.example", "A\x00\x0bB"]
)
def test_no_word_becomes_a_header(words: str) -> None:
    _, read = written(name=words, content=Rendered(words, "<p>A</p>", "A"), sender_name=words)
    assert read.keys() == HEADERS
    assert read["Subject"] == one_line(words)


HIDDEN = "=?utf-8?q?a=0d=0aBcc:_all@example.com?="  # an encoded word that holds the end of a line


@pytest.mark.parametrize("words", [HIDDEN, f"Köln {HIDDEN} {HIDDEN}", f"{'a ' * 40}{HIDDEN}", "=?utf-8?b?QQ==?= (m/w)"])
def test_what_looks_like_an_encoded_word_is_shown_as_it_stands_and_adds_no_header(words: str) -> None:
    made, read = written(name=words, content=Rendered(words, "<p>A</p>", "A"), sender_name=words)
    assert read.keys() == HEADERS
    assert decoded(unfolded(made, "Subject")) == words
    assert [named(made, name)[0] for name in ("From", "To")] == [safe_name(words)] * 2


@examples(max_examples=100, deadline=None)
@given(name=st.text(), subject=st.text(), text=st.text(), html=st.text())
def test_whatever_the_words_any_server_can_take_the_mail(name: str, subject: str, text: str, html: str) -> None:
    made, read = written(name=name, content=Rendered(one_line(subject), html, text))
    assert made.isascii()
    assert not made.replace("\r\n", "").count("\r")
    assert not made.replace("\r\n", "").count("\n")
    assert max(map(len, made.split("\r\n"))) <= LINE_CHARS
    assert read.keys() == HEADERS
    assert [part.get_content().split() for part in read.iter_parts()] == [text.split(), html.split()]


@examples(max_examples=100, deadline=None)
@given(name=st.text())
def test_whatever_a_recipient_is_called_the_mail_goes_to_one(name: str) -> None:
    made, read = written(name=name)
    assert [to.addr_spec for to in read["To"].addresses] == ["u1@example.com"]
    assert named(made, "To") == (safe_name(name), "u1@example.com")


@pytest.mark.parametrize("mark", ["[x]", "a.b@c.example", "(x)", ".", ":", "\\", "ö"])
def test_a_long_name_stays_one_name_wherever_its_header_is_folded(mark: str) -> None:
    name = f"{mark} {'a' * 40} Lovelace {'b' * 40} {mark}"
    assert named(written(name=name)[0], "To") == (name, "u1@example.com")


def test_the_archive_is_in_the_envelope_alone_and_not_twice() -> None:
    message = a_message()
    for archive, envelope in (
        ("archive@example.com", ["u1@example.com", "archive@example.com"]),
        ("U1@example.com", ["u1@example.com"]),
    ):
        assert recipients(message, settings(archive=archive)) == envelope
        assert "archive" not in mail(message, settings(archive=archive), NOW)


def test_a_file_goes_with_it_byte_for_byte() -> None:
    content = b"\xef\xbb\xbfa,b\r\n\xc3\xa9,2\r\n"
    _, read = written(content=Rendered("A job", "<p>A job</p>", "A job", Attachment("jobs-1.csv", content, "")))
    (file,) = read.iter_attachments()
    assert isinstance(file, EmailMessage)
    assert (file.get_filename(), file.get_content_type()) == ("jobs-1.csv", "text/csv")
    assert file.get_payload(decode=True) == content
