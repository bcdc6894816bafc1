"""The console's pages fit a phone and can be read by everybody, in light and in the dark."""

from datetime import UTC, datetime

import pytest
from google.cloud import firestore
from playwright.sync_api import Browser

from emulator.cloud import Cloud
from emulator.screenshots.__main__ import seed
from emulator.screenshots.scene import ASKED_ABOUT, FAILED_JOB, IN_DOUBT_JOB
from ledgermail.ledger import ids

PHONE = 390
LONG = "Donaudampfschifffahrtsgesellschaft" * 4
PAGES = {
    "overview": "",
    "recipient": f"recipients/{ASKED_ABOUT}?about=daily-digest",
    "long": f"recipients/{LONG}",
    "delivery": f"deliveries/{ids.delivery_id(ASKED_ABOUT, FAILED_JOB)}",
    "confirmation": f"deliveries/{ids.delivery_id(ASKED_ABOUT, IN_DOUBT_JOB)}/retry",
    "run": f"runs/{ids.run_key('job-alert', datetime.now(UTC).date().isoformat())}",
    "record": "record",
    "nothing": "nothing",
}
# Every text's contrast with what is behind it (WCAG 2.2), of those that are below 4.5.
TOO_FAINT = """() => {
  const parts = colour => colour.match(/[\\d.]+/g).map(Number);
  const light = colour => parts(colour).slice(0, 3).map(c => c / 255)
    .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = e => { while (e && parts(getComputedStyle(e).backgroundColor)[3] === 0) e = e.parentElement;
    return e ? getComputedStyle(e).backgroundColor : 'rgb(255, 255, 255)'; };
  return [...document.body.querySelectorAll('*')]
    .filter(e => !e.closest('svg') && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()))
    .map(e => { const [a, b] = [light(getComputedStyle(e).color), light(ground(e))].sort();
      return [Math.round((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) * 100) / 100, e.textContent.trim().slice(0, 40)]; })
    .filter(([contrast]) => contrast < 4.5);
}"""
UNNAMED = """() => [...document.querySelectorAll('a, button, input:not([type=hidden]), textarea')]
  .filter(e => !(e.textContent.trim() || e.ariaLabel || (e.labels && e.labels.length))).map(e => e.outerHTML)"""


@pytest.fixture(scope="module", autouse=True)
def scene(cloud: Cloud) -> firestore.Client:
    """A fortnight of a ledger, and somebody with a long name."""
    db = cloud.firestore.client("demo-ledgermail")
    seed(db, datetime.now(UTC))
    db.document(f"users/{LONG}").set({"email": f"{LONG[:60]}@example.com", "name": LONG, "timezone": "UTC"})
    return db


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_wider_than_a_phone(name: str, browser: Browser, cloud: Cloud) -> None:
    page = browser.new_page(viewport={"width": PHONE, "height": 844})
    page.goto(f"{cloud.functions.url}/console/{PAGES[name]}")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE
    page.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_every_text_can_be_read_and_every_control_has_a_name(
    name: str, theme: str, browser: Browser, cloud: Cloud
) -> None:
    page = browser.new_page(color_scheme="dark" if theme == "dark" else "light")
    page.goto(f"{cloud.functions.url}/console/{PAGES[name]}")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(18, 21, 26)"
    assert dark is (theme == "dark")
    assert page.evaluate(TOO_FAINT) == []
    assert page.evaluate(UNNAMED) == []
    assert page.locator("h1").count() == 1
    page.close()


def test_the_chart_says_in_words_what_it_shows(browser: Browser, cloud: Cloud) -> None:
    page = browser.new_page()
    page.goto(f"{cloud.functions.url}/console/")
    chart = page.get_by_role("img", name="Deliveries of the last 14 days")
    assert "accepted" in (chart.locator("desc").text_content() or "")
    page.get_by_text("The figures", exact=True).click()
    assert page.locator("details tbody tr").count() == 14
    page.close()
