"""A rollout: the worker of this release and that of the next work on one ledger at the same time.

The next release is this one with a higher schema_version, which also reads what this one writes: a copy of the source,
changed in two places.
"""

import os
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from google.cloud import firestore

from deploy import ROOT
from emulator import inbox as local_inbox
from emulator.firestore import Firestore
from emulator.inbox import Inbox
from emulator.tasks import CloudTasks
from ledgermail.ledger import ids
from ledgermail.ledger.delivery import to_document
from ledgermail.ledger.policy import Policy
from tests.samples import ENVIRONMENT, a_delivery, a_user
from tests.stack.deploy.serving import served

SOURCE = ROOT / "functions"
EDITS = {
    "SCHEMA_VERSION = 1\n": "SCHEMA_VERSION = 2\n",
    "_require(version == SCHEMA_VERSION,": "_require(version in (1, 2),",
}
OLD = [f"old-{number}" for number in range(6)]
NEW = [f"new-{number}" for number in range(6)]


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    server = local_inbox.start()
    yield server
    server.stop()


@pytest.fixture
def next_release(tmp_path: Path) -> Path:
    """The source of the next release."""
    copied = tmp_path / "next"
    shutil.copytree(SOURCE, copied, ignore=shutil.ignore_patterns("__pycache__"))
    file = copied / "ledgermail" / "ledger" / "delivery.py"
    text = file.read_text("utf-8")
    for before, after in EDITS.items():
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    file.write_text(text, "utf-8")
    return copied


def owe(db: firestore.Client, job: str, version: int) -> str:
    """A pending delivery of a release, with a field that only the next one knows."""
    now = datetime.now(UTC)
    delivery = a_delivery(
        id=ids.delivery_id("u1", job),
        subject=job,
        schema_version=version,
        due_at=now,
        created_at=now,
        wake_at=now + Policy().slack,
    )
    db.collection("deliveries").document(delivery.id).set(to_document(delivery) | {"colour": job})
    return delivery.id


def deliver(client: httpx.Client, url: str, delivery_id: str) -> int:
    return client.post(url, json={"delivery_id": delivery_id, "generation": 0}, timeout=30).status_code


def comes_again(client: httpx.Client, url: str, delivery_id: str) -> bool:
    """Whether a task that may have been put off is done at last, as Cloud Tasks would bring it again."""
    return any(deliver(client, url, delivery_id) == 200 for _ in range(10))


def test_two_releases_share_a_ledger(
    project: str,
    firestore_server: Firestore,
    tasks_server: CloudTasks,
    inbox: Inbox,
    next_release: Path,
    tmp_path: Path,
) -> None:
    """Every delivery goes out once; the older worker leaves the newer's alone and keeps the field it does not know."""
    environment = {
        **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},  # each finds its own source
        **ENVIRONMENT,
        "LEDGERMAIL_PROJECT": project,
        "LEDGERMAIL_SENDGRID_URL": inbox.url,
        "FIRESTORE_EMULATOR_HOST": firestore_server.host,
        "CLOUD_TASKS_EMULATOR_HOST": tasks_server.host,
    }
    db = firestore.Client(project=project)
    db.collection("users").document("u1").set(a_user())
    old = [owe(db, job, 1) for job in OLD]
    new = [owe(db, job, 2) for job in NEW]
    with (
        httpx.Client() as client,
        served("deliver", environment, SOURCE, tmp_path / "this.log") as this,
        served("deliver", environment, next_release, tmp_path / "next.log") as next_one,
    ):
        before = [db.collection("deliveries").document(one).get().update_time for one in new]
        assert [deliver(client, this, one) for one in new] == [503] * len(new)
        assert [db.collection("deliveries").document(one).get().update_time for one in new] == before

        with ThreadPoolExecutor(8) as pool:
            twice = (this, next_one) * 2
            calls = [pool.submit(deliver, client, url, one) for one in old + new for url in twice]
            assert {call.result() for call in calls} <= {200, 503}
        assert all(comes_again(client, next_one, one) for one in old + new)

    for job, one in zip(OLD + NEW, old + new, strict=True):
        document = db.collection("deliveries").document(one).get().to_dict() or {}
        assert (document["status"], document["attempt"], document["colour"]) == ("accepted", 1, job)
        assert len(inbox.mails(delivery_id=one)) == 1
