"""Digests and reports: a list that says what there is, whatever is in it, and the same at every attempt."""

import os
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from ledgermail.delivering.content import HTML_BYTES, render
from ledgermail.errors import ContentError
from ledgermail.ledger.delivery import Content
from ledgermail.mailing import Mailing
from tests import samples
from tests.unit.digests import (
    DAILY,
    SHIPMENTS,
    WEEKLY,
    Page,
    a_digest,
    fingerprint,
    frozen,
    items_of,
    jobs,
    mail,
    rows,
    shown,
    with_template,
)

DIGESTS = pytest.mark.parametrize("mailing", [DAILY, WEEKLY], ids=lambda mailing: mailing.name)
LISTS = pytest.mark.parametrize("mailing", [DAILY, WEEKLY, SHIPMENTS], ids=lambda mailing: mailing.name)


# What a mail says


@DIGESTS
def test_a_digest_lists_title_company_place_and_link_in_html_and_text(mailing: Mailing) -> None:
    said = mail(mailing, jobs(3, company="Café Ünö", locations=["Köln", "Remote"]))
    page = Page(said.html)
    assert page.links == [f"https://jobs.example.com/{n}" for n in (1, 2, 3)]
    assert page.tags.count("li") == 3
    for text in (page.text, said.text):
        assert "Hello Ada" in text
        assert text.count("Café Ünö · Köln, Remote") >= 2
        assert "Job 3." in text
    assert "more" not in page.text + said.text


@DIGESTS
@pytest.mark.parametrize("count", [1, 2])
def test_one_job_is_not_called_jobs(mailing: Mailing, count: int) -> None:
    said = mail(mailing, jobs(count))
    noun = "1 new job" if count == 1 else "2 new jobs"
    assert noun in Page(said.html).text
    assert f"{noun}s" not in Page(said.html).text
    assert noun in said.text


@LISTS
def test_beyond_the_cap_a_mail_says_how_many_more_there_are(mailing: Mailing) -> None:
    said = mail(mailing, items_of(mailing, 20), total=32)
    assert "and 12 more" in Page(said.html).text
    assert "and 12 more" in said.text
    assert "32" in said.subject


@LISTS
def test_more_frozen_items_than_the_cap_are_counted_and_not_shown(mailing: Mailing) -> None:
    said = mail(mailing, items_of(mailing, 23))
    capped = mail(mailing, items_of(mailing, 20), total=23)
    assert (said.html, said.text) == (capped.html, capped.text)
    assert "and 3 more" in said.text


def test_a_total_that_was_not_counted_is_that_of_the_items() -> None:
    assert mail(DAILY, jobs(3), total=None) == mail(DAILY, jobs(3), total=3)
    assert mail(DAILY, jobs(3), total=1) == mail(DAILY, jobs(3), total=3)


@pytest.mark.parametrize(
    ("zone", "days"),
    [
        ("UTC", "14 August to 21 August 2026"),
        ("Australia/Brisbane", "15 August to 22 August 2026"),  # a Friday evening in UTC is a Saturday there
        *((zone, "14 August to 21 August 2026") for zone in (None, 5, "", "Mars/Olympus", "Europe", "../etc", "\0")),
    ],
)
def test_a_period_has_the_dates_of_the_users_zone_or_of_utc(zone: object, days: str) -> None:
    start, end = (datetime(2026, 8, day, 19, tzinfo=UTC) for day in (14, 21))
    weekly = a_digest(mailing="weekly-digest", period_start=start, period_end=end)
    said = render(WEEKLY, weekly, frozen(jobs(1)), samples.a_user(timezone=zone), unsubscribe_url=samples.LINK)
    assert days in said.text
    assert days in Page(said.html).text


def test_a_template_can_speak_of_all_that_is_known() -> None:
    source = (
        "{{ mailing.name }} {{ user.name }} {{ item.shipment }} {{ items | length }} {{ total }} {{ more }} "
        "{{ period.start }} {{ period.end }} {{ report.topic }} {{ report.version }}"
    )
    said = mail(with_template(SHIPMENTS, "body.txt", source), rows(20), total=21)
    assert said.text == "shipment-digest Ada SH-1 20 21 1 2026-08-15 2026-08-16 shipments 2026-08-16\n"


def test_an_alert_has_no_period_and_no_report() -> None:
    source = "{{ period is none }} {{ report is none }} {{ total }} {{ more }}"
    alert = with_template(samples.a_mailing(), "body.txt", source)
    delivery = samples.a_delivery()
    assert delivery.content is not None
    assert (
        render(alert, delivery, delivery.content, samples.a_user(), unsubscribe_url=samples.LINK).text
        == "True True 1 0\n"
    )


# The columns of a report


COLUMNS = "{{ report.columns | join(' ') }}"


@pytest.mark.parametrize(
    ("given", "declared", "used"),
    [
        (("b", "a.x"), ("a.y",), "b a.x"),
        ((), ("a.y", "b"), "a.y b"),
        ((), (), "a b"),
    ],
    ids=["the report's", "else the attachment's", "else the first row's in an order that is always the same"],
)
def test_a_report_has_columns(given: tuple[str, ...], declared: tuple[str, ...], used: str) -> None:
    mailing = replace(with_template(SHIPMENTS, "body.txt", COLUMNS), attachment=declared)
    content = frozen([{"b": 1, "a": {"x": 2, "y": 3}}])
    assert (
        render(mailing, a_digest(), content, samples.a_user(), given, unsubscribe_url=samples.LINK).text == f"{used}\n"
    )


def test_a_report_shows_values_of_any_kind_in_words() -> None:
    values = [True, 7, 1.5, None, ["a", "b"], {"k": "ü"}, datetime(2026, 8, 16, 9, tzinfo=UTC)]
    mailing = with_template(SHIPMENTS, "body.txt", "{% for item in items %}{{ item | field('v.w') }};{% endfor %}")
    said = mail(replace(mailing, attachment=()), [{"v": {"w": value}} for value in values] + [{"v": 1}, {}])
    assert said.text == 'yes;7;1.5;;a, b;{"k": "ü"};2026-08-16T09:00:00+00:00;;;\n'


# Clipping


@LISTS
def test_html_that_gmail_would_clip_shows_as_many_items_as_fit_and_counts_the_rest(mailing: Mailing) -> None:
    roomy = replace(mailing, item_cap=200)
    items = items_of(mailing, 200, **{"destination" if mailing is SHIPMENTS else "company": "&" * 240})
    said = mail(roomy, items, total=300)
    count = shown(said)
    assert 0 < count < 200
    size, smaller = (len(mail(replace(mailing, item_cap=n), items).html) for n in (count, count - 1))
    assert HTML_BYTES - (size - smaller) < len(said.html.encode()) <= HTML_BYTES
    assert f"and {300 - count} more" in Page(said.html).text
    assert f"and {300 - count} more" in said.text
    last, first_left_out = (f"SH-{n}" if mailing is SHIPMENTS else f"Job {n}." for n in (count, count + 1))
    assert last in said.text
    assert first_left_out not in said.text


def test_a_mail_that_is_clipped_with_one_item_is_refused_and_its_template_named() -> None:
    wide = with_template(DAILY, "body.mjml", f"<mjml><mj-body><mj-raw>{'ü' * HTML_BYTES}</mj-raw></mj-body></mjml>")
    for count in (1, 2, 20):
        with pytest.raises(ContentError, match=r"^daily-digest/body.mjml: .*larger than 90000 bytes"):
            mail(wide, jobs(count))


@LISTS
def test_a_value_as_long_as_a_book_is_cut(mailing: Mailing) -> None:
    field = "status" if mailing is SHIPMENTS else "title"
    said = mail(mailing, items_of(mailing, 20, **{field: "<'>" * 10_000}))
    assert "more" not in said.text
    assert "…" in said.text


# What was frozen


@LISTS
def test_items_that_are_not_those_that_were_frozen_are_an_error_of_its_own(mailing: Mailing) -> None:
    items = items_of(mailing, 3)
    content = Content(hash=frozen(items).hash, items=tuple(items[::-1]))
    with pytest.raises(ContentError, match=r"^content\.hash: the items are not those that were frozen$"):
        render(mailing, a_digest(), content, samples.a_user(), unsubscribe_url=samples.LINK)


@pytest.mark.parametrize("name", ["subject.txt", "body.mjml", "body.txt"])
def test_what_cannot_be_written_is_refused_before_the_claim_and_its_template_named(name: str) -> None:
    source = (
        "<mjml><mj-body><mj-raw>{{ item.title }}</mj-raw></mj-body></mjml>"
        if name == "body.mjml"
        else "{{ item.title }}"
    )
    with pytest.raises(ContentError, match=f"^daily-digest/{name}: .*surrogates"):
        mail(with_template(DAILY, name, source), jobs(2, title="\ud800"))


def test_a_mail_is_the_same_bytes_in_every_process() -> None:
    odd = {"PYTHONHASHSEED": "1", "TZ": "Asia/Tokyo", "PYTHONPATH": os.pathsep.join(sys.path)}
    program = [sys.executable, "-m", "tests.unit.digests"]
    done = subprocess.run(program, env={**os.environ, **odd}, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == fingerprint()
