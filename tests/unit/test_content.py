"""Content: third-party text becomes a mail that says it, and cannot become anything else."""

from collections.abc import Mapping
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typing_extensions import override

from ledgermail.delivering.content import SUBJECT_CHARS, Rendered, link, one_line, render
from ledgermail.errors import ContentError
from ledgermail.ledger.delivery import Content, Delivery, from_document, to_document
from ledgermail.mailing import Mailing
from tests.samples import LINK, NOW, a_delivery, a_mailing, a_user, about

MAILING = a_mailing()
FOOT = f"\nUnsubscribe, or choose what you get, and when:\n{LINK}\n"  # of every mail
TAGS = {"html", "head", "title", "meta", "style", "body", "div", "table", "tbody", "tr", "td", "a", "p"}


class Page(HTMLParser):
    """The tags, links and words of a page, but for the links that every mail has."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []
        self.text = ""
        self.attributes: set[str] = set()
        self.feed(html)

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if any(name == "href" and (value or "").startswith(LINK) for name, value in attrs):
            return
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.links += [value or "" for name, value in attrs if name == "href"]

    @override
    def handle_data(self, data: str) -> None:
        self.text += data


def mail_of(delivery: Delivery, mailing: Mailing = MAILING, **user: object) -> Rendered:
    assert delivery.content is not None
    return render(mailing, delivery, delivery.content, a_user(**user), unsubscribe_url=LINK)


PLAIN = Page(mail_of(a_delivery()).html)


def mail(name: object = "Ada", **job: Any) -> Rendered:
    return mail_of(about(**job), name=name)


def with_template(name: str, source: str) -> Rendered:
    return mail_of(a_delivery(), replace(MAILING, templates={**MAILING.templates, name: source}))


# What a mail says


def test_a_mail_says_what_the_job_is_in_its_subject_its_html_and_its_text() -> None:
    said = mail(title="Cook", company="Café Ünö", locations=["Köln", "Remote"], url="https://jobs.example.com/1")
    assert said.subject == "Cook at Café Ünö"
    for text in (Page(said.html).text, said.text):
        for words in ("Hello Ada", "Cook", "Café Ünö", "Köln, Remote"):
            assert words in text
    assert Page(said.html).links == ["https://jobs.example.com/1"]
    assert "\nhttps://jobs.example.com/1\n" in said.text


def test_what_is_missing_leaves_no_trace() -> None:
    said = mail(name=None)
    assert said.subject == "Cook"
    assert said.text == f"Hello,\n\na new job matches your search:\n\nCook\n{FOOT}"
    assert Page(said.html).links == []
    assert "None" not in said.html


def test_one_location_is_not_taken_for_a_list_of_letters() -> None:
    said = mail(locations="Köln")
    assert "Köln" in said.text
    assert "Köln" in Page(said.html).text


@pytest.mark.parametrize("title", ['R&D "Lead" <b>', "O'Neil & Söhne", "&amp; &lt;b&gt;", "{{ user.name }} {% raw %}"])
def test_a_title_reads_the_same_everywhere(title: str) -> None:
    said = mail(title=title)
    assert said.subject == title
    assert f"\n{title}\n" in said.text
    assert title in Page(said.html).text
    assert Page(said.html).tags == PLAIN.tags - {"a"}


def test_a_long_subject_is_cut_and_says_so() -> None:
    said = mail(title="Ведущий инженер " * 20)
    assert len(said.subject) <= SUBJECT_CHARS
    assert said.subject.startswith("Ведущий инженер Ведущий")
    assert said.subject.endswith("…")
    assert said.subject in said.text


# Third-party text


@pytest.mark.parametrize(
    "text",
    ["<img src=x onerror=alert(1)>", "</td></table><script>alert(1)</script>", '" onmouseover="alert(1)', "<!--"],
)
@pytest.mark.parametrize("field", ["title", "company", "locations", "name"])
def test_third_party_text_never_becomes_markup(field: str, text: str) -> None:
    page = Page(mail(**{field: text}).html)
    assert page.tags == PLAIN.tags - {"a"}
    assert not [name for name in page.attributes if name.startswith("on")]
    assert text in page.text


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "data:text/html,<script>alert(1)</script>",
        "java\nscript:alert(1)",
        "http://a.example\nhttp://b.example",
        "http://a.example/\u202etxt",
        "//a.example",
        "/1",
        "jobs.example.com/1",
        "mailto:u1@example.com",
        "ftp://a.example",
        "http://",
        "http://[",
        "http://:80/",
        "http://a.example:99999/",
        "http://a b.example/",
        "",
        None,
        5,
        {"url": "http://a.example"},
        ["http://a.example"],
    ],
)
def test_what_is_no_web_address_is_never_a_link(url: object) -> None:
    said = mail(url=url)
    assert Page(said.html).links == []
    assert "http" not in said.text.removesuffix(FOOT)


@pytest.mark.parametrize(
    ("url", "linked"),
    [
        ("https://jobs.example.com/1?a=1&b=2#c", "https://jobs.example.com/1?a=1&b=2#c"),
        ("HTTP://jobs.example.com", "HTTP://jobs.example.com"),
        ("  https://jobs.example.com/1\n", "https://jobs.example.com/1"),
        ("https://jobs.example.com/senior cook", "https://jobs.example.com/senior%20cook"),
        ("https://jöbs.example/köln", "https://jöbs.example/köln"),
        ('https://a.example/"><script>alert(1)</script>', 'https://a.example/"><script>alert(1)</script>'),
        ("https://a.example/'onclick='x", "https://a.example/'onclick='x"),
        ("https://[2001:db8::1]:8443/", "https://[2001:db8::1]:8443/"),
    ],
)
def test_a_web_address_is_one_link_and_nothing_more(url: str, linked: str) -> None:
    said = mail(url=url)
    page = Page(said.html)
    assert page.links == [linked]
    assert page.tags == PLAIN.tags
    assert f"\n{linked}\n" in said.text


TEXT = st.text(max_size=60)
FIELD = TEXT | st.none() | st.integers() | st.lists(TEXT, max_size=3) | st.dictionaries(TEXT, TEXT, max_size=2)


@settings(max_examples=60, deadline=None)
@given(title=TEXT.filter(str.strip), company=FIELD, locations=FIELD, url=FIELD, name=TEXT)
def test_whatever_an_item_holds_it_becomes_a_sound_mail_or_a_named_refusal(
    title: str, company: object, locations: object, url: object, name: str
) -> None:
    refusal = "job-alert/"
    try:
        assert_sound(mail(name=name, title=title, company=company, locations=locations, url=url), url)
    except ContentError as error:
        refusal = str(error)
    assert refusal.startswith("job-alert/")


def assert_sound(said: Rendered, url: object) -> None:
    page = Page(said.html)
    assert page.tags | {"a"} == PLAIN.tags
    assert page.links in ([], [link(url)])
    assert all(char.isprintable() or char in "\u200c\u200d" for char in said.subject)
    assert 0 < len(said.subject) <= SUBJECT_CHARS


@given(url=st.text() | st.from_regex(r"https?://[^/]*(/.*)?", fullmatch=True))
def test_a_link_is_one_word_of_http(url: str) -> None:
    found = link(url)
    assert found == "" or (found.lower().startswith("http") and len(found.split()) == 1 and found.isprintable())


@given(text=st.text())
def test_a_header_can_get_no_second_line(text: str) -> None:
    line = one_line(text)
    assert len(line.splitlines()) <= 1
    assert line == line.strip() == one_line(line)


@pytest.mark.parametrize("text", ["👩‍💻 gesucht", "می‌خواهم", "Zoë Ünal-Šć"])
def test_words_that_need_a_joiner_keep_it(text: str) -> None:
    assert one_line(text) == text


def test_a_name_that_is_no_text_is_harmless() -> None:
    for name in (None, "", 0, 5, ["Ada"], {"first": "Ada"}):
        assert mail(name=name).subject == "Cook"


# What was frozen


def test_items_that_changed_since_they_were_frozen_are_refused() -> None:
    delivery = about(title="Cook")
    assert delivery.content is not None
    for items in (({"job_id": "j1", "title": "Chef"},), (), None, (*(delivery.content.items or ()), {"title": "Two"})):
        with pytest.raises(ContentError, match=r"^content\."):
            mail_of(delivery.changed(content=replace(delivery.content, items=items)))


def test_a_delivery_without_items_is_refused_by_name() -> None:
    with pytest.raises(ContentError, match=r"^content.items: are missing"):
        mail_of(a_delivery(content=Content(hash="x")))


def test_items_of_a_kind_that_no_job_has_are_refused_by_name() -> None:
    items: tuple[Mapping[str, Any], ...] = ({"title": "Cook", "logo": b"\x89PNG"},)
    with pytest.raises(ContentError, match=r"^content.items: "):
        mail_of(a_delivery(content=Content(hash="x", items=items)))


def test_items_are_the_same_after_they_were_written_down() -> None:
    delivery = about(salary=1.0, posted_at=NOW, tags=["a", None], nested={"b": {"c": None}}, remote=True)
    assert mail_of(from_document(delivery.id, to_document(delivery))) == mail_of(delivery)


# Templates


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("subject.txt", "{{ item.title"),
        ("subject.txt", "{{ item.title | nothing }}"),
        ("subject.txt", "{{ nobody.name }}"),
        ("subject.txt", "{{ item.title.upper.lower() }}"),
        ("subject.txt", "{{ 1 // 0 }}"),
        ("subject.txt", "{{ items[7].title }}"),
        ("subject.txt", " {# nothing #} "),
        ("body.txt", "{% if %}"),
        ("body.mjml", "<mjml><mj-body>"),
        ("body.mjml", "no MJML at all"),
        ("body.mjml", "<mjml><mj-body><mj-raw>{{ item.title</mj-raw></mj-body></mjml>"),
    ],
)
def test_a_template_that_cannot_be_filled_is_named(name: str, source: str) -> None:
    with pytest.raises(ContentError, match=f"^job-alert/{name}: "):
        with_template(name, source)


def test_a_template_that_is_missing_is_named() -> None:
    mailing = replace(MAILING, templates={k: v for k, v in MAILING.templates.items() if k != "body.txt"})
    with pytest.raises(ContentError, match=r"^job-alert/body.txt: "):
        mail_of(a_delivery(), mailing)


def test_a_template_that_changes_while_an_instance_is_warm_is_used_at_once() -> None:
    assert with_template("subject.txt", "One: {{ item.title }}").subject == "One: Data Engineer"
    assert with_template("subject.txt", "Two: {{ item.title }}").subject == "Two: Data Engineer"


def test_the_same_delivery_is_the_same_mail_at_every_attempt() -> None:
    assert mail_of(a_delivery(attempt=1)) == mail_of(a_delivery(attempt=5))
