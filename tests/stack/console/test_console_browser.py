"""The console in a real browser on the local cloud: what support does, without scripts, and what no other site can do."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import count

import pytest
from google.cloud import firestore
from playwright.sync_api import Browser, Page

from emulator.cloud import Cloud
from ledgermail.ledger import ids
from ledgermail.ledger.delivery import Status, to_document
from tests.integration.delivering import owed
from tests.integration.raw_server import answering, serving
from tests.samples import a_match, a_user

TRIES = 300  # of a tenth of a second: a worker takes what was asked for within a few
NUMBERS = count(1)
BOOK = ids.run_key("job-alert", datetime.now(UTC).date().isoformat())


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A window in which no script runs, and in which nothing that a page asks for is refused by its own policy."""
    context = browser.new_context(java_script_enabled=False)
    opened = context.new_page()
    complaints: list[str] = []
    opened.on("console", lambda said: complaints.append(said.text))
    yield opened
    context.close()
    assert [said for said in complaints if "Content Security Policy" in said] == []


@pytest.fixture
def rejected(db: firestore.Client) -> str:
    """A rejected alert of a user of this test's own, whose id this is."""
    user_id = f"u{next(NUMBERS)}"
    delivery = owed("job1", Status.REJECTED, attempt=1, run_key=BOOK).changed(
        id=ids.delivery_id(user_id, "job1"), user_id=user_id
    )
    db.document(f"users/{user_id}").set(a_user(email=f"{user_id}@example.com"))
    db.document(f"matches/{user_id}").set(a_match(user_id=user_id, job_id="job1", matched_at=datetime.now(UTC)))
    db.document(f"deliveries/{delivery.id}").set(to_document(delivery))
    counts = {"mailing": "job-alert", "opened_at": datetime.now(UTC), "intended": firestore.Increment(1)}
    db.document(f"runs/{BOOK}").set(counts, merge=True)
    return user_id


def open_delivery(page: Page, cloud: Cloud, user_id: str) -> None:
    page.goto(f"{cloud.functions.url}/console/deliveries/{user_id}_job1")


def status(db: firestore.Client, user_id: str) -> str:
    return str((db.document(f"deliveries/{user_id}_job1").get().to_dict() or {})["status"])


def until(page: Page, holds: Callable[[], bool]) -> None:
    for _ in range(TRIES):
        if holds():
            return
        page.wait_for_timeout(100)
    pytest.fail("it never came to that")


def test_a_recipient_is_found_by_address_and_did_they_get_it_is_answered(
    page: Page, cloud: Cloud, rejected: str
) -> None:
    page.goto(f"{cloud.functions.url}/console/")
    page.get_by_role("searchbox").fill(f"{rejected}@example.com")
    page.get_by_role("button", name="Search").click()
    assert page.url == f"{cloud.functions.url}/console/recipients/{rejected}"
    assert page.get_by_text(f"{rejected}@example.com").is_visible()
    page.get_by_role("textbox", name="A job's id").fill("job1")
    page.get_by_role("button", name="Ask").click()
    assert page.locator(".answer").inner_text().startswith("rejected")
    assert "was not sent" in page.locator(".answer").inner_text()
    page.get_by_role("link", name="Open this delivery").click()
    assert "planned by job-alert" in page.locator(".history").inner_text()


def test_a_rejected_one_is_tried_again_and_seen_accepted(
    page: Page, cloud: Cloud, db: firestore.Client, rejected: str
) -> None:
    open_delivery(page, cloud, rejected)
    page.get_by_role("link", name="Try it again").click()
    assert page.get_by_role("heading", name="Try this delivery again?").is_visible()
    assert status(db, rejected) == "rejected"
    page.get_by_label("Why?").fill("their mailbox is back")
    page.get_by_role("button", name="Try it again").click()
    assert page.get_by_text("It is tried again").is_visible()
    until(page, lambda: status(db, rejected) == "accepted")
    page.reload()
    assert page.locator(".answer").inner_text().startswith("accepted")
    assert "local had it tried again (their mailbox is back)" in page.locator(".history").inner_text()
    assert len(cloud.inbox.mails(delivery_id=f"{rejected}_job1")) == 1


def test_nothing_is_done_without_a_confirmation(page: Page, cloud: Cloud, db: firestore.Client, rejected: str) -> None:
    open_delivery(page, cloud, rejected)
    page.get_by_role("link", name="Try it again").click()
    page.get_by_role("link", name="No, go back").click()
    assert page.url.endswith(f"/console/deliveries/{rejected}_job1")
    page.goto(f"{cloud.functions.url}/console/mail/pause")
    page.get_by_role("link", name="No, go back").click()
    assert page.get_by_text("Mail is going out.").is_visible()
    assert status(db, rejected) == "rejected"


def test_all_mail_is_paused_and_resumed(page: Page, cloud: Cloud, db: firestore.Client) -> None:
    page.goto(f"{cloud.functions.url}/console/")
    page.get_by_role("link", name="Pause all mail").click()
    page.get_by_label("Why?").fill("a wrong template")
    page.get_by_role("button", name="Pause all mail").click()
    assert page.get_by_text("All mail is paused.").is_visible()
    assert (db.document("state/gate").get().to_dict() or {})["paused"] is True
    page.get_by_role("link", name="Let mail go out").click()
    page.get_by_role("button", name="Let mail go out").click()
    assert page.get_by_text("Mail is going out.").is_visible()
    page.get_by_role("link", name="Record").click()
    acts = page.locator("tbody").first.inner_text()
    assert ("pause" in acts, "resume" in acts, "a wrong template" in acts) == (True, True, True)


def test_another_site_cannot_have_an_operators_browser_do_anything(
    browser: Browser, cloud: Cloud, db: firestore.Client, rejected: str
) -> None:
    """Not even one that has got hold of a token, which no site can read."""
    action = f"{cloud.functions.url}/console/deliveries/{rejected}_job1/retry"
    page = browser.new_page()
    page.goto(action)
    token = page.locator("input[name=token]").last.get_attribute("value")
    form = f'<form method="post" action="{action}"><input name="token" value="{token}"><button>Win</button></form>'
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%b"
    with serving(answering(answer % (len(form), form.encode()))) as elsewhere:
        page.goto(elsewhere)
        page.get_by_role("button").click()
        assert page.get_by_role("heading", name="This is not allowed").is_visible()
        page.goto(elsewhere)
        page.evaluate(f"document.body.innerHTML = '<iframe src=\"{action}\"></iframe>'")
        frame = page.frame_locator("iframe")
        assert frame.get_by_role("button", name="Try it again").count() == 0
    page.close()
    assert status(db, rejected) == "rejected"
