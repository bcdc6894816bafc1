"""Turn a delivery's frozen items into a mail: subject, HTML and text. Pure, but for templates compiled once an instance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ledgermail.delivery import Delivery
from ledgermail.errors import ContentError, InvalidDocument
from ledgermail.mailing import Mailing
from ledgermail.page import content_hash

if TYPE_CHECKING:
    from jinja2 import Template

SUBJECT_CHARS = 250  # more is cut: no client shows it, and a header line has an end
LINK_SCHEMES = frozenset({"http", "https"})
JOINERS = "\u200c\u200d"  # not printable by themselves, but part of Persian words and of emoji


@dataclass(frozen=True)
class Rendered:
    """A mail's content."""

    subject: str
    html: str
    text: str


def render(mailing: Mailing, delivery: Delivery, user: Mapping[str, Any]) -> Rendered:
    """The mail of a delivery, from its frozen items alone.

    Raises ContentError when the items are not those that were frozen, or a template cannot take them; it names which.
    """
    items = delivery.content.items if delivery.content else None
    if not items or delivery.content is None:
        raise ContentError("content.items: are missing")
    _must_be_frozen(items, delivery.content.hash)
    facts = {"item": items[0], "items": items, "user": {"name": one_line(user.get("name") or "")}}
    subject = one_line(_fill(mailing, "subject.txt", facts))
    if not subject:
        raise ContentError(f"{mailing.name}/subject.txt: comes out empty")
    return Rendered(
        _shorten(subject), _fill(mailing, "body.mjml", facts), _fill(mailing, "body.txt", facts).strip() + "\n"
    )


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


def _must_be_frozen(items: Sequence[Mapping[str, Any]], frozen: str) -> None:
    try:
        unchanged = content_hash(items) == frozen
    except InvalidDocument as error:
        raise ContentError(f"content.items: {error}") from error
    if not unchanged:
        raise ContentError("content.hash: the items are not those that were frozen")


def _shorten(subject: str) -> str:
    return subject if len(subject) <= SUBJECT_CHARS else subject[: SUBJECT_CHARS - 1].rstrip() + "…"


def _fill(mailing: Mailing, name: str, facts: Mapping[str, Any]) -> str:
    from jinja2 import TemplateError

    try:
        return compiled(mailing.templates[name], name.endswith(".mjml")).render(facts)
    except (TemplateError, TypeError, ValueError, ArithmeticError, AttributeError, LookupError) as error:
        raise ContentError(f"{mailing.name}/{name}: {error}") from error


@lru_cache(maxsize=256)
def compiled(source: str, is_mjml: bool) -> "Template":
    """A template ready to fill, compiled once an instance. MJML becomes HTML first, in which everything is escaped.

    A name that is missing is empty, as items are the adopter's. Raises TemplateError, and ValueError for bad MJML.
    """
    from jinja2 import Environment

    environment = Environment(autoescape=is_mjml, trim_blocks=not is_mjml)  # noqa: S701 # text and subjects stay raw
    environment.filters["link"] = link
    return environment.from_string(_to_html(source) if is_mjml else source)


def _to_html(source: str) -> str:
    import mjml

    html: str = mjml.mjml2html(source)
    return html
