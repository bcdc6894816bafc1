"""Production-shaped users, postings and matches, the same for the same seed, and which deliveries they oblige to."""

import json
import random
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from emulator.demo.digests import DAILY, WEEKLY, reports, subscribe
from ledgermail.ledger import ids

MAILING = "job-alert"
ZONES = ("Europe/Berlin", "America/New_York", "Asia/Tokyo", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC")
NAMES = (
    "Ada",
    "Zoë",
    "O'Neil, Tara",
    "Łukasz; Nowak",
    "山田 太郎",
    'R&D "Lead" <b>',
    "Мария",
    "李雷",
    "Åsa\r\nBcc: x@y.z",
)
USER_IDS = (
    "u{n}",
    "user_{n}",
    "team_{n}_west",
    "Zoë-{n}",
    "k8sJ2Xq{n:07d}LmP0aZ9tR4vWy",
    "o'neil {n}",
    "利用者{n}",
    "a%2Fb{n}",
)
JOB_IDS = (
    "{key}",
    "greenhouse/acme/{key}",
    "https://jobs.example.com/j?id={key}&s=1_2",
    "stelle_{key}_münchen",
    "求人-{key}",
)
TITLES = (
    "Data Engineer",
    'R&D "Lead" <b>',
    "Küchenchef (m/w/d)",
    "Инженер по данным " * 12,
    "Front_End Developer",
    "Sr. SRE, on-call",
)
COMPANIES = ("Acme", "Kraków & Söhne", "株式会社例", "<script>alert(1)</script> Ltd")
LINKS = ("https://jobs.example.com/{key}", "https://jobs.example.com/{key}?q='\"", "javascript:alert({key})")


@dataclass(frozen=True)
class Scene:
    """What is in Firestore before the first scan, and the ids of the deliveries that must come of it."""

    users: Mapping[str, Mapping[str, Any]]
    matches: Mapping[str, Mapping[str, Any]]
    reports: Mapping[str, Mapping[str, Any]]
    owed: Mapping[str, Set[str]]  # by mailing
    leaving: Sequence[str]  # users who unsubscribe from everything after the planning and before the send
    joining: Mapping[str, Mapping[str, Any]]  # users who come after the planning, and so are not in it


def make(
    *, postings: Sequence[Mapping[str, Any]], users: int, matches: int, seed: int, now: datetime, webhook: str = ""
) -> Scene:
    """A scene of so many users and matches, of these postings, playing at `now`; `webhook` is where customers listen."""
    chance = random.Random(seed)
    people = {user_id: _user(number, chance) for number, user_id in enumerate(_user_ids(users))}
    ghosts = [f"gone_{number}" for number in range(max(1, users // 50))]  # matched, but their document was deleted
    pairs: dict[str, Mapping[str, Any]] = {}
    wanted: set[str] = set()
    for number in range(matches):
        user_id = chance.choice([*people, *ghosts])
        posting = chance.choice(postings)
        at = now - timedelta(seconds=chance.uniform(300, 6 * 3600))
        pairs[f"m{number:06d}"] = {
            "user_id": user_id,
            "job_id": posting["job_id"],
            "matched_at": at,
            "job": dict(posting),
        }
        if user_id in ghosts or people[user_id]["mailings"][MAILING]["active"]:
            wanted.add(ids.delivery_id(user_id, posting["job_id"]))
    active = [user_id for user_id, user in people.items() if user["mailings"][MAILING]["active"]]
    leaving = chance.sample(active, max(1, len(active) // 40))
    owed = {MAILING: wanted, **subscribe(people, now, chance, webhook)}
    return Scene(
        users=people,
        matches=pairs | _again(pairs, chance) | _broken(now),
        reports=reports(now, chance),
        owed=owed,
        leaving=leaving,
        joining={f"late_{number}": _late(number) for number in range(max(1, users // 40))},
    )


def read_postings(path: Path) -> list[Mapping[str, Any]]:
    """Postings from a file of one JSON object a line. Raises ValueError naming the line and the field."""
    postings = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        try:
            posting = json.loads(line)
        except ValueError as error:
            raise ValueError(f"{path.name}, line {number}: is not JSON") from error
        for name in ("job_id", "title"):
            if not isinstance(posting, dict) or not isinstance(posting.get(name), str):
                raise ValueError(f"{path.name}, line {number}: {name}: must be text")
        postings.append(posting)
    if not postings:
        raise ValueError(f"{path.name}: has no posting")
    return postings


def make_postings(count: int, seed: int) -> list[Mapping[str, Any]]:
    """Postings of our own, with ids, titles and links as unpleasant as real ones."""
    chance = random.Random(seed)
    return [
        {
            "job_id": chance.choice(JOB_IDS).format(key=number),
            "title": chance.choice(TITLES).strip(),
            "company": chance.choice(COMPANIES),
            "url": chance.choice(LINKS).format(key=number),
            "locations": chance.sample(["Berlin", "Remote", "São Paulo", "東京"], chance.randint(1, 3)),
        }
        for number in range(count)
    ]


def _user_ids(count: int) -> Iterator[str]:
    return (USER_IDS[number % len(USER_IDS)].format(n=number) for number in range(count))


def _user(number: int, chance: random.Random) -> dict[str, Any]:
    """One in ten has unsubscribed, one in twenty is suppressed, one in twenty has an address that no mail reaches."""
    draw = chance.random()
    user: dict[str, Any] = {
        "email": chance.choice([f"user{number}@example.com", f"user{number}@bücher.example.com"]),
        "name": chance.choice(NAMES),
        "timezone": chance.choice(ZONES),
        "mailings": {MAILING: {"active": draw >= 0.10}},
    }
    if 0.10 <= draw < 0.15:
        user["suppressed"] = {"reason": "bounce", "at": datetime.fromisoformat("2026-01-01T00:00:00+00:00")}
    elif 0.15 <= draw < 0.20:
        user["email"] = chance.choice(["", "nobody", "a@b@c", "näme@example.com", f"user{number}@localhost"])
    return user


def _late(number: int) -> Mapping[str, Any]:
    mailings = {name: {"active": True} for name in (DAILY, WEEKLY)}
    return {"email": f"late{number}@example.com", "name": "Late", "mailings": mailings}


def _again(pairs: Mapping[str, Mapping[str, Any]], chance: random.Random) -> dict[str, Mapping[str, Any]]:
    """One match in fifty is made a second time, its title edited meanwhile: the same obligation."""
    again = chance.sample(sorted(pairs), len(pairs) // 50)
    return {f"{name}-again": {**pairs[name], "job": {**pairs[name]["job"], "title": "Edited title"}} for name in again}


def _broken(now: datetime) -> dict[str, Mapping[str, Any]]:
    """Matches that oblige to nothing because they cannot be read."""
    job = {"title": "A job"}
    return {
        "broken-1": {"job_id": "j", "matched_at": now, "job": job},
        "broken-2": {"user_id": "u0", "job_id": "", "matched_at": now, "job": job},
        "broken-3": {"user_id": "u0", "job_id": "j", "matched_at": now, "job": {"title": ""}},
        "broken-4": {"user_id": "a/b", "job_id": "j", "matched_at": now, "job": job},
    }
