"""Turn a delivery's frozen items into a mail: subject, HTML and text. Pure, but for templates compiled once an instance."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from ledgermail.declared import refuse
from ledgermail.delivering.attachment import Attachment, attachment, value_of, words
from ledgermail.errors import ContentChanged, ContentError, InvalidDocument
from ledgermail.ledger.delivery import Content, Delivery
from ledgermail.mailing import TEMPLATES, Mailing, Source
from ledgermail.planning.page import content_hash
from ledgermail.support.wording import zone_of

if TYPE_CHECKING:
    from jinja2 import Template

SUBJECT_CHARS = 250  # more is cut: no client shows it, and a header line has an end
HTML_BYTES = 90_000  # Gmail hides what is after 102 KB; the rest is for what SendGrid adds: a pixel, and longer links
LINK_SCHEMES = frozenset({"http", "https"})
CHOICES = "choices"  # the part of the preferences page that has more than this mailing's
JOINERS = "\u200c\u200d"  # not printable by themselves, but part of Persian words and of emoji


@dataclass(frozen=True)
class Rendered:
    """A mail's content."""

    subject: str
    html: str
    text: str
    attachment: Attachment | None = None


def render(
    mailing: Mailing,
    delivery: Delivery,
    content: Content,
    user: Mapping[str, Any],
    columns: Sequence[str] = (),
    *,
    unsubscribe_url: str,
) -> Rendered:
    """The mail of a delivery, from its frozen items alone; `columns` is the order of a report that names one.

    It shows as many items as the mailing's cap and Gmail's clipping let through, and says how many more there are; the
    attachment has them all. Raises ContentError when the items are not those that were frozen, or a template or a column
    cannot take them; it names which.
    """
    items = content.items
    if not items:
        raise ContentError("content.items: are missing")
    _must_be_frozen(items, content.hash)
    links = {"unsubscribe_url": unsubscribe_url, "preferences_url": f"{unsubscribe_url}#{CHOICES}"}
    facts = _facts(mailing, delivery, user, columns or mailing.attachment or sorted(items[0])) | links
    html, shown = _clipped(mailing, facts, items, max(content.total or 0, len(items)))
    subject = one_line(_fill(mailing, "subject.txt", shown))
    if not subject:
        raise ContentError(f"{mailing.name}/subject.txt: comes out empty")
    text = _fill(mailing, "body.txt", shown).strip() + "\n"
    return Rendered(_shorten(subject), html, text, attachment(mailing, delivery, items))


def must_compile(mailings: Iterable[Mailing]) -> None:
    """Compile every template, for `deploy` and `doctor`. Raises ConfigurationError naming all that are none.

    Found out only by a delivery, such a template would end every mail of its mailing as rejected. `deliver` does not look at
    its start: the templates of all mailings, of which its first mail needs one, are a tenth of a cold start.
    """
    from jinja2 import TemplateError

    problems = []
    for mailing in mailings:
        for name in TEMPLATES:
            try:
                compiled(mailing.templates[name], name.endswith(".mjml"))
            except (TemplateError, ValueError) as error:
                problems.append(f"{mailing.name}/{name}: {error}")
    refuse(problems)


def one_line(text: str) -> str:
    """Text for a header: every run of white space and control characters becomes one space, so no line can be added."""
    return " ".join("".join(char if char.isprintable() or char in JOINERS else " " for char in str(text)).split())


def link(url: object) -> str:
    """The URL if it is http(s) with a host, else nothing: third-party text must not become a script or a lure.

    A space within it is written as %20: a mail's text would end the link there.
    """
    if not isinstance(url, str):
        return ""
    stripped = url.strip()
    try:
        parts = urlsplit(stripped)
        sound = parts.scheme in LINK_SCHEMES and bool(parts.hostname) and parts.port != 0 and stripped.isprintable()
    except ValueError:
        return ""
    return stripped.replace(" ", "%20") if sound and " " not in parts.netloc else ""


def short(value: object) -> str:
    """A value in words, on one line that is cut where it is too long to be read: for what a mail lists."""
    return _shorten(one_line(words(value)))


def field(item: Mapping[str, Any], column: str) -> str:
    """What an item has under a column (``a.b`` is b within a), in words; nothing when it has none."""
    try:
        return short(value_of(item, column))
    except LookupError:
        return ""


def _facts(mailing: Mailing, delivery: Delivery, user: Mapping[str, Any], columns: Sequence[str]) -> dict[str, object]:
    """What every template may speak of, besides the items. A map's keys come from Firestore in any order: sort them."""
    zone = zone_of(user.get("timezone"))
    period = {"start": _day(delivery.period_start, zone), "end": _day(delivery.period_end, zone)}
    report = {"topic": delivery.topic, "version": delivery.version, "columns": columns}
    return {
        "mailing": {"name": mailing.name},
        "user": {"name": one_line(user.get("name") or "")},
        "period": period if delivery.period_end else None,
        "report": report if mailing.source is Source.REPORT else None,
    }


def _day(at: datetime | None, zone: ZoneInfo) -> date | None:
    return at and at.astimezone(zone).date()


def _clipped(
    mailing: Mailing, facts: Mapping[str, object], items: Sequence[Mapping[str, Any]], total: int
) -> tuple[str, Mapping[str, object]]:
    """The HTML with the most items whose size fits, and the facts that it was filled with."""

    def showing(count: int) -> Mapping[str, object]:
        return {**facts, "item": items[0], "items": items[:count], "total": total, "more": total - count}

    def size(count: int) -> int:
        return len(_fill(mailing, "body.mjml", showing(count)).encode())

    most = min(mailing.item_cap, len(items))
    shown = showing(most)
    html = _fill(mailing, "body.mjml", shown)
    if len(html.encode()) > HTML_BYTES:
        most = bisect_right(range(1, most), HTML_BYTES, key=size)
        if most == 0:
            raise ContentError(f"{mailing.name}/body.mjml: comes out larger than {HTML_BYTES} bytes with one item")
        shown = showing(most)
        html = _fill(mailing, "body.mjml", shown)
    return html, shown


def _must_be_frozen(items: Sequence[Mapping[str, Any]], frozen: str) -> None:
    try:
        unchanged = content_hash(items) == frozen
    except InvalidDocument as error:
        raise ContentError(f"content.items: {error}") from error
    if not unchanged:
        raise ContentChanged("content.hash: the items are not those that were frozen")


def _shorten(subject: str) -> str:
    return subject if len(subject) <= SUBJECT_CHARS else subject[: SUBJECT_CHARS - 1].rstrip() + "…"


def _fill(mailing: Mailing, name: str, facts: Mapping[str, Any]) -> str:
    from jinja2 import TemplateError

    try:
        filled = compiled(mailing.templates[name], name.endswith(".mjml")).render(facts)
        filled.encode()  # a lone surrogate would only be noticed when the request is written, after the claim
    except (TemplateError, TypeError, ValueError, ArithmeticError, AttributeError, LookupError) as error:
        raise ContentError(f"{mailing.name}/{name}: {error}") from error
    return filled


@lru_cache(maxsize=256)
def compiled(source: str, is_mjml: bool) -> "Template":
    """A template ready to fill, compiled once an instance. MJML becomes HTML first, in which everything is escaped.

    A name that is missing is empty, as items are the adopter's. Raises TemplateError, and ValueError for bad MJML.
    """
    from jinja2 import Environment

    environment = Environment(autoescape=is_mjml, trim_blocks=not is_mjml)  # noqa: S701 # text and subjects stay raw
    environment.filters |= {"link": link, "short": short, "field": field}
    return environment.from_string(_to_html(source) if is_mjml else source)


def _to_html(source: str) -> str:
    import mjml

    html: str = mjml.mjml2html(source)
    return html
