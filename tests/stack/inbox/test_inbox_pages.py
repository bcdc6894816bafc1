"""The inbox pages: what people see, and that a mail can do nothing to them."""

import httpx
import pytest

from emulator.inbox import Inbox
from tests.stack.inbox.payloads import payload

HOSTILE = '<img src=x onerror=alert(1)> R&D "Lead" O\'Neil </title><script>alert(1)</script>'


def send(http: httpx.Client, delivery_id: str = "u_j", **more: str) -> None:
    assert http.post("/v3/mail/send", json=payload(delivery_id, **more)).status_code == 202


def test_an_empty_inbox_says_so(box: Inbox, http: httpx.Client) -> None:
    page = http.get("/")
    assert page.status_code == 200
    assert "No mail yet" in page.text


def test_the_list_is_newest_first_with_counts_and_marks_copies(box: Inbox, http: httpx.Client) -> None:
    send(http, "a", subject="First")
    send(http, "b", subject="Second")
    send(http, "a", subject="Again")
    page = http.get("/").text
    assert page.index("Again") < page.index("Second") < page.index("First")
    assert page.count("copy 2") == 1
    assert "Accepted 3" in page
    assert "Duplicates 1" in page
    assert page.count("ann@mail.org") == 3


def test_the_search_finds_by_subject_and_keeps_its_words_in_the_box(box: Inbox, http: httpx.Client) -> None:
    send(http, "a", subject="Gardener")
    send(http, "b", subject="Baker")
    page = http.get("/", params={"q": "gardener"}).text
    assert "Gardener" in page
    assert "Baker" not in page
    assert 'value="gardener"' in page
    assert "No mail mentions “&lt;b&gt;”" in http.get("/", params={"q": "<b>"}).text


def test_the_list_has_pages(box: Inbox, http: httpx.Client) -> None:
    for number in range(51):
        send(http, f"d{number}", subject=f"Number {number}.")
    first, second = http.get("/").text, http.get("/", params={"page": 2}).text
    assert "Number 50." in first
    assert "Number 0." not in first
    assert 'href="/?page=2" rel="next"' in first
    assert "1 to 50 of 51" in first
    assert "Number 0." in second
    assert 'rel="prev"' in second


@pytest.mark.parametrize(
    "path", ["/", "/?q=R%26D", "/mails/{id}", "/mails/{id}?view=headers", "/mails/{id}?view=request"]
)
def test_a_hostile_subject_is_shown_as_text(box: Inbox, http: httpx.Client, path: str) -> None:
    send(http, subject=HOSTILE)
    page = http.get(path.format(id=box.mails()[0]["id"])).text
    assert "<script" not in page
    assert "<img" not in page
    assert "&lt;img src=x onerror=alert(1)&gt; R&amp;D" in page


def test_a_mail_is_shown_as_html_text_headers_and_request(box: Inbox, http: httpx.Client) -> None:
    send(http)
    here = f"/mails/{box.mails()[0]['id']}"
    opened = http.get(here).text
    assert f'<iframe src="{here}/html" sandbox="' in opened
    assert "Ann &lt;ann@mail.org&gt;" in opened
    assert '<pre class="text">text</pre>' in http.get(here, params={"view": "text"}).text
    assert "&lt;u_j@example.com&gt;" in http.get(here, params={"view": "headers"}).text
    assert "&#34;personalizations&#34;: [" in http.get(here, params={"view": "request"}).text
    assert http.get(here, params={"view": "other"}).status_code == 404


def test_a_mail_without_html_opens_as_text(box: Inbox, http: httpx.Client) -> None:
    sent = payload()
    sent["content"].pop()
    http.post("/v3/mail/send", json=sent)
    assert '<pre class="text">text</pre>' in http.get(f"/mails/{box.mails()[0]['id']}").text


def test_pages_allow_nothing_but_their_own_stylesheet_and_frames(box: Inbox, http: httpx.Client) -> None:
    policy = http.get("/").headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'self';")
    assert "script-src" not in policy
    assert http.get("/static/inbox.css").headers["Content-Type"].startswith("text/css")


def test_a_mails_html_is_served_sandboxed_and_fetches_nothing(box: Inbox, http: httpx.Client) -> None:
    send(http, html="<html><head></head><body><script>1</script></body></html>")
    answer = http.get(f"/mails/{box.mails()[0]['id']}/html")
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("sandbox ")
    assert "allow-scripts" not in policy
    assert "default-src 'none'" in policy
    assert answer.text == '<html><head><base target="_blank"></head><body><script>1</script></body></html>'


@pytest.mark.parametrize("path", ["/mails/none", "/mails/none/html", "/api/mails/none"])
def test_an_unknown_mail_is_404(http: httpx.Client, path: str) -> None:
    assert http.get(path).status_code == 404
