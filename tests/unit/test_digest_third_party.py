"""Third-party text in a list: it says what it says, and cannot become anything else."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.inbox.validation import problems
from ledgermail.delivering.content import Rendered
from ledgermail.delivering.eligibility import Recipient
from ledgermail.delivering.message import Message
from ledgermail.mailing import Mailing
from ledgermail.providers.message_sendgrid import payload
from tests import samples
from tests.unit.digests import DAILY, SHIPMENTS, SHIPPED, WEEKLY, Page, items_of, jobs, mail, shown

DIGESTS = pytest.mark.parametrize("mailing", [DAILY, WEEKLY], ids=lambda mailing: mailing.name)
LISTS = pytest.mark.parametrize("mailing", [DAILY, WEEKLY, SHIPMENTS], ids=lambda mailing: mailing.name)


@LISTS
@pytest.mark.parametrize(
    "text",
    ["<img src=x onerror=alert(1)>", "</li></ul></td></table><script>alert(1)</script>", '" onclick="alert(1)', "<!--"],
)
def test_third_party_text_never_becomes_markup_in_a_list(mailing: Mailing, text: str) -> None:
    kinds = ("shipment", "status", "destination") if mailing is SHIPMENTS else ("title", "company", "locations")
    plain = Page(mail(mailing, items_of(mailing, 3, **dict.fromkeys(kinds, "x"))).html)
    page = Page(mail(mailing, items_of(mailing, 3, **dict.fromkeys(kinds, text)), name=text).html)
    assert page.tags == plain.tags
    assert page.attributes == plain.attributes
    assert page.text.count(text) >= 9


@DIGESTS
@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,x", "java\nscript:alert(1)", "/1", 5, None])
def test_what_is_no_web_address_is_never_a_link_in_a_list(mailing: Mailing, url: object) -> None:
    items = [*jobs(1), *jobs(1, url=url, title="No link"), *jobs(1)]
    said = mail(mailing, items)
    assert Page(said.html).links == ["https://jobs.example.com/1"] * 2
    assert "No link" in Page(said.html).text
    assert "script:" not in said.html + said.text


@DIGESTS
def test_a_url_with_quotes_stays_within_its_link(mailing: Mailing) -> None:
    url = 'https://a.example/"><script>alert(1)</script>'
    page = Page(mail(mailing, jobs(2, url=url)).html)
    assert page.links == [url, url]
    assert "script" not in page.tags


@LISTS
@pytest.mark.parametrize("text", ['R&D "Lead" <b>', "O'Neil & Söhne", "&amp; &lt;b&gt;", "مطوّر 👩‍💻", "{{ 7 * 7 }}"])
def test_words_read_the_same_in_subject_html_and_text(mailing: Mailing, text: str) -> None:
    field = "status" if mailing is SHIPMENTS else "title"
    said = mail(mailing, items_of(mailing, 2, **{field: text}), name=text)
    assert text in Page(said.html).text
    assert text in said.text
    assert mailing is SHIPMENTS or text in said.subject
    assert f"Hello {text}" in said.text


@LISTS
def test_a_value_with_lines_cannot_pass_for_another_item_in_the_text(mailing: Mailing) -> None:
    field = "status" if mailing is SHIPMENTS else "company"
    said = mail(mailing, items_of(mailing, 1, **{field: "Acme\n\nFree money\nhttps://evil.example/"}))
    assert "Acme Free money https://evil.example/\n" in said.text


VALUE = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=40) | st.lists(st.text(), max_size=3)
ROW = st.fixed_dictionaries(dict.fromkeys(SHIPMENTS.attachment, VALUE))


@settings(max_examples=60, deadline=None)
@given(items=st.lists(ROW, min_size=1, max_size=4), name=st.text(max_size=40))
def test_whatever_a_report_holds_sendgrid_takes_its_mail(items: list[dict[str, object]], name: str) -> None:
    assert refusals(SHIPMENTS, mail(SHIPMENTS, items, name=name)) == []


@settings(max_examples=60, deadline=None)
@given(
    job=st.fixed_dictionaries({}, optional={"title": VALUE, "company": VALUE, "locations": VALUE, "url": VALUE}),
    total=st.integers(1, 10**9),
)
def test_whatever_a_job_holds_sendgrid_takes_the_digest(job: dict[str, object], total: int) -> None:
    said = mail(WEEKLY, [{"job_id": "j1", **job}], total=total)
    assert refusals(WEEKLY, said) == []
    assert shown(said) == 1


def refusals(mailing: Mailing, said: Rendered) -> list[object]:
    message = Message("u1_x", mailing.name, Recipient("u1@example.com", "Ada"), said, samples.LINK)
    return [*problems(payload(message, samples.settings()))]


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_mailing_makes_a_mail_that_sendgrid_takes(name: str) -> None:
    mailing = SHIPPED[name]
    for count in (1, 2, 20, 21):
        said = mail(mailing, items_of(mailing, count))
        assert refusals(mailing, said) == []
        page = Page(said.html)
        assert page.tags.count("h1") == 1
        assert "fonts.googleapis.com" not in said.html  # a mail that loads something tells who reads it
        assert "img" not in page.tags
