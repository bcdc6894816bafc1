"""Why there is no delivery, in one plain sentence. Pure: what was found in its place goes in, words come out."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from ledgermail.mailing import Mailing, Source
from ledgermail.planning.run import State
from ledgermail.planning.schedules import Due
from ledgermail.preferences.chosen import preferences_of, wants
from ledgermail.support.explain import Explained, Why
from ledgermail.support.wording import occasion_in_words, outlook, when, zone_of

LOOKED_BACK_EVERY = timedelta(hours=1)
SETTLED = timedelta(seconds=1)  # what is committed this long after its matched_at may lie behind the scan's cursor


@dataclass(frozen=True)
class Person:
    """The recipient: the document (None: there is none), and when it was created."""

    user_id: str
    document: Mapping[str, Any] | None
    created_at: datetime | None

    @property
    def zone(self) -> ZoneInfo:
        """Their time zone."""
        return zone_of((self.document or {}).get("timezone"))

    def preferences(self, mailing: str) -> Mapping[str, Any]:
        """What they have chosen of a mailing."""
        return preferences_of(self.document, mailing)

    def since(self, mailing: str) -> datetime | None:
        """When that was last changed, if it is on record."""
        since = self.preferences(mailing).get("since")
        return since if isinstance(since, datetime) and since.tzinfo else None


@dataclass(frozen=True, kw_only=True)
class NoAlert:
    """An alert that is not there: the match of its job, when that was committed, and how far the scan has read."""

    mailing: Mailing
    person: Person
    job_id: str
    matched_at: datetime | None = None  # None: there is no match
    problem: str = ""  # why the match is none
    committed_at: datetime | None = None
    scanned_to: datetime | None = None  # the cursor; None: nothing was scanned yet

    def why(self, now: datetime) -> Explained:
        """The reason, from the most certain to the least."""
        person, mailing, at = self.person, self.mailing, self.matched_at
        subject = f'"{mailing.title}" about {self.job_id} for {person.user_id}'
        if self.problem:
            return Explained(Why.INVALID_MATCH, f"No: {subject} is not owed: its match cannot be read: {self.problem}.")
        if at is None:
            kept = _span(mailing.policy.least_kept)
            nothing = f"no match of that job for them is there, and nothing was mailed of it in the last {kept}"
            return Explained(Why.NOT_MATCHED, f"No: {subject} is not owed: {nothing}.")
        found = when(at, person.zone)
        late = self.committed_at is not None and self.committed_at - at > SETTLED
        old = f"No: {subject} is not owed: its match is of {found}"
        if late and self.committed_at and self.committed_at - at > mailing.max_age:
            written = when(self.committed_at, person.zone)
            return Explained(Why.TOO_OLD, f"{old}, and was too old when it was written on {written}.")
        if now - at > mailing.policy.least_kept:
            return Explained(
                Why.PRUNED, f"Nobody knows any more: {subject} was matched on {found}; {_forgotten(mailing)}."
            )
        if person.document is not None and not wants(person.document, mailing.name):
            return Explained(Why.NOT_WANTED, f"No: {subject} is not owed: {_unwanted(person, mailing)}.")
        if now - at > mailing.max_age:
            return Explained(Why.TOO_OLD, f"{old}, and nothing is sent of what is older than {_span(mailing.max_age)}.")
        return self._unplanned(subject, found, at, late, now)

    def _unplanned(self, subject: str, found: str, at: datetime, late: bool, now: datetime) -> Explained:
        person = self.person
        if self.scanned_to is None or at > self.scanned_to:
            upto = f"has read up to {when(self.scanned_to, person.zone)}" if self.scanned_to else "has read nothing yet"
            return Explained(Why.NOT_SCANNED, f"Not yet: {subject} was matched on {found}; the scan {upto}.")
        since = person.since(self.mailing.name)
        if since is not None and since > at:
            changed = f"they changed what they want on {when(since, person.zone)}, and did not want it before"
            return Explained(Why.NOT_WANTED, f"No: {subject} is not owed: when it was matched on {found}, {changed}.")
        if late:
            answer = "No" if now - at > self.mailing.look_back + LOOKED_BACK_EVERY else "Not yet"
            words = f"{answer}: {subject} was matched on {found}, but written so late that the scan had read past it"
            back = _span(self.mailing.look_back)
            return Explained(Why.PASSED_OVER, f"{words}; the hourly look-back finds what is less than {back} old.")
        words = "and the scan has read past it without planning it: they did not want it then"
        return Explained(Why.NOT_WANTED, f"No: {subject} was matched on {found}, {words}.")


@dataclass(frozen=True, kw_only=True)
class NoMail:
    """A digest or a report that is not there: when it was due, its run, and what else the person has of the mailing."""

    mailing: Mailing
    person: Person
    occasion: str  # what it would be about
    topic: str | None  # of a report
    due: Due | None  # None: nothing is due then
    next_due: datetime | None = None  # after now
    run: Mapping[str, Any] | None = None  # its document; None: there is none
    published: bool = True  # whether a report has a version for it
    covered_until: datetime | None = None  # the end of the last period that they have a delivery of

    @property
    def chosen(self) -> bool:
        """Whether the topic is one that they have chosen; what is no report has none to choose."""
        topics = self.person.preferences(self.mailing.name).get("topics")
        return self.mailing.source is not Source.REPORT or (isinstance(topics, list) and self.topic in topics)

    @property
    def wanted(self) -> bool:
        """Whether they want it now."""
        return self.chosen and wants(self.person.document, self.mailing.name)

    def why(self, now: datetime) -> Explained:
        """The reason, from the most certain to the least."""
        person, mailing = self.person, self.mailing
        if person.document is None:
            return Explained(Why.NO_USER, f"No: there is no user {person.user_id}.")
        coming = self.next_due if self.wanted else None  # who does not want it is not told of one to come
        following = f"; the next one is due on {when(coming, person.zone)}" if coming else ""
        if self.due is None:
            return self._told(Why.NOTHING_DUE, "No", f"was never due: their schedule has nothing then{following}")
        if self.due.at > now:
            if not self.wanted:
                return self._told(
                    Why.NOT_WANTED, "No", f"will not be sent: {_unwanted(person, mailing, chosen=self.chosen)}"
                )
            due = when(self.due.at, person.zone)
            return self._told(Why.NOT_YET_DUE, "Not yet", f"is due on {due}{self._outlook()}")
        told = self._without_run(self.due.at, now) if self.run is None else self._outside(self.run, self.due.at, now)
        return Explained(told.why, f"{told.sentence.rstrip('.')}{following}.")

    def _without_run(self, due: datetime, now: datetime) -> Explained:
        person, mailing, was_due = self.person, self.mailing, f"was due on {when(due, self.person.zone)}"
        since = person.since(mailing.name)
        if not self.wanted:
            return self._told(
                Why.NOT_WANTED, "No", f"was not planned: {_unwanted(person, mailing, chosen=self.chosen)}"
            )
        if now - due > mailing.policy.least_kept:
            return self._told(Why.PRUNED, "Nobody knows any more", f"{was_due}; {_forgotten(mailing)}")
        if person.created_at is not None and person.created_at > due:
            joined = when(person.created_at, person.zone)
            return self._told(Why.JOINED_LATER, "No", f"{was_due}, and they were there only since {joined}")
        if not self.published:
            return self._unpublished(was_due, over=now - due > mailing.catch_up)
        if since is not None and since > due:
            changed = when(since, person.zone)
            return self._told(Why.JOINED_LATER, "No", f"{was_due}, and they set this schedule only on {changed}")
        if now - due > mailing.catch_up:
            return self._told(Why.MISSED, "No", f"{was_due}, and no run was made within {_span(mailing.catch_up)}")
        return self._told(
            Why.NOT_PLANNED, "Not yet", f"{was_due}, and the next planning will open its run{self._outlook()}"
        )

    def _outside(self, run: Mapping[str, Any], due: datetime, now: datetime) -> Explained:
        """There is a run, and they are not in it."""
        person, mailing, was_due = self.person, self.mailing, f"was due on {when(due, self.person.zone)}"
        as_of, since = run.get("as_of") or due, person.since(self.mailing.name)
        fixed = f"after who is in its run had been fixed on {when(as_of, person.zone)}"
        if run.get("state") == State.MISSED:
            if not self.published:
                return self._unpublished(was_due, over=True)
            late = f"{was_due}, and missed: planning came more than {_span(mailing.catch_up)} late"
            return self._told(Why.MISSED, "No", late)
        if person.created_at is not None and person.created_at > as_of:
            return self._told(Why.JOINED_LATER, "No", f"is without them: they joined {fixed}")
        if since is not None and since > as_of:
            why = Why.JOINED_LATER if self.wanted else Why.NOT_WANTED
            return self._told(why, "No", f"is without them: they changed what they want {fixed}")
        if not self.wanted:
            return self._told(
                Why.NOT_WANTED, "No", f"is without them: {_unwanted(person, mailing, chosen=self.chosen)}"
            )
        if run.get("state") == State.PLANNING:
            return self._told(Why.PLANNING, "Not yet", f"{was_due}, and its run is still being planned")
        if self.covered_until is not None and self.covered_until >= due:
            until = when(self.covered_until, person.zone)
            return self._told(Why.COVERED, "No", f"is not owed: they have one that covers the time up to {until}")
        if run.get("pruned") and now - due > mailing.policy.least_kept:
            return self._told(Why.PRUNED, "Nobody knows any more", f"{was_due}; {_forgotten(mailing)}")
        return self._told(
            Why.NOT_WANTED, "No", "was planned without them: they did not want it, or not like this, then"
        )

    def _unpublished(self, was_due: str, *, over: bool) -> Explained:
        words = f"{was_due}, and no report was published for it"
        return self._told(Why.UNPUBLISHED, "No" if over else "Not yet", f"{words} in time" if over else words)

    def _outlook(self) -> str:
        words = outlook(self.person.document, self.mailing.name)
        return f"; {words}" if words else ""

    def _told(self, why: Why, answer: str, words: str) -> Explained:
        title = f'"{self.mailing.title}" of {occasion_in_words(self.occasion)} for {self.person.user_id}'
        return Explained(why, f"{answer}: {title} {words}.")


def _forgotten(mailing: Mailing) -> str:
    return f"what became of it is kept for {_span(mailing.policy.least_kept)}, and then pruned"


def _unwanted(person: Person, mailing: Mailing, *, chosen: bool = True) -> str:
    """That they do not want it, or not this topic; and since when, if that is known."""
    since = person.since(mailing.name)
    known = f", by what they set on {when(since, person.zone)}" if since else ""
    return (
        f"they have this mailing switched off{known}" if chosen else f"it is of no topic that they have chosen{known}"
    )


def _span(span: timedelta) -> str:
    """A duration in whole days or hours, or minutes."""
    for unit, name in ((timedelta(days=1), "day"), (timedelta(hours=1), "hour")):
        if span >= unit and not span % unit:
            count = span // unit
            return f"{count} {name}{'s' if count > 1 else ''}"
    return f"{span // timedelta(minutes=1)} minutes"
