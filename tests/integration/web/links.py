"""Ask the preferences function, as the holder of a link, and look at what stands in the user's document afterwards."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from google.cloud import firestore
from werkzeug.test import TestResponse

from ledgermail.app import App
from tests.integration.web.conftest import Call

ONE_CLICK = {"List-Unsubscribe": "One-Click"}


@dataclass(frozen=True)
class Reader:
    """Somebody who got a mail of this mailing, and has its link."""

    app: App
    db: firestore.Client
    call: Call
    user_id: str = "u1"
    mailing: str = "job-alert"

    @property
    def path(self) -> str:
        """The link, without the host."""
        return "/?" + self.app.links.url(self.user_id, self.mailing).partition("?")[2]

    def get(self, method: str = "GET", path: str | None = None) -> TestResponse:
        """Follow the link, or a changed one."""
        return self.call("preferences", method, self.path if path is None else path)

    def post(self, form: Mapping[str, Any] | None = None, path: str | None = None, **request: Any) -> TestResponse:
        """Submit a form, urlencoded unless told otherwise."""
        return self.call("preferences", "POST", self.path if path is None else path, data=form, **request)

    def one_click(self) -> TestResponse:
        """What a mailbox does."""
        return self.post(ONE_CLICK, content_type="multipart/form-data")

    def document(self) -> dict[str, Any]:
        """The user's document."""
        return self.db.collection("users").document(self.user_id).get().to_dict() or {}

    def preference(self, mailing: str | None = None) -> dict[str, Any]:
        """What the document says of a mailing."""
        return dict(self.document()["mailings"][mailing or self.mailing])
