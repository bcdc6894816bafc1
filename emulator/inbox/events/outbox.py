"""The events that are still to be posted: when each is due, which go out together, which come again."""

import threading
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from random import Random

from emulator.clock import Clock
from emulator.inbox.events.happening import Happened
from emulator.inbox.events.plan import EventPlan
from emulator.inbox.events.waiting import Posting, Waiting

MOST_WAITING = 200_000  # postings; what comes beyond is not posted, but counted
TRIED_FOR = timedelta(hours=24)


@dataclass(frozen=True)
class Batch:
    """What goes out in one post."""

    postings: list[Posting]
    url: str
    new_ids: bool
    log: object  # the log it belongs to: after a clear() nothing of it comes again


@dataclass
class Counts:
    """What was counted since the last clear(), in events but for ``posts`` and ``failed_posts``."""

    happened: int = 0
    lost: int = 0
    posted: int = 0
    posts: int = 0
    failed_posts: int = 0
    given_up: int = 0  # not taken within a day, or until there was no URL any more
    overflowed: int = 0
    last_failure: str = ""


class Outbox:
    """All events of this server, safe to use from many threads."""

    def __init__(self, clock: Clock) -> None:
        self._changed = threading.Condition()
        self._clock = clock
        self._random = Random(0)
        self._waiting = Waiting()
        self._under_way = 0
        self._log: defaultdict[str, list[Happened]] = defaultdict(list)
        self._counts = Counts()
        self._closed = False
        self.plan = EventPlan()

    def use(self, plan: EventPlan) -> None:
        """Let ``plan`` decide from now on. Without a URL what waits is dropped."""
        with self._changed:
            self.plan, self._random = plan, Random(plan.seed)
            if plan.url is None:
                self._waiting.clear()
            self._changed.notify_all()

    def put(self, happened: Iterable[Happened]) -> None:
        """Let these events be posted, unless they are lost, as often and as late as the plan says."""
        with self._changed:
            told = []
            for one in happened:
                self._log[one.mail_id].append(one)
                self._counts.happened += 1
                self._counts.lost += one.lost
                told += [] if one.lost else [one]
            postings = [Posting(one, one.at + self._delay()) for _ in range(self.plan.copies) for one in told]
            room = max(MOST_WAITING - len(self._waiting), 0)
            self._counts.overflowed += len(postings[room:])
            for posting in postings[:room]:
                self._waiting.put(posting)
            self._changed.notify_all()

    def take(self) -> Batch | None:
        """The next batch, as soon as something is due; None when the server ends. Each must be given back by done()."""
        with self._changed:
            while not self._closed:
                if self.plan.url and self._under_way < self.plan.at_once and (postings := self._due()):
                    self._under_way += 1
                    return Batch(postings, self.plan.url, self.plan.new_ids, self._log)
                self._changed.wait(self._seconds_to_next())
            return None

    def done(self, batch: Batch, failure: str | None) -> None:
        """A batch was posted: answered with 2xx (None), or it failed and comes again later."""
        with self._changed:
            self._under_way -= 1
            if batch.log is self._log:
                self._note(batch, failure)
            self._changed.notify_all()

    def wake(self) -> None:
        """The clock was moved: look again at what is due."""
        with self._changed:
            self._changed.notify_all()

    def flush(self) -> None:
        """Everything that waits is due now."""
        with self._changed:
            self._waiting.hurry()
            self._changed.notify_all()

    def settled(self, timeout: float) -> bool:
        """Wait until nothing is due and nothing under way; False when that takes longer than ``timeout`` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self._closed or self._is_settled(), timeout)

    def of(self, mail_id: str) -> list[Happened]:
        """What happened to a mail, in that order."""
        with self._changed:
            return list(self._log.get(mail_id, ()))

    def stats(self) -> dict[str, object]:
        """The counts, and how many postings wait."""
        with self._changed:
            return {**vars(self._counts), "waiting": len(self._waiting), "under_way": self._under_way}

    def clear(self) -> None:
        """Forget every event and every count; the plan stays."""
        with self._changed:
            self._waiting.clear()
            self._log, self._counts = defaultdict(list), Counts()
            self._changed.notify_all()

    def close(self) -> None:
        """Let everybody who waits here go."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _due(self) -> list[Posting]:
        return self._waiting.take(self.plan.batch, self._clock.now(), self._random if self.plan.shuffle else None)

    def _note(self, batch: Batch, failure: str | None) -> None:
        self._counts.posts += 1
        if failure is None:
            self._counts.posted += len(batch.postings)
            for posting in batch.postings:
                posting.happened.posted += 1
            return
        self._counts.failed_posts += 1
        self._counts.last_failure = failure
        for posting in batch.postings:
            posting.happened.failed += 1
            self._put_off(posting)

    def _put_off(self, posting: Posting) -> None:
        due = self._clock.now() + timedelta(seconds=self.plan.retry_seconds * 2**posting.tries)
        if self.plan.url is None or due > posting.happened.at + TRIED_FOR:
            self._counts.given_up += 1
        else:
            self._waiting.put(Posting(posting.happened, due, posting.tries + 1))

    def _delay(self) -> timedelta:
        return timedelta(seconds=self._random.uniform(0, self.plan.delay_seconds))

    def _is_settled(self) -> bool:
        now = self._clock.now()
        due = self._waiting.next_due(now)
        return self._under_way == 0 and (due is None or due > now)

    def _seconds_to_next(self) -> float | None:
        """Until the next posting is due; None when there is none, or no place for another post."""
        now = self._clock.now()
        due = self._waiting.next_due(now)
        if due is None or self._under_way >= self.plan.at_once:
            return None
        return max((due - now).total_seconds(), 0)
