"""A worker that is killed in the middle of ten deliveries: the rest goes out, and nothing goes out twice."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event

import httpx
import pytest
from google.cloud import firestore

from emulator import inbox as local_inbox
from emulator.cloud import free_port
from emulator.functions import MAIN
from emulator.inbox import Inbox
from emulator.process import ROOT
from emulator.tasks import CloudTasks
from ledgermail.app import App
from ledgermail.clock import Clock
from ledgermail.delivering.worker import Answer
from ledgermail.ledger import ids
from ledgermail.ledger.delivery import Guarantee, to_document
from ledgermail.ledger.policy import Policy
from tests.samples import ENVIRONMENT, a_delivery, a_mailing, a_user, settings
from tests.stack.deploy.serving import CONTROL_SOCKET

JOBS = [f"j{number}" for number in range(1, 11)]
WAIT_SECONDS = 60.0
PAUSE = Event()  # never set: to wait a moment between two looks


@pytest.fixture
def inbox() -> Iterator[Inbox]:
    """A SendGrid of this test's own, for a mail hangs in it."""
    server = local_inbox.start()
    yield server
    server.stop()


def until(holds: Callable[[], bool]) -> None:
    for _ in range(int(WAIT_SECONDS / 0.05)):
        if holds():
            return
        PAUSE.wait(0.05)
    pytest.fail("it never came to that")


@contextmanager
def function(environment: dict[str, str], port: int) -> Iterator[subprocess.Popen[bytes]]:
    """The function `deliver` as functions-framework serves it, in a process group of its own."""
    framework = Path(sys.executable).parent / "functions-framework"
    command = [str(framework), "--target=deliver", f"--source={MAIN}", "--host=127.0.0.1", f"--port={port}"]
    served = subprocess.Popen(
        command, env=os.environ | environment, cwd=ROOT, start_new_session=True, stdout=subprocess.DEVNULL
    )
    try:
        until(lambda: _answers(port))
        yield served
    finally:
        if served.poll() is None:
            os.killpg(served.pid, signal.SIGKILL)
        served.wait()


def _answers(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/").status_code == 405
    except httpx.HTTPError:
        return False


def owe_ten(db: firestore.Client, guarantee: Guarantee) -> None:
    now = datetime.now(UTC)
    db.collection("users").document("u1").set(a_user())
    for job in JOBS:
        delivery = a_delivery(
            id=ids.delivery_id("u1", job),
            subject=job,
            guarantee=guarantee,
            due_at=now,
            created_at=now,
            wake_at=now + Policy().slack,
        )
        db.collection("deliveries").document(delivery.id).set(to_document(delivery))


def statuses(db: firestore.Client) -> list[str]:
    documents = (db.collection("deliveries").document(ids.delivery_id("u1", job)).get() for job in JOBS)
    return [(document.to_dict() or {})["status"] for document in documents]


@pytest.mark.parametrize("guarantee", list(Guarantee))
def test_what_a_killed_worker_left_goes_out_and_nothing_goes_out_twice_at_most_once(
    guarantee: Guarantee,
    project: str,
    tasks_server: CloudTasks,
    inbox: Inbox,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("CLOUD_TASKS_EMULATOR_HOST", tasks_server.host)
    monkeypatch.setenv(CONTROL_SOCKET, str(tmp_path))
    app = App(settings(project=project, sendgrid_url=inbox.url), {"job-alert": a_mailing()})
    owe_ten(app.client, guarantee)
    _killed_at_the_seventh(inbox, project, guarantee, app.client)
    assert statuses(app.client) == ["accepted"] * 6 + ["in_flight"] + ["pending"] * 3

    again = [app.worker.deliver(ids.delivery_id("u1", job)) for job in JOBS]
    assert again == [Answer("finished")] * 6 + [Answer("held")] + [Answer("accepted")] * 3
    _sweep(app)
    once = guarantee is Guarantee.AT_MOST_ONCE
    assert statuses(app.client)[6] == ("unknown" if once else "pending")
    copies = {job: len(inbox.mails(delivery_id=ids.delivery_id("u1", job))) for job in JOBS}
    assert copies == dict.fromkeys(JOBS, 1)  # the seventh, too: the provider had kept it


def _killed_at_the_seventh(inbox: Inbox, project: str, guarantee: Guarantee, db: firestore.Client) -> None:
    """Six are delivered; the provider keeps the seventh and does not answer; the process is killed."""
    port = free_port()
    with function({**ENVIRONMENT, "LEDGERMAIL_PROJECT": project, "LEDGERMAIL_SENDGRID_URL": inbox.url}, port) as served:

        def post(job: str) -> httpx.Response:
            body = {"delivery_id": ids.delivery_id("u1", job)}
            return httpx.post(f"http://127.0.0.1:{port}/", json=body, timeout=WAIT_SECONDS)

        assert [post(job).json() for job in JOBS[:6]] == [{"delivery": "accepted"}] * 6
        inbox.fail_next("hang_after")
        with ThreadPoolExecutor(1) as pool:
            seventh = pool.submit(post, JOBS[6])
            until(lambda: inbox.stats()["hanging"] == 1)
            os.killpg(served.pid, signal.SIGKILL)
            assert isinstance(seventh.exception(WAIT_SECONDS), httpx.TransportError)


def _sweep(app: App) -> None:
    later = Clock(now=lambda: datetime.now(UTC) + timedelta(minutes=10))
    App(app.settings, app.mailings, later).sweeper.sweep()
