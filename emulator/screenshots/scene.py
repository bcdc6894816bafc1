"""A fortnight of a ledger, made up: enough of everything that the console shows, the same each time but for the day."""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from ledgermail.ledger import ids, transitions
from ledgermail.ledger.delivery import Content, Delivery, Failure, Stage, Status, to_document
from ledgermail.mailing import Mailing
from ledgermail.planning.audience import OWN, Cohort, planned_name
from ledgermail.planning.run import State, run_of
from ledgermail.planning.schedules import dues, last_due

ASKED_ABOUT = "184"  # who has got today's digest, and not every alert
FAILED_JOB, IN_DOUBT_JOB = "acme-backend-7", "globex-data-2"
DAYS = 14
USERS = 60
NAMES = ("Ada", "Bela", "Chen", "Dilara", "Emre", "Femi", "Grace", "Hana", "Ivo", "Jun", "Kofi", "Lena")
EMPLOYERS = ("acme", "globex", "initech", "umbrella", "hooli")
TRADES = ("backend", "data", "design", "support", "sales")
REFUSED = Failure(category="rejected", code="400", detail="The from address does not match a verified Sender Identity.")
NO_ANSWER = Failure(category="ambiguous", code="ReadTimeout", detail="no answer within 20 s")

Documents = dict[str, dict[str, Any]]  # path -> fields


@dataclass
class Scene:
    """The documents so far."""

    now: datetime
    mailings: dict[str, Mailing]
    chance: random.Random = field(default_factory=lambda: random.Random(184))
    documents: Documents = field(default_factory=dict)
    intended: Counter[str] = field(default_factory=Counter)

    def add(self, delivery: Delivery) -> None:
        """A delivery, counted in its run."""
        self.documents[f"deliveries/{delivery.id}"] = to_document(delivery)
        self.intended[delivery.run_key] += 1


def make(mailings: dict[str, Mailing], now: datetime) -> Documents:
    """The documents by path, as of now."""
    scene = Scene(now.replace(microsecond=0), mailings)
    _users(scene)
    _alerts(scene)
    for name in ("daily-digest", "weekly-digest"):
        _digests(scene, mailings[name])
    _record(scene)
    for run_key, intended in scene.intended.items():
        scene.documents[f"runs/{run_key}"]["intended"] = intended
    return scene.documents


def _user_ids() -> list[str]:
    return [str(int(ASKED_ABOUT) - USERS // 2 + number) for number in range(USERS)]


def _users(scene: Scene) -> None:
    for number, user_id in enumerate(_user_ids()):
        name = NAMES[number % len(NAMES)]
        scene.documents[f"users/{user_id}"] = {
            "email": f"{name.lower()}.{user_id}@example.com",
            "name": name,
            "timezone": "Europe/Berlin",
            "mailings": {"job-alert": {"active": True}, "daily-digest": {"active": True}},
        }


def _alerts(scene: Scene) -> None:
    mailing = scene.mailings["job-alert"]
    today = scene.now.replace(hour=0, minute=0, second=0)
    for back in reversed(range(DAYS)):
        day = today - timedelta(days=back)
        run_key = ids.run_key(mailing.name, day.date().isoformat())
        scene.documents[f"runs/{run_key}"] = {"mailing": mailing.name, "opened_at": day, "duplicates": back % 3}
        until = min(timedelta(hours=20), scene.now - day)
        busy = 18 + scene.chance.randrange(22) - (12 if day.weekday() > 4 else 0)
        for number, user_id in enumerate(scene.chance.sample(_user_ids(), busy)):
            job = f"{scene.chance.choice(EMPLOYERS)}-{scene.chance.choice(TRADES)}-{day.day}{number}"
            at = day + until * scene.chance.uniform(0.05, 0.9)
            scene.add(_alert(mailing, user_id, job, run_key, at, _usual_end(scene), scene.now))
    _alerts_of_interest(scene, mailing)
    for number, user_id in enumerate(scene.chance.sample(_user_ids(), 5)):
        at = max(today, scene.now - timedelta(minutes=2 + number))
        job = f"hooli-backend-{today.day}{number + 90}"
        scene.add(_alert(mailing, user_id, job, run_key, at, Status.PENDING, scene.now))
    scene.documents[f"state/scan:{mailing.name}"] = {"at": scene.now, "match_id": "", "seen": {}}


def _alerts_of_interest(scene: Scene, mailing: Mailing) -> None:
    hour = timedelta(hours=1)
    yesterday = ids.run_key(mailing.name, (scene.now - 24 * hour).date().isoformat())
    at = scene.now - 24 * hour
    for job, status in ((FAILED_JOB, Status.REJECTED), (IN_DOUBT_JOB, Status.UNKNOWN)):
        scene.add(_alert(mailing, ASKED_ABOUT, job, yesterday, at, status, scene.now))
        title = job.partition("-")[2].title()
        scene.documents[f"matches/{ASKED_ABOUT}-{job}"] = {
            "user_id": ASKED_ABOUT,
            "job_id": job,
            "matched_at": at,
            "job": {"title": title, "company": "Acme", "url": f"https://jobs.example.com/{job}"},
        }


def _usual_end(scene: Scene) -> Status:
    weights = {Status.ACCEPTED: 93, Status.REJECTED: 2, Status.SUPPRESSED: 3, Status.UNKNOWN: 1, Status.EXPIRED: 1}
    return scene.chance.choices(list(weights), list(weights.values()))[0]


def _alert(
    mailing: Mailing, user_id: str, job: str, run_key: str, at: datetime, status: Status, now: datetime
) -> Delivery:
    planned = _planned(mailing, ids.delivery_id(user_id, job), user_id, job, run_key, at)
    return _became(planned, status, at + timedelta(seconds=3), now)


def _digests(scene: Scene, mailing: Mailing) -> None:
    assert mailing.schedule is not None
    cohort = Cohort(mailing=mailing.name, schedule=None)
    due_times = dues(mailing.schedule, scene.now - timedelta(days=DAYS), scene.now)
    for due in due_times:
        run = run_of(cohort, mailing.schedule, due, now=due.at + timedelta(seconds=20))
        scene.documents[f"runs/{run.key}"] = run.document() | {"state": str(State.PLANNED)}
        newest = due is due_times[-1]
        for user_id in _user_ids():
            delivery_id = ids.run_delivery_id(user_id, run.occasion)
            planned = _planned(mailing, delivery_id, user_id, run.occasion, run.key, due.at).changed(
                period_start=run.period_start, period_end=run.period_end
            )
            asked_about = newest and user_id == ASKED_ABOUT
            status = Status.ACCEPTED if asked_about else scene.chance.choices(*_DIGESTS)[0]
            scene.add(_became(planned, status, due.at + timedelta(minutes=1), scene.now))
    last = last_due(mailing.schedule, scene.now)
    scene.documents[f"state/{planned_name(mailing.name)}"] = {"planned": {OWN: last.at}}


_DIGESTS = ([Status.ACCEPTED, Status.EMPTY, Status.SUPPRESSED], [80, 17, 3])


def _planned(mailing: Mailing, delivery_id: str, user_id: str, subject: str, run_key: str, at: datetime) -> Delivery:
    return Delivery(
        id=delivery_id,
        mailing=mailing.name,
        guarantee=mailing.guarantee,
        run_key=run_key,
        user_id=user_id,
        subject=subject,
        status=Status.PENDING,
        due_at=at,
        created_at=at + timedelta(seconds=1),
        shard=ids.shard_of(delivery_id, 4),
        wake_at=at + mailing.policy.slack,
    )


def _became(planned: Delivery, status: Status, at: datetime, now: datetime) -> Delivery:
    """What became of a delivery that a worker took at this time."""
    second = timedelta(seconds=1)
    if status is Status.PENDING:
        return planned.changed(
            attempt=1, first_claimed_at=at, first_attempt_at=at, next_attempt_at=now + timedelta(minutes=6), generation=1,
            last_error=Failure(category="transient", code="503", detail="Service Unavailable"),
            wake_at=now + timedelta(minutes=30),
        )  # fmt: skip
    tried = status not in {Status.SUPPRESSED, Status.EMPTY}
    ended = planned.changed(
        status=status,
        wake_at=None,
        settled_at=at + second,
        prune_at=at + timedelta(days=30),
        content=Content(hash="0" * 64),
        last_error=_failure(status),
        **({"attempt": 1, "first_claimed_at": at, "first_attempt_at": at, "claim_id": "c"} if tried else {}),
        **({"doubted_at": at + 20 * second} if status is Status.UNKNOWN else {}),
    )
    if status is not Status.ACCEPTED:
        return ended
    stages = {
        transitions.RENDER: Stage(at=at, reference=""),
        transitions.EMAIL: Stage(at=at + second, reference="14c5d75ce93"),
    }
    return ended.changed(
        stages=stages, events={"processed": at + 2 * second, "delivered": at + 5 * second}, last_error=None
    )


def _failure(status: Status) -> Failure | None:
    return {
        Status.REJECTED: REFUSED,
        Status.UNKNOWN: NO_ANSWER,
        Status.EXPIRED: Failure(category="expired"),
        Status.SUPPRESSED: Failure(category="unsubscribed"),
        Status.EMPTY: Failure(category="nothing_to_say"),
    }.get(status)


def _record(scene: Scene) -> None:
    acts: Iterator[dict[str, Any]] = iter(
        [
            {"action": "pause", "who": "grace@example.com", "after": "paused", "note": "a wrong link in the template"},
            {"action": "resume", "who": "grace@example.com", "after": "running", "note": "mended"},
            {"action": "lift", "who": "ivo@example.com", "user_id": "190", "before": "suppressed", "after": "not suppressed"},
        ]
    )  # fmt: skip
    for number, act in enumerate(acts):
        scene.documents[f"audits/act-{number}"] = act | {"at": scene.now - timedelta(hours=30 - number)}
    for number in range(3):
        counts = {"job-alert": {"accepted": 22 + number, "suppressed": 2}, "daily-digest": {"empty": 9}}
        deleted = sum(sum(of_mailing.values()) for of_mailing in counts.values())
        at = scene.now.astimezone(UTC) - timedelta(hours=12 * number + 5)
        scene.documents[f"prunes/prune-{number}"] = {"counts": counts, "deleted": deleted, "last_at": at}
