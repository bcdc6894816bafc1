"""The pages in a real browser: they can be used, and a mail's scripts do not run."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, sync_playwright

from emulator.inbox import Inbox
from tests.stack.inbox.payloads import payload
from tests.stack.receivers import Receiver, says

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
PHONE = {"width": 390, "height": 844}
ATTACK = """<html><head><title>mail</title></head><body><h1>Hello</h1>
<script>parent.document.title = 'owned'; document.title = 'owned'; document.body.append('ran')</script>
<img src="x" onerror="document.body.append('ran')"><a href="http://127.0.0.1:1/unsubscribe">Unsubscribe</a>
</body></html>"""

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no browser at {CHROMIUM}")


@pytest.fixture(scope="module")
def browser_page() -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        yield browser.new_page()
        browser.close()


@pytest.fixture
def page(browser_page: Page, box: Inbox, http: httpx.Client) -> Page:
    for delivery_id, subject in (("u_1", "A gardener"), ("u_2", "A baker")):
        http.post("/v3/mail/send", json=payload(delivery_id, subject=subject, html=ATTACK))
    browser_page.goto(box.url)
    return browser_page


def test_a_mail_is_found_opened_and_read(page: Page) -> None:
    page.get_by_role("searchbox").fill("gardener")
    page.get_by_role("button", name="Search").click()
    assert page.locator(".mails li").count() == 1
    page.get_by_text("A gardener").click()
    page.get_by_role("link", name="Text").click()
    assert page.locator("pre.text").inner_text() == "text"


def test_a_mails_html_is_rendered_and_its_scripts_do_not_run(page: Page, box: Inbox) -> None:
    page.get_by_text("A baker").click()
    mail = page.frame_locator("iframe")
    assert mail.get_by_role("heading", name="Hello").is_visible()
    assert "ran" not in mail.locator("body").inner_text()
    assert page.title() == "A baker"
    page.goto(f"{box.url}/mails/{box.mails()[0]['id']}/html")  # on its own, without the frame around it
    assert "ran" not in page.locator("body").inner_text()
    assert page.title() == "mail"


def test_a_link_in_a_mail_opens_a_window_of_its_own(page: Page) -> None:
    page.get_by_text("A baker").click()
    with page.expect_popup() as opened:
        page.frame_locator("iframe").get_by_role("link", name="Unsubscribe").click()
    opened.value.close()
    assert "/mails/" in page.url


def test_one_click_unsubscribes_and_the_answer_is_shown(page: Page, box: Inbox, http: httpx.Client) -> None:
    with Receiver(says("200 OK", "", "No more <script>document.title = 'owned'</script>")) as receiver:
        box.events(f"http://127.0.0.1:{receiver.port}/events")
        body = payload("u_3", subject="A miller", html=ATTACK)
        body["headers"] |= {
            "List-Unsubscribe": f"<http://127.0.0.1:{receiver.port}/unsubscribe?token=t>",
            "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        }
        http.post("/v3/mail/send", json=body)
        box.settled()
        page.goto(box.url)
        page.get_by_text("A miller").click()
        assert page.get_by_role("row", name="delivered").is_visible()
        page.get_by_role("button", name="Unsubscribe").click()
        answer = page.get_by_role("region", name="The answer to unsubscribing")
        assert answer.get_by_text("Answered with 200").is_visible()
        assert "<script>" in answer.inner_text()
        assert page.title() == "A miller"
        assert [heard.path for heard in receiver.heard] == ["/events", "/unsubscribe?token=t"]
    box.events()


@pytest.mark.parametrize("path", ["/", "/mails/{id}", "/mails/{id}?view=headers", "/mails/{id}?view=request"])
def test_nothing_is_wider_than_a_phone(page: Page, box: Inbox, http: httpx.Client, path: str) -> None:
    body = payload("u" * 150, subject="Donaudampfschifffahrtsgesellschaft" * 5)
    body["headers"] |= {
        "List-Unsubscribe": f"<http://127.0.0.1:1/{'u' * 200}>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    }
    box.events("http://127.0.0.1:1/events", delay_seconds=3600)
    http.post("/v3/mail/send", json=body)
    box.emit("bounce", box.mails()[0]["id"], reason="Donaudampfschifffahrtsgesellschaft" * 5)
    box.events()
    page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
    page.goto(box.url + path.format(id=box.mails()[0]["id"]))
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
