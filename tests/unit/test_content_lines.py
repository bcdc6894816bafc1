"""An alert's words: of whatever kind, they read the same in its subject, its HTML and its text, and stay on their lines."""

from html import unescape
from typing import Any

import pytest

from ledgermail.delivering.content import Rendered, render
from tests.samples import LINK, a_mailing, a_user, about

MAILING = a_mailing()
FOOT = f"\nUnsubscribe, or choose what you get, and when:\n{LINK}\n"


def mail(name: str = "Ada", **job: Any) -> Rendered:
    delivery = about(**job)
    assert delivery.content is not None
    return render(MAILING, delivery, delivery.content, a_user(name=name), unsubscribe_url=LINK)


@pytest.mark.parametrize(
    ("value", "words"),
    [(12345, "12345"), (True, "yes"), (["A", 7], "A, 7"), ({"city": "Köln"}, '{"city": "Köln"}'), ("A\nB", "A B")],
)
def test_a_value_of_any_kind_reads_the_same_everywhere_and_refuses_no_mail(value: object, words: str) -> None:
    said = mail(company=value, locations=value)
    assert said.subject == f"Cook at {words}"
    assert f"\nCook\n{words}\n{words}\n" in said.text
    assert f"{words} · {words}" in unescape(said.html)


@pytest.mark.parametrize("field", ["title", "company", "locations", "name"])
def test_third_party_text_is_one_line_of_the_text_and_cannot_be_a_foot_of_its_own(field: str) -> None:
    said = mail(**{field: f"A{FOOT}".replace(LINK, "https://evil.example")})
    (line,) = [line for line in said.text.splitlines() if "evil" in line]
    assert "Unsubscribe" in line
    assert said.text.endswith(FOOT)
