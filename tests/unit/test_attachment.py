"""The attached file: every item, the same bytes each time, and nothing in it that runs."""

import base64
import csv
import hashlib
import io
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from emulator.inbox.validation import problems
from ledgermail.delivering.attachment import MOST_BYTES, Attachment, attachment
from ledgermail.delivering.eligibility import Recipient
from ledgermail.delivering.message import Message
from ledgermail.errors import ContentError
from ledgermail.providers.message_sendgrid import payload
from tests.samples import LINK, settings
from tests.unit.digests import DAILY, SHIPMENTS, a_digest, mail, rows

SIGNS = ("=", "+", "-", "@", "\t", "\r")  # by which a formula starts
PLACE = r"^shipment-digest/attachment\.csv: "


def file(items: list[dict[str, Any]], *columns: str, subject: str = "shipment-digest:2026-08-16") -> Attachment:
    made = attachment(replace(SHIPMENTS, attachment=columns), a_digest(subject=subject), items)
    assert made is not None
    return made


def cells(made: Attachment) -> list[list[str]]:
    """The file as a spreadsheet reads it."""
    return list(csv.reader(io.StringIO(made.content.decode("utf-8-sig"), newline="")))


def one(value: object) -> str:
    return cells(file([{"a": value}], "a"))[1][0]


# What is in it


def test_a_mailing_without_columns_has_no_file() -> None:
    assert attachment(DAILY, a_digest(), [{"a": 1}]) is None


def test_the_file_has_every_item_also_those_that_the_mail_only_counts() -> None:
    said = mail(SHIPMENTS, rows(45))
    assert "and 25 more" in said.text
    assert said.attachment is not None
    table = cells(said.attachment)
    assert table[0] == ["shipment", "status", "destination", "carrier", "expected_on"]
    assert [row[0] for row in table[1:]] == [f"SH-{n}" for n in range(1, 46)]


def test_a_dotted_column_is_found_within_and_an_item_without_it_is_empty_there() -> None:
    items: list[dict[str, Any]] = [{"to": {"city": {"name": "Köln"}}}, {"to": {"city": "Köln"}}, {"to": None}, {}]
    assert cells(file(items, "to.city.name")) == [["to.city.name"], ["Köln"], [""], [""], [""]]


@pytest.mark.parametrize("column", ["colour", "to.town", "shipment.id", "to.", ""])
def test_a_column_that_no_item_has_is_named(column: str) -> None:
    items: list[dict[str, Any]] = [{"shipment": "SH-1", "to": {"city": "Köln"}}] * 2
    with pytest.raises(ContentError, match=f"{PLACE}no item has the column '{column}'$"):
        file(items, "shipment", column)


def test_a_column_that_is_there_and_says_nothing_is_no_mistake() -> None:
    assert cells(file([{"a": None, "b": 1}, {"a": "", "b": 2}], "a", "b"))[1:] == [["", "1"], ["", "2"]]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (datetime(2026, 8, 16, 9, 30, tzinfo=UTC), "2026-08-16T09:30:00+00:00"),
        (True, "yes"),
        (False, "no"),
        (0, "0"),
        (-5, "-5"),
        (-1.5, "-1.5"),
        (["Köln", "Remote"], "Köln, Remote"),
        ({"b": 1, "a": "ü"}, '{"a": "ü", "b": 1}'),
        ('a "b", c', 'a "b", c'),
        ("two\r\nlines", "two\r\nlines"),
        ("Zoë 👩‍💻 مطوّر", "Zoë 👩‍💻 مطوّر"),
    ],
)
def test_a_value_of_any_kind_is_text_that_reads_back(value: object, text: str) -> None:
    assert one(value) == text


def test_excel_is_told_that_the_file_is_utf_8() -> None:
    assert file([{"a": "Köln"}], "a").content == b"\xef\xbb\xbfa\r\nK\xc3\xb6ln\r\n"


# What a spreadsheet would run


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20"])
def test_a_text_that_a_spreadsheet_would_run_is_a_text(start: str) -> None:
    formula = f"{start}HYPERLINK(1)"
    assert one(formula) == f"'{formula}"
    assert one([formula, "x"]) == f"'{formula}, x"
    assert one(f"x{formula}") == f"x{formula}"


def test_a_formula_after_the_separator_of_another_country_is_a_text() -> None:
    assert one("x;=1+1;y") == "x;'=1+1;y"


@pytest.mark.parametrize(
    ("text", "harmless"),
    [
        ("a\n=1+1", "a\n'=1+1"),
        ("a\r\n@SUM(1)", "a\r\n'@SUM(1)"),
        ("a\r=1", "a\r'=1"),
        ('x;"=1+1;y', "x;'\"=1+1;y"),
        ('a\n""=1', 'a\n\'""=1'),
        ('a\r\n\r\nb "=c"', 'a\r\n\r\nb "=c"'),
    ],
)
def test_a_formula_where_another_country_sees_no_quotes_is_a_text(text: str, harmless: str) -> None:
    assert one(text) == harmless


def test_a_name_of_a_column_is_no_formula_either() -> None:
    assert cells(file([{"=a": 1}], "=a"))[0] == ["'=a"]


@examples(deadline=None, max_examples=200)
@given(texts=st.lists(st.text() | st.text('=;"\r\n,a'), min_size=1, max_size=3))
def test_no_cell_of_any_text_starts_a_formula_whatever_the_separator(texts: list[str]) -> None:
    made = file([{"a": text, "b": text} for text in texts], "a", "b")
    assert [row[0].replace("'", "") for row in cells(made)[1:]] == [text.replace("'", "") for text in texts]
    for row in cells(made):
        assert not [part for cell in row for part in cell.split(";") if part.startswith(SIGNS)]
    for row in csv.reader(io.StringIO(made.content.decode("utf-8-sig"), newline=""), delimiter=";"):
        assert not [cell for cell in row if cell.lstrip("\r\n").startswith(SIGNS)]


# Its name and its hash


@pytest.mark.parametrize(
    ("subject", "name"),
    [
        ("shipment-digest:2026-08-16", "shipment-digest-2026-08-16.csv"),
        ("shipment-digest:2026-08-16T08%3A00", "shipment-digest-2026-08-16T08-00.csv"),
        ("shipment-digest", "shipment-digest-shipment-digest.csv"),
        ("j1", "shipment-digest-j1.csv"),
        ("https://a.example/../../etc/passwd", "shipment-digest-a.example-..-..-etc-passwd.csv"),
        ('a"b\r\nc', "shipment-digest-a-b-c.csv"),
        ("..", "shipment-digest.csv"),
        ("職", "shipment-digest.csv"),
        ("x:", "shipment-digest.csv"),
        ("x" * 500, f"shipment-digest-{'x' * 100}.csv"),
    ],
)
def test_the_name_tells_the_mailing_and_its_occasion_in_safe_characters(subject: str, name: str) -> None:
    assert file([{"a": 1}], "a", subject=subject).name == name


def test_the_same_items_are_the_same_file_in_whatever_order_their_fields_came() -> None:
    items = rows(3, note={"a": 1, "b": 2})
    turned = [dict(reversed(row.items())) | {"note": {"b": 2, "a": 1}} for row in items]
    first, second = (file(some, "shipment", "note", "status") for some in (items, turned))
    assert first == second
    assert first.sha256 == hashlib.sha256(first.content).hexdigest()
    assert first.sha256 != file(rows(2), "shipment").sha256


# What it cannot be


def test_a_file_that_is_too_large_to_mail_is_refused() -> None:
    items = [{"a": "x" * 1024}] * (MOST_BYTES // 1024)
    with pytest.raises(ContentError, match=f"{PLACE}comes out at \\d+ bytes, more than {MOST_BYTES}$"):
        file(items, "a")


def test_a_text_that_cannot_be_written_is_refused() -> None:
    with pytest.raises(ContentError, match=f"{PLACE}.*surrogates"):
        file([{"a": "\ud800"}], "a")


# In the request


def request(items: list[dict[str, Any]]) -> Mapping[str, Any]:
    said = mail(SHIPMENTS, items)
    return payload(Message("u1_x", "shipment-digest", Recipient("u1@example.com", "Ada"), said, LINK), settings())


def test_sendgrid_takes_the_file_with_the_mail() -> None:
    body = request(rows(3, status="=1+1"))
    (attached,) = body["attachments"]
    assert problems(body) == []
    assert (attached["filename"], attached["type"]) == ("shipment-digest-2026-08-16.csv", "text/csv")
    said = mail(SHIPMENTS, rows(3, status="=1+1"))
    assert said.attachment is not None
    assert base64.b64decode(attached["content"]) == said.attachment.content
