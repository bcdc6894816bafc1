"""An operator at the console: follows links, presses buttons, and looks at the ledger behind it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import unescape
from urllib.parse import quote

from google.cloud import firestore
from werkzeug.test import TestResponse

from ledgermail.app import App
from ledgermail.support.audits import Entry
from tests.integration.conftest import Ground
from tests.integration.web.conftest import Call

OURS = {"Sec-Fetch-Site": "same-origin"}  # what a browser says of a form of our own page
TOKEN = re.compile(r'name="token" value="([^"]+)"')
READS = re.compile(r"This page read (\d+) document")


def url(*parts: str) -> str:
    """A path, each part of it quoted."""
    return "/" + "/".join(quote(part, safe="") for part in parts)


@dataclass(frozen=True)
class Operator:
    """Uses the console of one app."""

    app: App
    db: firestore.Client
    ground: Ground
    call: Call

    def get(self, *parts: str, query: str = "", headers: Mapping[str, str] | None = None) -> TestResponse:
        """A page."""
        return self.call("console", "GET", url(*parts) + query, headers=headers)

    def post(self, *parts: str, headers: Mapping[str, str] = OURS, **form: str) -> TestResponse:
        """Submit a form as it is given here."""
        return self.call("console", "POST", url(*parts), data=form, headers=headers)

    def token(self, *parts: str) -> str:
        """The token of the form that asks for confirmation on a page: the last one of it."""
        return unescape(TOKEN.findall(self.get(*parts).text)[-1])

    def confirm(self, *parts: str, note: str = "") -> TestResponse:
        """Open the page that asks, and press its button."""
        return self.post(*parts, token=self.token(*parts), note=note)

    def search(self, words: str) -> TestResponse:
        """Use the search field of the record's page."""
        token = unescape(TOKEN.findall(self.get("record").text)[0])
        return self.post("search", token=token, q=words)

    def audits(self) -> list[Entry]:
        """What is on record, the newest first."""
        return self.app.operations.audits.newest()

    def status(self, delivery_id: str) -> str:
        """What a delivery's document says."""
        return str(self.ground.deliveries()[delivery_id]["status"])
