"""Digests and reports to test with: of the shipped mailings, with whatever items."""

import hashlib
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any

from typing_extensions import override

from ledgermail.delivering.content import Rendered, render
from ledgermail.ledger.delivery import Content, Delivery, Guarantee
from ledgermail.mailing import Mailing, load
from ledgermail.planning.page import content_hash
from ledgermail.settings import FOLDER
from tests.samples import LINK, a_delivery, a_user

SHIPPED = load(FOLDER)
DAILY, WEEKLY, SHIPMENTS = (SHIPPED[name] for name in ("daily-digest", "weekly-digest", "shipment-digest"))
Items = Sequence[Mapping[str, Any]]


class Page(HTMLParser):
    """The tags, links and words of a page, but for the links that every mail has."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: set[str] = set()
        self.links: list[str] = []
        self.text = ""
        self.feed(html)

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if any(name == "href" and (value or "").startswith(LINK) for name, value in attrs):
            return
        self.tags.append(tag)
        self.attributes.update(name for name, _ in attrs)
        self.links += [value or "" for name, value in attrs if name == "href"]

    @override
    def handle_data(self, data: str) -> None:
        self.text += data


def jobs(count: int, **job: Any) -> list[dict[str, Any]]:
    """So many jobs, each with a title of its own unless one is given."""
    return [
        {"job_id": f"j{n}", "title": f"Job {n}.", "url": f"https://jobs.example.com/{n}", **job}
        for n in range(1, count + 1)
    ]


def rows(count: int, **row: Any) -> list[dict[str, Any]]:
    """So many rows of a report of shipments."""
    filled = {"status": "In transit", "destination": "Köln", "carrier": "Acme", "expected_on": "2026-08-20"}
    return [{**filled, "shipment": f"SH-{n}", **row} for n in range(1, count + 1)]


def a_digest(**changes: Any) -> Delivery:
    """The delivery of a digest's period, or of a report's version."""
    facts: dict[str, Any] = {
        "mailing": "daily-digest",
        "guarantee": Guarantee.AT_LEAST_ONCE,
        "subject": "daily-digest:2026-08-16",
        "content": None,
        "period_start": datetime(2026, 8, 15, 8, tzinfo=UTC),
        "period_end": datetime(2026, 8, 16, 8, tzinfo=UTC),
        "topic": "shipments",
        "version": "2026-08-16",
    }
    return a_delivery(**(facts | changes))


def frozen(items: Items, total: int | None = None) -> Content:
    """These items, as they were frozen."""
    return Content(hash=content_hash(items), items=tuple(items), total=total)


def mail(mailing: Mailing, items: Items, *, total: int | None = None, **user: object) -> Rendered:
    """The mail of these items."""
    return render(mailing, a_digest(mailing=mailing.name), frozen(items, total), a_user(**user), unsubscribe_url=LINK)


def with_template(mailing: Mailing, name: str, source: str) -> Mailing:
    """The mailing with another template."""
    return replace(mailing, templates={**mailing.templates, name: source})


def items_of(mailing: Mailing, count: int, **fields: Any) -> list[dict[str, Any]]:
    """So many items of the kind that the mailing lists."""
    return rows(count, **fields) if mailing is SHIPMENTS else jobs(count, **fields)


def shown(said: Rendered) -> int:
    """How many items the HTML lists."""
    page = Page(said.html)
    return page.tags.count("li") or page.tags.count("th") - len(SHIPMENTS.attachment)


def fingerprint() -> str:
    """Of the mails of all lists, one of them too large to be shown whole."""
    said = [mail(mailing, items_of(mailing, 23, tags={"b": 1, "a": 2})) for mailing in (DAILY, WEEKLY, SHIPMENTS)]
    said.append(mail(replace(SHIPMENTS, item_cap=200, attachment=()), rows(80, notes="'" * 250, a=1, b=2)))
    return hashlib.sha256(repr(said).encode()).hexdigest()


if __name__ == "__main__":
    sys.stdout.write(fingerprint())
