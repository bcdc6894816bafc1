"""An adopter's matcher, which knows nothing of ours but the documents, writes with Google's libraries of its choice."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import firebase_admin
import pytest
from firebase_admin import credentials
from firebase_admin import firestore as admin
from google.auth.credentials import AnonymousCredentials
from google.cloud import firestore
from typing_extensions import override

from ledgermail.app import App
from ledgermail.ledger import ids
from tests.integration.conftest import Ground
from tests.integration.scans import MAILING
from tests.samples import a_match, a_user


class Anonymous(credentials.Base):  # type: ignore[misc] # untyped, as its package
    """What stands in for a service account where FIRESTORE_EMULATOR_HOST is set."""

    @override
    def get_credential(self) -> AnonymousCredentials:
        return AnonymousCredentials()  # type: ignore[no-untyped-call]


@pytest.fixture
def adopter(project: str) -> Iterator[firestore.Client]:
    """The Firestore of firebase-admin, initialised as an adopter does it."""
    app = firebase_admin.initialize_app(Anonymous(), options={"projectId": project}, name=project)
    yield admin.client(app)
    firebase_admin.delete_app(app)


def test_a_match_that_firebase_admin_wrote_is_planned(adopter: firestore.Client, app: App, ground: Ground) -> None:
    adopter.collection("users").document("Zoë_1").set(a_user())
    match = a_match(user_id="Zoë_1", matched_at=datetime.now(UTC) - timedelta(seconds=1))
    adopter.collection("matches").add(match)
    assert app.scanner.scan(MAILING).counts["created"] == 1
    delivery = adopter.collection("deliveries").document(ids.delivery_id("Zoë_1", "j1")).get()
    assert (delivery.get("status"), delivery.get("user_id")) == ("pending", "Zoë_1")
