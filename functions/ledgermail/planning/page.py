"""Pure planning of alerts: a page of matches in, the deliveries it owes and what became of the rest out."""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ledgermail.errors import InvalidDocument, InvalidId
from ledgermail.ledger import ids
from ledgermail.ledger.delivery import Content, Delivery, Status
from ledgermail.mailing import Mailing
from ledgermail.preferences.chosen import preferences_of, wants

DUPLICATES = "duplicates"  # matches of a delivery that exists already
# Of one frozen job as JSON, its id with it, which its delivery names once more: above any posting's head, and a page of 200
# is one commit of at most 10 MiB.
JOB_CHARS = 20_000
JOB_DEPTH = (
    10  # maps and lists within each other; Firestore takes 20, and a delivery holds the job deeper than its match
)


@dataclass(frozen=True)
class Match:
    """A document of `matches`, as the adopter's matcher wrote it: this job for this user, found at `matched_at`."""

    id: str
    matched_at: datetime
    user_id: str
    job_id: str
    job: Mapping[str, Any]


@dataclass(frozen=True)
class Page:
    """What a page of matches comes to: the deliveries it owes, and how many matches owe none by reason."""

    deliveries: tuple[Delivery, ...] = ()
    counts: Counter[str] = field(default_factory=Counter)  # too_old, not_wanted, duplicates

    def without(self, delivery_ids: set[str]) -> "Page":
        """This page without the deliveries that exist already, which it counts."""
        kept = tuple(delivery for delivery in self.deliveries if delivery.id not in delivery_ids)
        return Page(kept, self.counts + Counter({DUPLICATES: len(self.deliveries) - len(kept)}))


def read_matches(documents: Sequence[tuple[str, Mapping[str, Any]]]) -> tuple[list[Match], list[tuple[str, str]]]:
    """The matches in these (id, document) pairs, and the id and the problem of each that is none."""
    matches, invalid = [], []
    for match_id, document in documents:
        try:
            matches.append(_read_match(match_id, document))
        except (InvalidDocument, InvalidId) as error:
            invalid.append((match_id, str(error)))
    return matches, invalid


def owners(matches: Sequence[Match], oldest: datetime) -> list[str]:
    """Whose documents planning needs: each user once, and nobody for a match from before `oldest`."""
    return list(dict.fromkeys(match.user_id for match in matches if match.matched_at >= oldest))


def plan_page(
    mailing: Mailing,
    matches: Sequence[Match],
    users: Mapping[str, Mapping[str, Any]],
    *,
    now: datetime,
    shards: int,
) -> Page:
    """The deliveries that a page of matches owes: one per user and job, however often it was matched.

    A user whose document says that the mailing is not active is owed nothing; one without a document is planned, so that
    the ledger can say what became of it.
    """
    counts: Counter[str] = Counter()
    planned: dict[str, Delivery] = {}
    for match in matches:
        reason = _not_owed(mailing, match, users.get(match.user_id), now)
        delivery = _plan(mailing, match, now, shards)
        if reason or delivery.id in planned:
            counts[reason or DUPLICATES] += 1
        else:
            planned[delivery.id] = delivery
    return Page(tuple(planned.values()), counts)


def content_hash(items: Sequence[Mapping[str, Any]]) -> str:
    """A SHA-256 of the items, the same for equal ones however they were written."""
    return hashlib.sha256(as_json(items).encode()).hexdigest()


def as_json(value: object) -> str:
    """A job as JSON, the same text for equal ones. Raises InvalidDocument for what cannot be mailed."""
    return json.dumps(value, sort_keys=True, default=_plain)


def _read_match(match_id: str, document: Mapping[str, Any]) -> Match:
    job, user_id, job_id = (document.get(name) for name in ("job", "user_id", "job_id"))
    if not isinstance(job, dict) or not isinstance(job.get("title"), str) or not job["title"].strip():
        raise InvalidDocument("job.title: must be text, and not empty")
    ids.encode_part(user_id, "user_id")  # these two refuse what is not text, too
    ids.encode_part(job_id, "job_id")
    if len(as_json({**job, "job_id": job_id})) > JOB_CHARS:
        raise InvalidDocument(f"job: is larger than {JOB_CHARS} characters as JSON, with its job_id")
    if _depth(job) > JOB_DEPTH:
        raise InvalidDocument(f"job: has maps or lists within each other more than {JOB_DEPTH} deep")
    return Match(match_id, document["matched_at"], ids.user_key(str(user_id)), str(job_id), job)


def _depth(value: object) -> int:
    within = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if within is None else 1 + max(map(_depth, within), default=0)


def _plain(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise InvalidDocument(f"job: a {type(value).__name__} cannot be mailed")


def _not_owed(mailing: Mailing, match: Match, user: Mapping[str, Any] | None, now: datetime) -> str | None:
    if match.matched_at < now - mailing.max_age:
        return "too_old"
    if user is None:
        return None
    wanted = wants(user, mailing.name) and not _is_before_it_was_turned_on(mailing, match, user)
    return None if wanted else "not_wanted"


def _is_before_it_was_turned_on(mailing: Mailing, match: Match, user: Mapping[str, Any]) -> bool:
    """Whoever turns alerts on (again) wants those to come: the look-back would find those of the last day, too."""
    resumed_at = preferences_of(user, mailing.name).get("resumed_at")
    return isinstance(resumed_at, datetime) and match.matched_at < resumed_at


def _plan(mailing: Mailing, match: Match, now: datetime, shards: int) -> Delivery:
    delivery_id = ids.delivery_id(match.user_id, match.job_id)
    items = ({**match.job, "job_id": match.job_id},)
    return Delivery(
        id=delivery_id,
        mailing=mailing.name,
        guarantee=mailing.guarantee,
        run_key=ids.run_key(mailing.name, now.date().isoformat()),
        user_id=match.user_id,
        subject=match.job_id,
        status=Status.PENDING,
        due_at=now,
        created_at=now,
        shard=ids.shard_of(delivery_id, shards),
        wake_at=now + mailing.policy.slack,
        content=Content(hash=content_hash(items), items=items),
    )
