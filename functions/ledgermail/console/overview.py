"""The first page: whether mail goes out, what is not well, the last days, the mailings, the newest runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, timedelta

from flask import Response

from ledgermail.console import pages
from ledgermail.console.chart import chart, last_days
from ledgermail.console.days import count_days
from ledgermail.console.visit import Visit
from ledgermail.mailing import Mailing
from ledgermail.preferences.schedule_words import in_words
from ledgermail.status.health import Kind
from ledgermail.status.status import StatusReport


@dataclass(frozen=True)
class Row:
    """A mailing in the table: when it comes, and how old its oldest unfinished delivery is, and that delivery's run."""

    mailing: Mailing
    schedule: str
    oldest: timedelta | None
    run_key: str | None
    late: bool


def show(visit: Visit) -> Response:
    """Reads what a whole status reads, and counts the last days."""
    app = visit.app
    report = app.statuses.report()
    visit.bill.several(report.reads)
    dates = last_days(app.clock.now().astimezone(UTC).date())
    days = chart(count_days(app.client, app.mailings, dates, visit.bill))
    problems = [problem for problem in report.problems if problem.kind is not Kind.BREAKER]
    rows = [_row(mailing, report) for mailing in app.mailings.values()]
    return pages.page(visit, "overview.html", report=report, problems=problems, chart=days, rows=_sorted(rows))


def _row(mailing: Mailing, report: StatusReport) -> Row:
    oldest = report.seen.oldest.get(mailing.name)
    age = oldest.age(report.seen.now) if oldest else None
    return Row(
        mailing=mailing,
        schedule=in_words(mailing.schedule) if mailing.schedule else "at once",
        oldest=age,
        run_key=oldest.run_key if oldest else None,
        late=age is not None and age > mailing.promise,
    )


def _sorted(rows: Sequence[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: row.mailing.title)
