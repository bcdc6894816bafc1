"""Each mail has a blind copy for the archive: what becomes of the copy is not what became of the mail."""

import pytest

from ledgermail.app import App
from ledgermail.app import app as app_of_process
from ledgermail.ledger.delivery import Status
from tests.integration.conftest import Ground
from tests.integration.delivering import owed
from tests.integration.web.events.conftest import Post
from tests.integration.web.events.signing import an_event
from tests.samples import NOW, a_user

ARCHIVE = "archive@example.com"
TO_ARCHIVE = "Archive@Example.com"  # as an event may write it


@pytest.fixture
def app(app: App, monkeypatch: pytest.MonkeyPatch) -> App:
    """The App of a deployment that is sent events, and keeps an archive."""
    monkeypatch.setenv("LEDGERMAIL_ARCHIVE", ARCHIVE)
    app_of_process.cache_clear()
    return app_of_process()


@pytest.fixture
def doubted(ground: Ground) -> Ground:
    """An alert of u1 of which nobody knows whether it was sent."""
    ground.user("u1", a_user())
    ground.delivery(owed(status=Status.UNKNOWN, at=NOW, attempt=1, settled_at=NOW, prune_at=NOW))
    return ground


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("spamreport", None),
        ("unsubscribe", None),
        ("dropped", "Unsubscribed Address"),
        ("dropped", "Spam Reporting Address"),
        ("bounce", None),
    ],
)
def test_nobody_is_suppressed_for_what_the_archive_does_with_its_copy(
    doubted: Ground, post: Post, kind: str, reason: str | None
) -> None:
    answer = post([an_event(kind, reason=reason, email=TO_ARCHIVE)])
    assert answer.json["suppressed"] == 0  # type: ignore[index]
    assert "suppressed" not in (doubted.db.document("users/u1").get().to_dict() or {})


def test_a_copy_proves_that_the_mail_was_taken_and_tells_nothing_of_its_fate(doubted: Ground, post: Post) -> None:
    post([an_event("delivered", email=TO_ARCHIVE), an_event("deferred", timestamp=an_event()["timestamp"] + 1)])
    (document,) = doubted.deliveries().values()
    assert document["status"] == "accepted"
    assert set(document["events"]) == {"deferred"}


def test_who_has_the_archives_address_and_complains_is_suppressed(doubted: Ground, post: Post) -> None:
    """They get no second copy, so it is their own mail."""
    doubted.user("keeper", a_user(email=ARCHIVE))
    post([an_event("spamreport", email=ARCHIVE, delivery_id="keeper_j1")])
    assert (doubted.db.document("users/keeper").get().to_dict() or {})["suppressed"]["reason"] == "spam_report"
