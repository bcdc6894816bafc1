"""What a form brings back: a token that only we can make, for one operator, one act and one state of one thing.

A form of another site has none. And no other site can submit one of ours: the browser says where a request comes from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from io import BytesIO
from urllib.parse import urlsplit

from flask import Request
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.formparser import FormDataParser

from ledgermail.errors import InvalidToken
from ledgermail.signed import Signer
from ledgermail.web import Refused, raw_body

URLENCODED = "application/x-www-form-urlencoded"
FORM_BYTES = 20_000  # a Firebase ID token is the longest that is posted here
LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
CLOCKS_SECONDS = 60  # by how much the clocks of two instances may differ
FOREIGN = Refused(403, "this form was submitted from another site, so nothing was done")

Form = Mapping[str, str]


def form_of(request: Request) -> Form:
    """The fields of a submitted form, the first of each name; an empty one of any other request."""
    raw = raw_body(request, FORM_BYTES)
    try:
        _, form, _ = FormDataParser(max_form_memory_size=FORM_BYTES).parse(BytesIO(raw), URLENCODED, len(raw), {})
    except RequestEntityTooLarge as error:
        raise Refused(413, "the form is too large") from error
    return form.to_dict()


def check_origin(request: Request, *, loopback: bool) -> None:
    """Raise Refused unless the browser says that a page of ours submitted this.

    Sec-Fetch-Site says so in every browser of today; Origin in all that there were for years. Whoever says neither is no
    browser. Where our pages may be on the operator's own machine (`loopback`: the local cloud, or a proxy of gcloud's), another
    site can give this machine a name of its own and then is the same origin: there Origin must bear our name, or this
    machine's, besides. Elsewhere https rules that out, and our own name may be another than operators know us by.
    """
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    if site not in {None, "same-origin"} or (site is None and origin is None):
        raise FOREIGN
    netloc = None if origin is None else _netloc(origin)
    ours = netloc in {None, request.host} or (loopback and name_of(netloc or "") in LOOPBACK)
    if not ours and (loopback or site is None):
        raise FOREIGN


def _netloc(origin: str) -> str:
    try:
        return urlsplit(origin).netloc
    except ValueError:  # half of an IPv6 address
        return ""


def name_of(netloc: str) -> str:
    """A host without its port."""
    name, colon, port = netloc.rpartition(":")
    return name if colon and port.isdigit() else netloc


@dataclass(frozen=True)
class Asked:
    """What a form asks for: who, which act, of what, as it stood when it was shown."""

    who: str
    act: str
    target: str = ""
    state: str = ""


class Tokens:
    """Makes and checks forms' tokens. Raises ConfigurationError without a key."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._signer = Signer("CONSOLE_KEY", keys, "console")

    def make(self, asked: Asked, now: datetime) -> str:
        """The token of a form that is shown now."""
        return self._signer.sign([asked.who, asked.act, asked.target, asked.state, int(now.timestamp())])

    def check(self, token: str, asked: Asked, now: datetime, valid: timedelta) -> None:
        """Raise InvalidToken unless we made this for exactly that, no longer ago than it is valid."""
        content = self._signer.read(token)
        made = [asked.who, asked.act, asked.target, asked.state]
        if not isinstance(content, list) or content[:-1] != made:
            raise InvalidToken("token: was made for something else")
        if not -CLOCKS_SECONDS <= now.timestamp() - content[-1] <= valid.total_seconds():
            raise InvalidToken("token: is too old")
