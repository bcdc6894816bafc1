"""Turn a delivery's frozen items into a mail: subject, HTML and text. Pure, but for templates compiled once an instance."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ledgermail.delivery import Delivery
from ledgermail.errors import ContentError
from ledgermail.mailing import Mailing
from ledgermail.page import content_hash

if TYPE_CHECKING:
    from jinja2 import Template

SUBJECT_CHARS = 250  # more is cut: no client shows it, and a header line has an end
LINK_SCHEMES = frozenset({"http", "https"})


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
    if content_hash(items) != delivery.content.hash:
        raise ContentError("content.hash: the items are not those that were frozen")
    facts = {"item": items[0], "items": items, "user": {"name": one_line(user.get("name") or "")}}
    subject = one_line(_fill(mailing, "subject.txt", facts))
    if not subject:
        raise ContentError(f"{mailing.name}/subject.txt: comes out empty")
    return Rendered(
        _shorten(subject), _fill(mailing, "body.mjml", facts), _fill(mailing, "body.txt", facts).strip() + "\n"
    )


def one_line(text: str) -> str:
    """Text for a header: every run of white space and control characters becomes one space, so no line can be added."""
    return " ".join("".join(char if char.isprintable() else " " for char in str(text)).split())


def link(url: object) -> str:
    """The URL if it is http(s) with a host, else nothing: third-party text must not become a script or a lure."""
    if not isinstance(url, str):
        return ""
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return ""
    return url.strip() if parts.scheme.lower() in LINK_SCHEMES and parts.netloc and one_line(url) == url.strip() else ""


def _shorten(subject: str) -> str:
    return subject if len(subject) <= SUBJECT_CHARS else subject[: SUBJECT_CHARS - 1].rstrip() + "…"


def _fill(mailing: Mailing, name: str, facts: Mapping[str, Any]) -> str:
    from jinja2 import TemplateError

    try:
        return compiled(mailing.templates[name], name.endswith(".mjml")).render(facts)
    except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
        raise ContentError(f"{mailing.name}/{name}: {error}") from error


@lru_cache(maxsize=256)
def compiled(source: str, is_mjml: bool) -> "Template":
    """A template ready to fill, compiled once an instance. MJML becomes HTML first, in which everything is escaped.

    A name that is missing at the top is an error; one that is missing within an item is empty, as items are the adopter's.
    Raises ContentError when MJML cannot be read.
    """
    from jinja2 import Environment

    environment = Environment(autoescape=is_mjml, trim_blocks=not is_mjml)  # noqa: S701 # text and subjects stay raw
    environment.filters["link"] = link
    return environment.from_string(_to_html(source) if is_mjml else source)


def _to_html(source: str) -> str:
    import mjml

    try:
        html: str = mjml.mjml2html(source)
    except ValueError as error:
        raise ContentError(f"MJML: {error}") from error
    return html
