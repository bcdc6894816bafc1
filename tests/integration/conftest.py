"""The parts of one deployment on a Firestore and a queue of its own, with no functions running."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest
from google.cloud import firestore

from emulator import inbox as local_inbox
from emulator.firestore import Firestore
from emulator.inbox import Inbox
from emulator.tasks import CloudTasks
from ledgermail.app import App
from ledgermail.ledger.delivery import Delivery, Status, to_document
from ledgermail.ledger.ledger import DELIVERIES, USERS
from ledgermail.planning.matches import MATCHES
from ledgermail.planning.scan import Scanner
from tests.integration.scans import scanner_of
from tests.samples import a_mailing, settings

AppMaker = Callable[..., App]


@pytest.fixture
def controlled(firestore_server: Firestore) -> Iterator[Firestore]:
    """The Firestore with its faults, meter and clock; skips where it is not the embedded one, which alone has them."""
    if not firestore_server.controlled:
        pytest.skip(f"the {firestore_server.kind} Firestore has no faults, meter or clock")
    yield firestore_server
    firestore_server.clear_faults()


@pytest.fixture
def make_app(project: str, tasks_server: CloudTasks, monkeypatch: pytest.MonkeyPatch) -> Iterator[AppMaker]:
    """Make an App of this test's project; settings may be changed by name. Its tasks wait in paused queues."""
    monkeypatch.setenv("CLOUD_TASKS_EMULATOR_HOST", tasks_server.host)
    parent = f"projects/{project}/locations/europe-west1"
    with tasks_server.client() as queues:
        for name in ("deliver", "upkeep"):
            queues.create_queue(request={"parent": parent, "queue": {"name": f"{parent}/queues/{name}"}})
            queues.pause_queue(name=f"{parent}/queues/{name}")
        yield lambda **changes: App(settings(project=project, **changes), {"job-alert": a_mailing()})
        for name in ("deliver", "upkeep"):
            queues.purge_queue(name=f"{parent}/queues/{name}")


@pytest.fixture(scope="session")
def inbox_server() -> Iterator[Inbox]:
    """The SendGrid of this session."""
    server = local_inbox.start()
    yield server
    server.stop()


@pytest.fixture
def inbox(inbox_server: Inbox) -> Inbox:
    """The SendGrid, with no mail and no faults."""
    inbox_server.faults()
    inbox_server.clear()
    return inbox_server


@pytest.fixture
def app(make_app: AppMaker) -> App:
    """The App of this test's project."""
    return make_app()


@pytest.fixture
def scanner(app: App) -> Scanner:
    """A scanner for which it is NOW."""
    return scanner_of(app)


@pytest.fixture
def db(app: App) -> firestore.Client:
    """The Firestore client of this test's project."""
    return app.client


class Ground:
    """Put documents where the functions look for them, and look at what they left."""

    def __init__(self, db: firestore.Client, queue: Callable[[], list[str]]) -> None:
        self.db = db
        self.tasks = queue

    def user(self, user_id: str, document: dict[str, Any]) -> None:
        """A user's document."""
        self.db.collection(USERS).document(user_id).set(document)

    def match(self, match_id: str, document: dict[str, Any]) -> None:
        """A match's document."""
        self.db.collection(MATCHES).document(match_id).set(document)

    def matches(self, documents: Mapping[str, dict[str, Any]]) -> None:
        """Matches' documents by id, in one commit."""
        batch = self.db.batch()
        for match_id, document in documents.items():
            batch.set(self.db.collection(MATCHES).document(match_id), document)
        batch.commit()

    def delivery(self, delivery: Delivery, **document: Any) -> None:
        """A delivery as it stands, with fields of the document changed."""
        self.db.collection(DELIVERIES).document(delivery.id).set(to_document(delivery) | document)

    def put(self, deliveries: Sequence[Delivery]) -> None:
        """Deliveries as they stand, in one commit."""
        batch = self.db.batch()
        for delivery in deliveries:
            batch.set(self.db.collection(DELIVERIES).document(delivery.id), to_document(delivery))
        batch.commit()

    def deliveries(self) -> dict[str, dict[str, Any]]:
        """Every delivery's document by id."""
        return {snapshot.id: snapshot.to_dict() or {} for snapshot in self.db.collection(DELIVERIES).stream()}

    def assert_identity(self) -> None:
        """For every run: intended = the deliveries that there are, each in a known status, + pruned."""
        statuses = Counter(d["run_key"] for d in self.deliveries().values() if d["status"] in set(Status))
        for run in self.db.collection("runs").stream():
            counts = run.to_dict() or {}
            assert counts.get("intended", 0) == statuses[run.id] + counts.get("pruned", 0), (run.id, counts)

    def run(self, run_key: str) -> dict[str, Any]:
        """A run's document."""
        return self.db.collection("runs").document(run_key).get().to_dict() or {}


@pytest.fixture
def ground(db: firestore.Client, app: App, tasks_server: CloudTasks) -> Iterator[Ground]:
    """This test's documents and tasks."""
    queue = f"projects/{app.settings.project}/locations/europe-west1/queues/deliver"
    with tasks_server.client() as queues:
        yield Ground(db, lambda: sorted(task.name.rpartition("/")[2] for task in queues.list_tasks(parent=queue)))
