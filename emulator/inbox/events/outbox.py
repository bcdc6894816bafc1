"""The events that are still to be posted: when each is due, which go out together, which come again."""

import threading
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from emulator.clock import Clock
from emulator.inbox.events.happening import Happened
from emulator.inbox.events.plan import EventPlan

MOST_WAITING = 200_000  # postings; what comes beyond is not posted, but counted
TRIED_FOR = timedelta(hours=24)


@dataclass
class Posting:
    """One event that is to be posted once."""

    happened: Happened
    due: datetime
    tries: int = 0


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
    given_up: int = 0  # not taken within a day
    overflowed: int = 0
    last_failure: str = ""


class Outbox:
    """All events of this server, safe to use from many threads."""

    def __init__(self, clock: Clock) -> None:
        self._changed = threading.Condition()
        self._clock = clock
        self._random = Random(0)
        self._waiting: list[Posting] = []
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
            self._waiting += postings[:room]
            self._changed.notify_all()

    def take(self) -> Batch | None:
        """The next batch, as soon as something is due; None when the server ends. Each must be given back by done()."""
        with self._changed:
            while not self._closed:
                if self._under_way < self.plan.at_once and (postings := self._due()):
                    self._under_way += 1
                    return Batch(postings, self.plan.url or "", self.plan.new_ids, self._log)
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
            now = self._clock.now()
            for posting in self._waiting:
                posting.due = min(posting.due, now)
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
        """Take what is due, up to a batch. An event and its copy never share one."""
        now, chosen, left = self._clock.now(), dict[int, Posting](), list[Posting]()
        if self.plan.shuffle:
            self._random.shuffle(self._waiting)
        else:
            self._waiting.sort(key=lambda posting: posting.due)
        for posting in self._waiting:
            fits = posting.due <= now and len(chosen) < self.plan.batch and id(posting.happened) not in chosen
            if fits:
                chosen[id(posting.happened)] = posting
            else:
                left.append(posting)
        self._waiting = left
        return list(chosen.values())

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
        posting.due = self._clock.now() + timedelta(seconds=self.plan.retry_seconds * 2**posting.tries)
        posting.tries += 1
        if posting.due > posting.happened.at + TRIED_FOR:
            self._counts.given_up += 1
        else:
            self._waiting.append(posting)

    def _delay(self) -> timedelta:
        return timedelta(seconds=self._random.uniform(0, self.plan.delay_seconds))

    def _is_settled(self) -> bool:
        now = self._clock.now()
        return self._under_way == 0 and not any(posting.due <= now for posting in self._waiting)

    def _seconds_to_next(self) -> float | None:
        """Until the next posting is due; None when there is none, or no place for another post."""
        if not self._waiting or self._under_way >= self.plan.at_once:
            return None
        return max((min(posting.due for posting in self._waiting) - self._clock.now()).total_seconds(), 0)
