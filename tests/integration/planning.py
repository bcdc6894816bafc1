"""Ticks of the coordinator at a time of the test's choosing, users for it to find, and its tasks carried out by hand."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from google.cloud.tasks_v2 import Task

from emulator.tasks import CloudTasks
from ledgermail.app import App
from ledgermail.clock import Clock
from ledgermail.ledger.delivery import Delivery, from_document
from ledgermail.ledger.ledger import USERS
from ledgermail.mailing import Mailing, load
from ledgermail.planning.coordinator import Coordinator, Report
from ledgermail.planning.matches import MATCHES
from ledgermail.planning.run import Run, read_run
from ledgermail.settings import FOLDER
from tests.integration.conftest import Ground
from tests.samples import a_match, a_user

SHIPPED = load(FOLDER)
DAILY, WEEKLY, SHIPMENTS = (SHIPPED[name] for name in ("daily-digest", "weekly-digest", "shipment-digest"))
MONDAY = datetime(2100, 8, 16, tzinfo=UTC)  # after every user that a test makes
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
BATCH = 500


def at(day: float, hour: float = 8.05) -> datetime:
    """A time so many days and hours after that Monday began; by default soon after eight."""
    return MONDAY + day * DAY + hour * HOUR


@dataclass(frozen=True)
class Planning:
    """A deployment with these mailings; nothing in it moves but by the test's hand."""

    app: App
    ground: Ground
    queues: CloudTasks
    mailings: Mapping[str, Mailing]

    def coordinator(self, now: datetime, **parts: Any) -> Coordinator:
        """The coordinator for which it is `now`, with these parts exchanged."""
        return replace(self.app.coordinator, clock=Clock(now=lambda: now), mailings=self.mailings, **parts)

    def tick(self, now: datetime) -> Report:
        """One tick."""
        return self.coordinator(now).tick()

    def another_instance(self, now: datetime) -> Coordinator:
        """The coordinator of a second instance, with connections of its own."""
        return App(self.app.settings, self.mailings, Clock(now=lambda: now)).coordinator

    def subscribe(self, *user_ids: str, mailing: str = "daily-digest", **preferences: Any) -> None:
        """Users who want a mailing, with these preferences."""
        self.users({user_id: a_subscriber(user_id, mailing, **preferences) for user_id in user_ids})

    def users(self, documents: Mapping[str, dict[str, Any]]) -> None:
        """Users' documents by id, in commits of 500."""
        self._write(USERS, documents)

    def match(self, user_id: str, times: Sequence[datetime], prefix: str = "j") -> None:
        """Matches of a user at these times, each of a job of its own, numbered from 0."""
        jobs = {f"{prefix}{number}": time for number, time in enumerate(times)}
        found = {
            f"{user_id}-{job_id}": a_match(user_id=user_id, job_id=job_id, matched_at=time, job={"title": job_id})
            for job_id, time in jobs.items()
        }
        self._write(MATCHES, found)

    def owed(self, user_id: str | None = None) -> list[Delivery]:
        """The deliveries, of one user if asked, in the order of their periods."""
        found = [from_document(delivery_id, document) for delivery_id, document in self.ground.deliveries().items()]
        mine = [delivery for delivery in found if user_id in (None, delivery.user_id)]
        return sorted(mine, key=lambda delivery: (delivery.period_end or MONDAY, delivery.id))

    def jobs(self, delivery: Delivery) -> list[str]:
        """The jobs that a delivery would list, the newest first."""
        found = self.app.worker.items.of(delivery)
        return [item["job_id"] for item in (found.content.items or ())] if found else []

    def runs(self) -> dict[str, dict[str, Any]]:
        """Every run's document by key."""
        return {run.id: run.to_dict() or {} for run in self.ground.db.collection("runs").stream()}

    def a_run(self) -> Run:
        """The only run there is."""
        (document,) = self.runs().values()
        return read_run(document)

    def parts(self, run_key: str) -> dict[str, dict[str, Any]]:
        """The parts of a run by number."""
        parts = self.ground.db.collection("runs").document(run_key).collection("parts").stream()
        return {part.id: part.to_dict() or {} for part in parts}

    def take_tasks(self) -> list[dict[str, Any]]:
        """The bodies of the tasks that plan on, which are taken from the queue."""
        queue = f"projects/{self.app.settings.project}/locations/europe-west1/queues/upkeep"
        with self.queues.client() as client:
            tasks = list(client.list_tasks(request={"parent": queue, "response_view": Task.View.FULL}))
            for task in tasks:
                client.delete_task(name=task.name)
        return [json.loads(task.http_request.body) for task in tasks]

    def work_off(self, now: datetime) -> None:
        """Carry out the tasks that plan on, one after the other."""
        for body in self.take_tasks():
            self.coordinator(now).plan_part(body["run_key"], body["part"])

    def _write(self, collection: str, documents: Mapping[str, dict[str, Any]]) -> None:
        items = list(documents.items())
        for start in range(0, len(items), BATCH):
            batch = self.ground.db.batch()
            for document_id, document in items[start : start + BATCH]:
                batch.set(self.ground.db.collection(collection).document(document_id), document)
            batch.commit()


def a_subscriber(user_id: str, mailing: str = "daily-digest", **preferences: Any) -> dict[str, Any]:
    """The document of a user who wants a mailing."""
    return a_user(mailings={mailing: {"active": True, **preferences}}, name=user_id)
