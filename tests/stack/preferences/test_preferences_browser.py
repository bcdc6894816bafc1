"""From the link in a mail to the page in a real browser: it can be used, without a script, on a phone, by the keyboard."""

import itertools
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from google.cloud import firestore
from playwright.sync_api import Browser, Page, expect, sync_playwright

from emulator import cloud
from emulator.cloud import PROJECT, TRIGGER_KEY, Cloud
from ledgermail.preferences.links import Links
from tests.samples import a_match, a_user
from tests.stack.inbox.test_inbox_browser import ARGUMENTS, CHROMIUM, PHONE

MAILINGS = {
    "job-alert": {"active": True},
    "weekly-digest": {"active": True, "schedule": "0 8 * * 1 Europe/Berlin"},
    "daily-digest": {"active": False, "schedule": "30 7 1,15 * * Europe/Berlin"},
}
JOBS = itertools.count()

pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no browser at {CHROMIUM}")


@pytest.fixture(scope="module")
def running() -> Iterator[Cloud]:
    with cloud.start() as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def db(running: Cloud) -> firestore.Client:
    db = running.firestore.client(PROJECT)
    db.document("users/u1").set(a_user(timezone="Europe/Berlin", mailings=MAILINGS))
    return db


def link(running: Cloud, mailing: str = "weekly-digest") -> str:
    environment = running.environment
    keys = environment["LEDGERMAIL_TOKEN_KEY"].split(",")
    return Links(function_url=environment["LEDGERMAIL_FUNCTION_URL"], keys=keys).url("u1", mailing)


@pytest.fixture
def page(running: Cloud, browser: Browser, db: firestore.Client) -> Iterator[Page]:
    """The page, in a browser that runs no scripts, keeps no cookies from before, and is as wide as a phone."""
    context = browser.new_context(java_script_enabled=False, viewport=PHONE)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(link(running))
    yield page
    context.close()


def preference(db: firestore.Client, mailing: str = "weekly-digest") -> dict[str, object]:
    return dict((db.document("users/u1").get().to_dict() or {})["mailings"][mailing])


@pytest.fixture
def mail(running: Cloud, browser: Browser, db: firestore.Client) -> Iterator[Page]:
    """An alert, opened in the inbox."""
    running.inbox.clear()
    job = f"j{next(JOBS)}"
    matched_at = datetime.now(UTC) - timedelta(minutes=1)  # a scan leaves the newest to the next one
    db.collection("matches").add(a_match(job_id=job, matched_at=matched_at))
    url = f"{running.functions.url}/trigger?job=scan"
    httpx.post(url, headers={"X-Ledgermail-Key": TRIGGER_KEY}, timeout=30, trust_env=False).raise_for_status()
    page = browser.new_page()
    for _ in range(200):  # it comes by way of two queues
        page.goto(running.inbox.url)
        if page.get_by_text("Data Engineer").count():
            break
    page.get_by_text("Data Engineer").first.click()
    yield page
    page.close()


def test_the_link_in_a_mail_leads_to_the_page_that_unsubscribes(mail: Page, db: firestore.Client) -> None:
    with mail.expect_popup() as opened:
        mail.frame_locator("iframe").get_by_role("link", name="Unsubscribe").click()
    shown = opened.value
    shown.get_by_role("button", name="Unsubscribe from “Job alert”").click()
    expect(shown.get_by_role("status")).to_have_text("Job alert is off.")
    assert preference(db, "job-alert")["active"] is False
    shown.close()


def test_the_mailboxs_own_button_unsubscribes_by_one_click(mail: Page, db: firestore.Client) -> None:
    mail.get_by_role("button", name="Unsubscribe").click()
    expect(mail.locator("body")).to_contain_text("You are unsubscribed")
    assert preference(db, "job-alert")["active"] is False
    assert preference(db)["active"] is True


def test_a_mailing_is_turned_off_and_on_again(page: Page, db: firestore.Client) -> None:
    address = page.url
    page.get_by_role("button", name="Unsubscribe from “Weekly digest”").click()
    expect(page.get_by_role("status")).to_have_text("Weekly digest is off.")
    assert preference(db)["active"] is False
    page.get_by_role("button", name="Subscribe again to “Weekly digest”").click()
    expect(page.get_by_role("status")).to_have_text("Weekly digest is on.")
    assert preference(db)["active"] is True
    assert page.url == address  # answered by itself, not by a redirect


def test_day_time_and_place_are_chosen_by_their_names(page: Page, db: firestore.Client) -> None:
    weekly = page.get_by_role("group", name="Weekly digest")
    expect(weekly).to_contain_text("It comes every Monday at 08:00 (Berlin time).")
    weekly.get_by_label("Day").select_option(label="Monday to Friday")
    weekly.get_by_label("Time").select_option(label="18:00")
    page.get_by_label("Time zone of the days and times above").select_option(label="Argentina, Buenos Aires")
    page.get_by_role("group", name="Job alert").get_by_label("Send me this mail").uncheck()
    page.get_by_role("button", name="Save").click()
    told = page.get_by_role("status")
    for words in ("Job alert is off.", "comes Monday to Friday at 18:00 (Buenos Aires time).", "that of Buenos Aires."):
        expect(told).to_contain_text(words)
    assert preference(db)["schedule"] == "0 18 * * 1-5 America/Argentina/Buenos_Aires"
    assert preference(db, "job-alert")["active"] is False
    expect(page.get_by_role("group", name="Weekly digest").get_by_label("Time")).to_have_value("18")


def test_an_unusual_schedule_is_told_in_words_and_kept(page: Page, db: firestore.Client) -> None:
    daily = page.get_by_role("group", name="Daily digest")
    expect(daily).to_contain_text("It would come at 07:30 on the first and the 15th day of the month (Berlin time).")
    daily.get_by_label("Send me this mail").check()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_have_text("Daily digest is on.")
    assert preference(db, "daily-digest")["schedule"] == "30 7 1,15 * * Europe/Berlin"


def test_what_is_wrong_is_told_at_its_field_and_what_was_chosen_stays(page: Page, db: firestore.Client) -> None:
    page.get_by_role("group", name="Daily digest").get_by_label("Day").select_option(label="every Friday")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("alert").get_by_role("link", name="Choose a time, too").click()
    hour = page.get_by_role("group", name="Daily digest").get_by_label("Time")
    expect(hour).to_have_attribute("aria-invalid", "true")
    expect(hour).to_have_accessible_description("Choose a time, too.")
    expect(page.get_by_role("group", name="Daily digest").get_by_label("Day")).to_have_value("5")
    assert page.title().startswith("Please look again: ")
    hour.select_option(label="09:00")
    page.get_by_role("button", name="Save").click()
    assert preference(db, "daily-digest")["schedule"] == "0 9 * * 5 Europe/Berlin"


def test_it_is_used_by_the_keyboard_alone(page: Page, db: firestore.Client) -> None:
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Unsubscribe from “Weekly digest”")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_have_text("Weekly digest is off.")
    assert preference(db)["active"] is False


def test_everything_has_a_name_and_is_large_enough_to_be_touched(page: Page) -> None:
    for control in page.locator("button, select").all():
        box = control.bounding_box()
        assert box is not None
        assert box["height"] >= 44
    for kind in ("button", "combobox", "checkbox"):
        assert page.get_by_role(kind).count() == page.get_by_role(kind).filter(visible=True).count() > 0
    assert page.locator("select:not([id])").count() == 0
    assert page.locator("html").get_attribute("lang") == "en"
    assert page.get_by_role("heading", level=1).count() == 1


def test_nothing_is_wider_than_a_phone(running: Cloud, browser: Browser, db: firestore.Client) -> None:
    page = browser.new_page(viewport=PHONE)  # type: ignore[arg-type]
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text))
    for url in (link(running), link(running, "no-such-mailing"), f"{link(running)}x"):
        page.goto(url)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        assert page.evaluate("getComputedStyle(document.querySelector('main')).maxWidth") != "none"  # the style applies
    assert [message for message in messages if "Content Security Policy" in message] == []
    page.close()
