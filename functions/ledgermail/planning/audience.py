"""Who gets a digest: users by mailing, schedule and topic, read in the order of their ids, one read each."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from urllib.parse import unquote

from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter

from ledgermail.ledger import ids
from ledgermail.ledger.ledger import DELIVERIES, USERS
from ledgermail.log import log
from ledgermail.planning.schedules import MAX_CHARS
from ledgermail.preferences.chosen import preferences_of
from ledgermail.store import MOST_IN, Snapshot, call, count_of, counted_at, ledger_errors, moment

OWN = "~default"  # the key of the mailing's own schedule: what is encoded never begins with a tilde
PAGE = 200  # users a page, and deliveries a commit
BEYOND = "\U0010ffff"  # sorts after every id with the same head
SURROGATES, AFTER_SURROGATES = 0xD800, 0xE000  # what text has no characters for
ENOUGH_HEADS, MOST_HEADS = 2, 16  # heads a part: with fewer, parts differ by more than half; more cost reads
MOST_LENGTHS = 24  # lengths of heads that are tried


@dataclass(frozen=True, kw_only=True)
class Cohort:
    """The users of a mailing who share a schedule (as they wrote it; None: the mailing's own) and, for a report, a topic."""

    mailing: str
    schedule: str | None
    topic: str | None = None
    others: tuple[str, ...] = ()  # schedules that users have set, where this is the mailing's own and they are known
    changed_at: datetime | None = None  # when the mailing's own schedule was last changed, where this follows it

    @property
    def key(self) -> str:
        """Its schedule within a run's key. A user may have written any text: none comes out as the mailing's own does."""
        return OWN if self.schedule is None else ids.encode_part(self.schedule, "schedule")

    @property
    def place(self) -> tuple[bool, str, str]:
        """Where it comes among those of its mailing: by schedule, the mailing's own after all others, and topic."""
        return self.schedule is None, self.schedule or "", self.topic or ""

    @property
    def name(self) -> str:
        """Its name among those of its mailing: bounded, whatever a user has written for a schedule."""
        return self.key if self.topic is None else f"{self.key}:{ids.encode_part(self.topic, 'topic')}"


def planned_name(mailing: str) -> str:
    """The document of `state` that says until when each cohort of a mailing, by name, has been planned."""
    return f"plan:{mailing}"


def cohort_named(mailing: str, name: str) -> Cohort | None:
    """The cohort of this name; None where a part was too long to be kept whole."""
    key, *topics = name.split(":")
    if any("~" in part for part in [*topics, key] if part != OWN):
        return None
    schedule = None if key == OWN else unquote(key)
    return Cohort(mailing=mailing, schedule=schedule, topic=unquote(topics[0]) if topics else None)


def is_between(name: str, after: Cohort | None, upto: Cohort | None, mailing: str) -> bool:
    """Whether this is the name of one that comes after the first and up to the second (None: from the first, to the last)."""
    cohort = cohort_named(mailing, name)
    if cohort is None:  # its place is not known
        return after is None and upto is None
    return (after is None or cohort.place > after.place) and (upto is None or cohort.place <= upto.place)


@dataclass(frozen=True)
class Subscriber:
    """What planning needs to know of a user."""

    user_id: str
    created_at: datetime  # when the document was
    since: datetime | None  # when these preferences were last changed, if the application says so
    schedule: str | None
    resumed_at: datetime | None = None  # when they turned it on (again): what came before is not for them


@dataclass(frozen=True)
class Counted:
    """How many there were at one moment."""

    count: int
    at: datetime


class Audience:
    """Subscribers in Firestore. Every method raises LedgerUnavailable."""

    def __init__(self, client: firestore.Client) -> None:
        self._client = client
        self._users = client.collection(USERS)

    def schedules(self, mailing: str, first: str = "\0") -> Iterator[str]:
        """The distinct schedules that users have set, from this one on, by skipping along their index: one read each.

        A text too long for a schedule is passed over: Firestore takes no such value in a query.
        """
        path = self._path(mailing, "schedule")
        least: str | None = first
        while least is not None:
            query = self._users.where(filter=FieldFilter(path, ">=", least)).order_by(path).limit(1)
            with ledger_errors("read schedules"):
                found = [preferences_of(snapshot.to_dict(), mailing)["schedule"] for snapshot in query.stream(**call())]
            if not found or not isinstance(found[0], str):
                return
            if len(found[0]) <= MAX_CHARS:
                yield found[0]
                least = found[0] + "\0"
            else:
                log("schedule.invalid", severity="WARNING", mailing=mailing, problem="longer than any schedule")
                least = _after_all_with(found[0][:MAX_CHARS])

    def count(self, cohort: Cohort) -> int:
        """How many are active; for the mailing's own schedule, those with another schedule are counted, too."""
        return self._counted(self._query(cohort), None).count

    def is_empty(self, cohort: Cohort) -> bool:
        """Whether all who are active have one of the other schedules, by counting: a read for each thirty, and per thousand.

        Firestore cannot be asked for those without a field, so that to find them all who are active are read. Where
        everybody has a schedule that would be for nothing. All are counted as of one moment: who moves from one schedule
        to another meanwhile would else count twice, and somebody without any would be taken for nobody.
        """
        if not cohort.others:
            return False
        active = self._counted(self._query(cohort), None)
        path = self._path(cohort.mailing, "schedule")
        several = (list(cohort.others[first : first + MOST_IN]) for first in range(0, len(cohort.others), MOST_IN))
        asked = (self._query(cohort).where(filter=FieldFilter(path, "in", texts)) for texts in several)
        return active.count <= sum(self._counted(query, active.at).count for query in asked)

    def page(self, cohort: Cohort, after: str, upto: str) -> list[Subscriber]:
        """A page of subscribers with ids after `after` and up to `upto` (empty: to the end)."""
        with ledger_errors("read users"):
            found = self._between(cohort, after, upto).limit(PAGE).stream(**call())
            return [_subscriber(snapshot, cohort.mailing) for snapshot in found]

    def split(self, cohort: Cohort, after: str, parts: int) -> list[str]:
        """Ids that divide what comes after `after` into up to so many parts, of like size if the ids are of like kind.

        Found by skipping along the ids from one head (the first few characters) to the next, at one read each: the
        shortest heads of which there are enough, and not too many.
        """
        firsts: list[str] = []
        for length in self._lengths(cohort, after):
            longer = list(islice(self._firsts(cohort, after, length), MOST_HEADS * parts + 1))
            if firsts and len(longer) > MOST_HEADS * parts:
                break
            firsts = longer
            if len(firsts) >= ENOUGH_HEADS * parts:
                break
        borders = sorted({len(firsts) * part // parts for part in range(1, parts)} - {0})
        return [firsts[border] for border in borders]

    def covered_until(self, user_id: str, mailing: str) -> datetime | None:
        """The end of the last period that this user has a digest of; one read. One who cannot be asked for has none."""
        if not ids.can_be_asked_for(user_id):
            return None
        query = self._client.collection(DELIVERIES).where(filter=FieldFilter("user_id", "==", user_id))
        query = query.where(filter=FieldFilter("mailing", "==", mailing))
        newest = query.order_by("period_end", direction=firestore.Query.DESCENDING).limit(1)
        with ledger_errors("read the last digest"):
            for snapshot in newest.stream(**call()):
                end: datetime = (snapshot.to_dict() or {})["period_end"]
                return end
        return None

    def _counted(self, query: firestore.Query, at: datetime | None) -> Counted:
        """How many there are, now or at that time, and as of when that is."""
        with ledger_errors("count users"):
            results = query.count().get(read_time=at, **call())
        return Counted(count_of(results), counted_at(results))

    def _lengths(self, cohort: Cohort, after: str) -> range:
        """The lengths of heads to try: from the shortest on in which the ids differ, found by bisection."""
        first = self._first(cohort, after) or ""
        differing = bisect_left(
            range(1, len(first)), True, key=lambda length: self._first(cohort, first[:length] + BEYOND) is not None
        )
        return range(differing + 1, differing + 1 + MOST_LENGTHS)

    def _firsts(self, cohort: Cohort, after: str, length: int) -> Iterator[str]:
        """The first id with each head of this length."""
        while (found := self._first(cohort, after)) is not None:
            yield found
            after = found[:length] + BEYOND

    def _first(self, cohort: Cohort, after: str) -> str | None:
        with ledger_errors("read ids"):
            return next((snapshot.id for snapshot in self._between(cohort, after, "").limit(1).stream(**call())), None)

    def _between(self, cohort: Cohort, after: str, upto: str) -> firestore.Query:
        query = self._query(cohort).order_by("__name__")
        if after:
            query = query.where(filter=FieldFilter("__name__", ">", self._users.document(after)))
        if upto:
            query = query.where(filter=FieldFilter("__name__", "<=", self._users.document(upto)))
        return query

    def _query(self, cohort: Cohort) -> firestore.Query:
        query = self._users.where(filter=FieldFilter(self._path(cohort.mailing, "active"), "==", True))
        if cohort.schedule is not None:
            query = query.where(filter=FieldFilter(self._path(cohort.mailing, "schedule"), "==", cohort.schedule))
        if cohort.topic is not None:
            topics = self._path(cohort.mailing, "topics")
            query = query.where(filter=FieldFilter(topics, "array_contains", cohort.topic))
        return query

    def _path(self, mailing: str, name: str) -> str:
        path: str = self._client.field_path("mailings", mailing, name)
        return path


def without_schedule(subscribers: Sequence[Subscriber]) -> list[Subscriber]:
    """Those who have none of their own, and so the mailing's."""
    return [subscriber for subscriber in subscribers if not subscriber.schedule]


def _after_all_with(head: str) -> str | None:
    """The least text after all that begin with this head; None when there is none."""
    head = head.rstrip(BEYOND)
    if not head:
        return None
    following = ord(head[-1]) + 1
    return head[:-1] + chr(AFTER_SURROGATES if following == SURROGATES else following)


def _subscriber(snapshot: Snapshot, mailing: str) -> Subscriber:
    preferences = preferences_of(snapshot.to_dict(), mailing)
    since, schedule, resumed_at = (preferences.get(name) for name in ("since", "schedule", "resumed_at"))
    return Subscriber(
        user_id=snapshot.id,
        created_at=moment(snapshot.create_time),
        since=since if isinstance(since, datetime) else None,
        schedule=schedule if isinstance(schedule, str) and len(schedule) <= MAX_CHARS else None,
        resumed_at=resumed_at if isinstance(resumed_at, datetime) else None,
    )
