"""A mail of sample data, as a delivery of it would be: nothing is read or sent. Pure."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ledgermail.delivering.content import Rendered, render
from ledgermail.errors import InvalidDocument
from ledgermail.ledger.delivery import Content, Delivery, Status
from ledgermail.mailing import Mailing
from ledgermail.planning.page import content_hash

KNOWN = ("items", "total", "user", "period", "report")
NO_LINK = "https://example.com/preferences?token=only-a-preview"  # a real one needs a key and a user
SOME_DAY = datetime(2026, 8, 16, 8, tzinfo=UTC)  # where the data name no period


def preview(mailing: Mailing, data: object) -> Rendered:
    """The mail of these data: a map with `items`, and perhaps `total` (how many there were), `user` (name, timezone),
    `period` (start and end, ISO 8601 with a zone) and `report` (topic, version, columns).

    Raises InvalidDocument, which names the field, for data of another shape, and ContentError as `render` does.
    """
    fields = _map(data, "the data")
    for name in fields:
        _require(name in KNOWN, f"{name}: is not known; there are {', '.join(KNOWN)}")
    items, total = _items(fields.get("items")), fields.get("total")
    _require(total is None or (type(total) is int and total >= len(items)), "total: must be a number, of all the items")
    report = _map(fields.get("report", {}), "report")
    columns = _texts(report.get("columns", []), "report.columns")
    content = Content(hash=content_hash(items), items=items, total=total)
    delivery = _delivery(mailing, _map(fields.get("period", {}), "period"), report)
    user = _map(fields.get("user", {}), "user")
    return render(mailing, delivery, content, user, columns, unsubscribe_url=NO_LINK)


def _delivery(mailing: Mailing, period: Mapping[str, Any], report: Mapping[str, Any]) -> Delivery:
    start, end = (_time(period[name], f"period.{name}") if name in period else None for name in ("start", "end"))
    due = end or SOME_DAY
    run = f"{mailing.name}:{due.date()}"
    return Delivery(
        id=f"preview_{run}",
        mailing=mailing.name,
        guarantee=mailing.guarantee,
        run_key=run,
        user_id="preview",
        subject=run,
        status=Status.PENDING,
        due_at=due,
        created_at=due,
        wake_at=due,
        shard=0,
        period_start=start,
        period_end=end,
        topic=_text(report.get("topic", ""), "report.topic"),
        version=_text(report.get("version", ""), "report.version"),
    )


def _items(value: object) -> tuple[Mapping[str, Any], ...]:
    if not isinstance(value, list) or not value:
        raise InvalidDocument("items: must be a list, and not empty")
    return tuple(_map(item, f"items[{number}]") for number, item in enumerate(value))


def _map(value: object, name: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InvalidDocument(f"{name}: must be a map")
    return value


def _text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise InvalidDocument(f"{name}: must be text")
    return value


def _texts(value: object, name: str) -> Sequence[str]:
    if not isinstance(value, list):
        raise InvalidDocument(f"{name}: must be a list")
    return [_text(part, f"{name}[{number}]") for number, part in enumerate(value)]


def _time(value: object, name: str) -> datetime:
    try:
        at = datetime.fromisoformat(_text(value, name))
    except ValueError as error:
        raise InvalidDocument(f"{name}: {error}") from error
    _require(at.tzinfo is not None, f"{name}: has no time zone")
    return at


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise InvalidDocument(problem)
