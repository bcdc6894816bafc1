"""One question about a recipient and a subject: what is read to answer it, and what that costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from ledgermail.delivering.gate import Gate
from ledgermail.errors import InvalidDocument, InvalidId, NewerSchema
from ledgermail.ledger import ids
from ledgermail.ledger.delivery import Delivery
from ledgermail.ledger.ledger import USERS, stored
from ledgermail.mailing import Mailing, Source
from ledgermail.planning.book import RUNS
from ledgermail.planning.matches import of_job
from ledgermail.planning.page import read_matches
from ledgermail.planning.run import State
from ledgermail.status.bill import Bill
from ledgermail.store import Snapshot, call, ledger_errors, moment
from ledgermail.support.absence import NoAlert, NoMail, Person
from ledgermail.support.explain import Explained, Why, explain
from ledgermail.support.history import Moment, history
from ledgermail.support.subject import Asked, Named, asked, named, next_due
from ledgermail.support.wording import when

if TYPE_CHECKING:
    from ledgermail.support.why import Enquiries

MOST_ALERTS = 20  # a person's newest deliveries, among which an alert of a day is looked for
NO_TIME = "matched_at: must be a timestamp"
MOST_MATCHES = 10  # of one job for one person, of which the newest counts
WELL = frozenset({Why.ACCEPTED, Why.DELIVERED})


@dataclass(frozen=True)
class Answer:
    """The answer to one question: in one word, one sentence, and the steps of the delivery, if there is one.

    `zone` names the time zone of the sentence; `reads` is what the question cost.
    """

    why: Why
    sentence: str
    user_id: str
    zone: str
    reads: int
    delivery: Delivery | None = None
    history: tuple[Moment, ...] = ()


@dataclass(frozen=True)
class Told:
    """What was found of one thing that was asked about."""

    explained: Explained
    delivery: Delivery | None = None
    history: tuple[Moment, ...] = ()
    before: bool = False  # it is not what was asked for, but the one before it


@dataclass
class Question:
    """One question under way, and what it has cost."""

    parts: "Enquiries"
    now: datetime
    bill: Bill = field(default_factory=Bill)

    def of(self, delivery_id: str) -> Answer:
        """What became of a delivery. Raises InvalidId."""
        found = self.parts.ledger.find(delivery_id)
        self.bill.one()
        self.bill.one()
        person = Person((found.document.to_dict() or {}).get("user_id", ""), found.user, None)
        if not found.document.exists:
            told = f"Nobody knows: there is no delivery {delivery_id}; if there was one, it was pruned."
            return self._answer(person, [Told(Explained(Why.PRUNED, told))])
        return self._answer(person, [self._explained(found.document, person)])

    def ask(self, who: str, subject: str) -> Answer:
        """What became of a subject for somebody, or why there is nothing."""
        people = self._people(who)
        if len(people) > 1:
            names = ", ".join(person.user_id for person in people)
            told = f"Which one? {len(people)} users have this address: {names}."
            return self._answer(Person("", None, None), [Told(Explained(Why.SEVERAL_USERS, told))])
        about = named(subject, self.parts.mailings)
        try:
            return self._answer(people[0], self._told(people[0], subject, about))
        except InvalidId as error:
            return self._answer(people[0], [Told(Explained(Why.NOT_A_SUBJECT, f"That cannot be asked: {error}."))])

    def _told(self, person: Person, subject: str, about: Named | None) -> list[Told]:
        if not ids.can_be_asked_for(person.user_id):
            return [Told(_no_user(person))]
        if about is None:
            return [self._job(person, subject)]
        return [self._newest_alert(person, about)] if about.mailing.schedule is None else self._mails(person, about)

    def _job(self, person: Person, subject: str) -> Told:
        """An alert, by its job or by its delivery's id."""
        mine = f"{ids.encode_part(person.user_id, 'user_id')}_"
        named_so = [subject] if subject.startswith(mine) and ids.DELIVERY_ID.fullmatch(subject) else []
        for document in self._documents([*named_so, ids.delivery_id(person.user_id, subject)]):
            if document.exists:
                return self._explained(document, person)
        alerts = [mailing for mailing in self.parts.mailings.values() if mailing.schedule is None]
        if not alerts:
            names = ", ".join(self.parts.mailings)
            return Told(Explained(Why.NOT_A_SUBJECT, f"That is none of the mailings, which are {names}: {subject}."))
        return Told(self._no_alert(alerts[0], person, subject))

    def _no_alert(self, mailing: Mailing, person: Person, job_id: str) -> Explained:
        matches = self.bill.documents(of_job(self.parts.client, person.user_id, job_id, MOST_MATCHES))
        found = [one for one in matches if (one.to_dict() or {}).get("job_id") == job_id]
        if not found:
            if person.document is None:
                return _no_user(person)
            return NoAlert(mailing=mailing, person=person, job_id=job_id).why(self.now)
        timed = [(at, one) for one in found if isinstance(at := (one.to_dict() or {}).get("matched_at"), datetime)]
        if not timed:
            return NoAlert(mailing=mailing, person=person, job_id=job_id, problem=NO_TIME).why(self.now)
        at, newest = max(timed, key=lambda pair: pair[0])
        _, invalid = read_matches([(newest.id, newest.to_dict() or {})])
        self.bill.one()
        return NoAlert(
            mailing=mailing,
            person=person,
            job_id=job_id,
            matched_at=at,
            problem=invalid[0][1] if invalid else "",
            committed_at=moment(newest.create_time),
            scanned_to=self.parts.books.read(f"scan:{mailing.name}").at,
        ).why(self.now)

    def _newest_alert(self, person: Person, about: Named) -> Told:
        """The newest alert, or that of a day."""
        recent = self.bill.documents(self.parts.ledger.newest_of(person.user_id, MOST_ALERTS))
        run_key = ids.run_key(about.mailing.name, about.day[:10]) if about.day else ""
        mine = [one for one in recent if one.mailing == about.mailing.name and one.run_key == (run_key or one.run_key)]
        if mine:
            return self._of(mine[0], person)
        if person.document is None:
            return Told(_no_user(person))
        among = f" among their newest {MOST_ALERTS} deliveries" if len(recent) == MOST_ALERTS else ""
        day = f" on {about.day[:10]}" if about.day else ""
        words = f'No: nothing of "{about.mailing.title}" was planned for {person.user_id}{day}{among}.'
        return Told(Explained(Why.NOT_MATCHED, words))

    def _mails(self, person: Person, about: Named) -> list[Told]:
        """A digest, or the reports of each of the person's topics: the last that were due, or those of a date."""
        wanted = asked(about, person, self.now)
        if about.day:
            return self._of_occasions(person, about, wanted)
        newest = self._newest(person, about, len(wanted))
        due = max((one.due.at for one in wanted if one.due), default=self.now)
        current = {one.topic: one for one in newest if one.period_end and one.period_end >= due}
        others = [one for one in wanted if one.topic not in current]
        told = [self._of(current[one.topic], person) for one in wanted if one.topic in current]
        if about.mailing.source is Source.REPORT:  # the newest may be of topics that they have chosen no more
            told += self._of_occasions(person, about, others)
        else:
            told += [self._no_mail(person, about, one) for one in others]
        if newest and not current and not any(one.delivery for one in told):
            told.append(Told(self._of(newest[0], person).explained, before=True))
        return told

    def _of_occasions(self, person: Person, about: Named, wanted: Sequence[Asked]) -> list[Told]:
        """Those whose deliveries have exactly these ids."""
        if not wanted:
            return []
        documents = self._documents([ids.run_delivery_id(person.user_id, one.occasion) for one in wanted])
        found = zip(wanted, documents, strict=True)
        return [self._explained(d, person) if d.exists else self._no_mail(person, about, one) for one, d in found]

    def _no_mail(self, person: Person, about: Named, one: Asked) -> Told:
        if person.document is None:
            return Told(_no_user(person))
        run: Mapping[str, Any] | None = None
        published, covered_until = True, None
        if one.due is not None and one.due.at <= self.now:
            run = self._run(one.run_key)
            if one.topic and (run is None or run.get("state") == State.MISSED):
                published = self._is_published(one, min(self.now, one.due.at + about.mailing.catch_up))
            elif run is not None and about.mailing.source is Source.MATCHES:
                newest = self._newest(person, about, 1)
                covered_until = newest[0].period_end if newest else None
        missing = NoMail(
            mailing=about.mailing,
            person=person,
            occasion=one.occasion,
            topic=one.topic,
            due=one.due,
            next_due=next_due(about.mailing, person, self.now),
            run=run,
            published=published,
            covered_until=covered_until,
        )
        return Told(missing.why(self.now))

    def _is_published(self, one: Asked, until: datetime) -> bool:
        """Whether a report has a version for this run, and not the one that the run before it has taken."""
        assert one.topic is not None
        assert one.period_start is not None
        version = self.parts.reports.newest(one.topic, one.period_start, until)
        self.bill.one()
        return version is not None and version != (self._run(one.before_key) or {}).get("version")

    def _run(self, run_key: str) -> Mapping[str, Any] | None:
        with ledger_errors("read a run"):
            run: Mapping[str, Any] | None = self.parts.client.collection(RUNS).document(run_key).get(**call()).to_dict()
        self.bill.one()
        return run

    def _people(self, who: str) -> list[Person]:
        """The users that are meant, of whom there may be several with one address; one without a document if none is."""
        person = self._person(who)
        if person.document is not None or "@" not in who:
            return [person]
        found = self.bill.documents(self.parts.suppressions.of_address(who.strip()))
        return [self._person(user_id) for user_id in found] or [person]

    def _person(self, user_id: str) -> Person:
        try:
            key = ids.user_key(user_id)
        except InvalidId:  # not one that anybody could have
            return Person(user_id, None, None)
        with ledger_errors("read a user"):
            snapshot = self.parts.client.collection(USERS).document(key).get(**call())
        self.bill.one()
        document = snapshot.to_dict()
        return Person(user_id, document, None if document is None else moment(snapshot.create_time))

    def _documents(self, delivery_ids: Sequence[str]) -> list[Snapshot]:
        return self.bill.documents(self.parts.ledger.documents(list(dict.fromkeys(delivery_ids))))

    def _newest(self, person: Person, about: Named, limit: int) -> list[Delivery]:
        return self.bill.documents(self.parts.ledger.newest_periods(person.user_id, about.mailing.name, limit))

    def _explained(self, document: Snapshot, person: Person) -> Told:
        try:
            delivery = stored(document).delivery
        except (InvalidDocument, NewerSchema) as problem:
            words = f"Nobody knows: the delivery {document.id} cannot be read: {problem}."
            return Told(Explained(Why.UNREADABLE, words))
        return self._of(delivery, person)

    def _of(self, delivery: Delivery, person: Person) -> Told:
        acts = self.bill.documents(self.parts.audits.newest(delivery_id=delivery.id))
        mailing, held = self.parts.mailings.get(delivery.mailing), ""
        if delivery.unfinished:
            held = held_back(self.parts.gates.read(), person, self.now)
            self.bill.one()
        told = explain(delivery, user=person.document, mailing=mailing, acts=acts, held=held, now=self.now)
        return Told(told, delivery, tuple(history(delivery, acts)))

    def _answer(self, person: Person, told: Sequence[Told]) -> Answer:
        """One answer of all that was found; its word, and its delivery, are those of the first that is not well."""
        first = next((one for one in told if one.explained.why not in WELL), told[0])
        sentences = [f"{'Before that: ' if one.before else ''}{one.explained.sentence}" for one in told]
        return Answer(
            why=first.explained.why,
            sentence=" ".join(sentences),
            user_id=person.user_id,
            zone=person.zone.key,
            reads=self.bill.reads,
            delivery=first.delivery,
            history=first.history,
        )


def held_back(gate: Gate, person: Person, now: datetime) -> str:
    """Why no mail goes out at all, in words; empty when it does."""
    if gate.paused:
        return "all mail is held back: an operator has paused it"
    if gate.open_until is not None and now < gate.open_until:
        until = when(gate.open_until, person.zone)
        return f"all mail is held back until {until}: {gate.reason or 'the provider asked for it'}"
    return ""


def _no_user(person: Person) -> Explained:
    return Explained(Why.NO_USER, f"No: there is no user {person.user_id}, and no such mail of theirs is kept.")
