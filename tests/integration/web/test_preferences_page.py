"""The preferences page as HTTP knows it: what it shows, what its buttons change, and what it keeps to itself."""

import re
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any

import pytest
from google.cloud import firestore
from typing_extensions import override
from werkzeug.test import TestResponse

from emulator.firestore import Firestore
from ledgermail.app import App
from tests.integration.conftest import Ground
from tests.integration.web.conftest import Call
from tests.integration.web.links import Reader
from tests.samples import NOW, a_user

MONDAYS = {"active": True, "schedule": "0 8 * * 1 Europe/Berlin"}
MAILINGS = {"job-alert": {"active": True}, "weekly-digest": MONDAYS, "daily-digest": {"schedule": "30 9 1 * *"}}
BERLIN = "Europe/Berlin"
SAVED = {
    "act": "save",
    "zone": BERLIN,
    "on": ["job-alert", "weekly-digest"],
    "day:weekly-digest": "1",
    "hour:weekly-digest": "8",
}


class Page(HTMLParser):
    """What is chosen on a page, and its words."""

    def __init__(self, answer: TestResponse) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.chosen: dict[str, str] = {}
        self.on: set[str] = set()
        self.buttons: list[str] = []
        self.words = ""
        self._select = ""
        self.feed(answer.text)

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.tags.append(tag)
        if tag == "select":
            self._select = given["name"]
        if tag == "option" and "selected" in given:
            self.chosen[self._select] = given["value"]
        if tag == "input" and "checked" in given:
            self.on.add(given["value"])
        if tag == "button":
            self.buttons.append(given["value"])

    @override
    def handle_data(self, data: str) -> None:
        self.words += data


@pytest.fixture
def reader(app: App, db: firestore.Client, call: Call, ground: Ground) -> Reader:
    ground.user("u1", a_user(name="Zebulon", timezone=BERLIN, mailings=MAILINGS))
    return Reader(app, db, call, mailing="weekly-digest")


def paused(ground: Ground, reason: str, **more: Any) -> dict[str, Any]:
    """u1, to whom no mail goes for this reason."""
    suppressed = {"reason": reason, "at": NOW, "event": "e1", **more}
    user = a_user(timezone=BERLIN, mailings=MAILINGS, suppressed=suppressed)
    ground.user("u1", user)
    return user


# What it shows


def test_it_shows_what_comes_and_when(reader: Reader) -> None:
    page = Page(reader.get())
    assert page.on == {"job-alert", "weekly-digest"}
    assert page.chosen == {
        "zone": BERLIN,
        **{"day:weekly-digest": "1", "hour:weekly-digest": "8"},
        **{"day:daily-digest": "keep", "hour:daily-digest": "keep"},
        **{"day:shipment-digest": "keep", "hour:shipment-digest": "keep"},
    }
    assert page.buttons == ["unsubscribe", "save", "stop"]
    for words in ("Weekly digest", "It comes every Monday at 08:00 (Berlin time).", "It would come at", "(UTC)"):
        assert words in page.words


def test_it_needs_no_script_loads_nothing_and_leaves_no_trace(reader: Reader) -> None:
    answer = reader.get()
    assert not {"script", "link", "img", "iframe"} & set(Page(answer).tags)
    assert not re.search(r"\son\w+=|style=|https?://", answer.text)
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "form-action 'self'" in policy
    assert (answer.headers["Referrer-Policy"], answer.headers["Cache-Control"]) == ("no-referrer", "no-store")
    assert answer.headers["X-Robots-Tag"] == "noindex, nofollow"
    assert answer.content_type == "text/html; charset=utf-8"
    assert "Set-Cookie" not in answer.headers


def test_it_tells_whoever_has_the_link_no_name_and_no_address(reader: Reader) -> None:
    assert not [word for word in ("Zebulon", "u1@", "u1") if word in Page(reader.get()).words]


@pytest.mark.parametrize("act", ["unsubscribe", "subscribe", "stop"])
def test_every_answer_keeps_the_address_to_itself(reader: Reader, act: str) -> None:
    for answer in (reader.post({"act": act}), reader.post({"act": "x"}), reader.get(path="/?token=x")):
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.headers["Cache-Control"] == "no-store"
        assert "Location" not in answer.headers


def test_a_mailings_title_is_text(reader: Reader, ground: Ground) -> None:
    gone = Reader(reader.app, reader.db, reader.call, mailing="<script>alert(1)</script>")
    for answer in (gone.get(), gone.post({"act": "unsubscribe"}), gone.post({"act": "save", "zone": "<script>"})):
        assert "<script" not in answer.text


# What its buttons change


def test_unsubscribing_and_subscribing_again_say_what_they_did(reader: Reader) -> None:
    answer = reader.post({"act": "unsubscribe"})
    assert (answer.status_code, "Weekly digest is off." in answer.text) == (200, True)
    assert Page(answer).on == {"job-alert"}
    assert Page(answer).buttons[0] == "subscribe"
    assert reader.preference() | {"since": None} == MONDAYS | {"active": False, "since": None}
    answer = reader.post({"act": "subscribe"})
    assert "Weekly digest is on." in answer.text
    assert Page(answer).on == {"job-alert", "weekly-digest"}
    assert reader.preference()["active"] is True


def test_everything_is_stopped_by_one_button(reader: Reader) -> None:
    answer = reader.post({"act": "stop"})
    assert (Page(answer).on, Page(answer).buttons) == (set(), ["subscribe", "save"])
    assert not [name for name, preference in reader.document()["mailings"].items() if preference.get("active")]


def test_saving_what_is_shown_changes_nothing_and_writes_nothing(
    reader: Reader, controlled: Firestore, project: str
) -> None:
    page = Page(reader.get())
    controlled.reset_usage(project)
    answer = reader.post({"act": "save", "on": sorted(page.on), **page.chosen})
    assert (answer.status_code, "Everything stays as it was." in answer.text) == (200, True)
    assert (controlled.usage(project).reads, controlled.usage(project).writes) == (1, 0)


def test_a_day_an_hour_and_a_zone_become_the_schedule_that_planning_reads(reader: Reader) -> None:
    chosen = {"zone": "Asia/Tokyo", "day:weekly-digest": "1-5", "hour:weekly-digest": "18"}
    answer = reader.post(SAVED | chosen)
    assert "Weekly digest comes Monday to Friday at 18:00 (Tokyo time)." in answer.text
    assert reader.preference()["schedule"] == "0 18 * * 1-5 Asia/Tokyo"
    assert reader.document()["timezone"] == "Asia/Tokyo"
    assert reader.preference("daily-digest") == {"schedule": "30 9 1 * *"}  # it was kept
    assert isinstance(reader.preference()["since"], datetime)
    page = Page(answer)
    assert (page.chosen["day:weekly-digest"], page.chosen["zone"]) == ("1-5", "Asia/Tokyo")


@pytest.mark.parametrize(
    ("chosen", "field", "said"),
    [
        ({"zone": "Mars/Base"}, "zone", "Choose a time zone from the list"),
        ({"zone": ""}, "zone", "Choose a time zone from the list"),
        ({"zone": "../UTC"}, "zone", "Choose a time zone from the list"),
        ({"day:weekly-digest": "8"}, "day-weekly-digest", "Choose a day from the list"),
        ({"day:weekly-digest": "1,2"}, "day-weekly-digest", "Choose a day from the list"),
        ({"hour:weekly-digest": "24"}, "hour-weekly-digest", "Choose a time from the list"),
        ({"hour:weekly-digest": "8 * * *"}, "hour-weekly-digest", "Choose a time from the list"),
        ({"day:daily-digest": "1"}, "hour-daily-digest", "Choose a time, too"),
        ({"hour:daily-digest": "9"}, "day-daily-digest", "Choose a day, too"),
        ({"on": ["job-alert", "no-such"]}, "choices", "Choose from the mails of this page"),
    ],
)
def test_what_makes_no_sense_is_told_by_field_and_nothing_is_saved(
    reader: Reader, chosen: dict[str, Any], field: str, said: str
) -> None:
    before = reader.document()
    answer = reader.post(SAVED | {"on": ["daily-digest"]} | chosen)
    assert answer.status_code == 400
    assert f'<a href="#{field}">{said}</a>' in answer.text
    assert f'id="{field}"' in answer.text
    assert reader.document() == before
    assert "daily-digest" in Page(answer).on or "on" in chosen  # what was chosen is still chosen


@pytest.mark.parametrize("content_type", ["multipart/form-data", "application/x-www-form-urlencoded"])
def test_the_pages_form_may_come_in_either_type(reader: Reader, content_type: str) -> None:
    answer = reader.post(SAVED | {"zone": "Asia/Tokyo"}, content_type=content_type)
    assert (answer.status_code, reader.document()["timezone"]) == (200, "Asia/Tokyo")


# Who gets no mail at all


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("bounce", "your mailbox sent our last mail back on 16 August 2026"),
        ("invalid", "no mail can reach the address that we have of you"),
        ("spam_report", "you reported a mail of ours as spam on 16 August 2026"),
        ("fraud", "we have stopped it"),
    ],
)
def test_who_gets_no_mail_for_another_reason_is_told_why_and_cannot_lift_it(
    reader: Reader, ground: Ground, reason: str, words: str
) -> None:
    before = paused(ground, reason)
    assert words in reader.get().text
    reader.post({"act": "unsubscribe"})
    answer = reader.post({"act": "subscribe"})
    assert words in answer.text
    assert reader.document()["suppressed"] == before["suppressed"]
    assert "suppression_lifted" not in reader.document()


@pytest.mark.parametrize("suppressed", [True, "bounce", {"reason": 5}, {"reason": "bounce", "at": "yesterday"}])
def test_a_suppression_that_somebody_wrote_by_hand_is_told_too(
    reader: Reader, ground: Ground, suppressed: object
) -> None:
    ground.user("u1", a_user(mailings=MAILINGS, suppressed=suppressed))
    assert "No mail comes to you at the moment" in reader.get().text


def test_a_bounce_of_another_address_is_none(reader: Reader, ground: Ground) -> None:
    paused(ground, "bounce", address="old@example.com")
    assert "No mail comes to you" not in reader.get().text


def test_who_unsubscribed_from_all_at_their_provider_can_take_it_back_for_what_they_want(
    reader: Reader, ground: Ground
) -> None:
    paused(ground, "unsubscribe")
    page = Page(reader.get())
    assert (page.on, "you unsubscribed from all of it on 16 August 2026" in page.words) == (set(), True)
    answer = reader.post({"act": "subscribe"})
    assert Page(answer).on == {"weekly-digest"}  # and the alerts do not come back with it
    document = reader.document()
    assert "suppressed" not in document
    assert document["suppression_lifted"]["by"] == "user"
    assert datetime.now(UTC) > document["suppression_lifted"]["at"] > NOW
    assert (reader.preference()["active"], reader.preference("job-alert")["active"]) == (True, False)


def test_who_leaves_everything_off_stays_unsubscribed_from_all(reader: Reader, ground: Ground) -> None:
    user = paused(ground, "unsubscribe")
    reader.post(SAVED | {"on": []})
    assert reader.document()["suppressed"] == user["suppressed"]
