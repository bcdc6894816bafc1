"""Events as SendGrid's reference shows them (Twilio's "Event Webhook Reference"), made from mails. No I/O."""

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from emulator.inbox.events.plan import EventPlan, Fate
from emulator.inbox.faults import picked, share_of
from emulator.inbox.mails import Mail

DROP_REASONS = (
    "Bounced Address",
    "Unsubscribed Address",
    "Spam Reporting Address",
    "Invalid",
    "Spam Content",
    "Recipient List over Package Quota",
)
Fields = Mapping[str, object]
_PROCESSED: Fields = {"event": "processed"}
_DELIVERED: Fields = {"event": "delivered", "response": "250 OK", "tls": 1}
_AGENT: Fields = {"useragent": "Mozilla/5.0 (local)", "ip": "192.0.2.1"}
_ENDINGS: Mapping[Fate, tuple[Fields, ...]] = {
    Fate.DELIVERED: (),
    Fate.DEFERRED: ({"event": "deferred", "response": "451 4.7.1 Try again later", "attempt": "1"},),
    Fate.BOUNCE: (
        {
            "event": "bounce",
            "type": "bounce",
            "status": "5.1.1",
            "reason": "550 5.1.1 The email account that you tried to reach does not exist.",
            "bounce_classification": "Invalid Address",
        },
    ),
    Fate.BLOCKED: (
        {
            "event": "bounce",
            "type": "blocked",
            "status": "5.7.1",
            "reason": "550 5.7.1 Message blocked by the receiver's policy.",
            "bounce_classification": "Reputation",
        },
    ),
    Fate.DROPPED: ({"event": "dropped", "reason": DROP_REASONS[0], "status": "5.0.0"},),
    Fate.SPAMREPORT: ({"event": "spamreport"},),
    Fate.OPEN: ({"event": "open", "sg_machine_open": False, **_AGENT},),
    Fate.CLICK: (
        {"event": "open", "sg_machine_open": False, **_AGENT},
        {"event": "click", "url": "https://jobs.example/", "url_offset": {"index": 0, "type": "html"}, **_AGENT},
    ),
    Fate.UNSUBSCRIBE: ({"event": "unsubscribe"},),
    Fate.SILENT: (),
}
_USUAL: Mapping[str, Fields] = {
    str(fields["event"]): fields
    for ending in ((_PROCESSED, _DELIVERED), *reversed(list(_ENDINGS.values())))
    for fields in ending
}


@dataclass
class Happened:
    """One event, and what became of telling it. Its body is the JSON object that is posted."""

    mail_id: str
    body: Fields
    at: datetime
    lost: bool = False  # never to be posted
    posted: int = 0
    failed: int = 0  # posts that were not answered with 2xx


def happenings(mails: Iterable[Mail], plan: EventPlan, now: datetime) -> list[Happened]:
    """What becomes of these mails at all their recipients, in the order in which it happens. Without a URL, nothing."""
    if plan.url is None:
        return []
    return [
        _happened(mail, person["email"], fields, plan, now)
        for mail in mails
        for person in mail.recipients
        for fields in _story(mail, person["email"], plan)
    ]


def ordered(mail: Mail | None, wanted: Fields, now: datetime) -> Happened:
    """An event somebody wants to see: as it usually looks for this mail (None: for none), except where ``wanted`` differs."""
    usual = _USUAL.get(str(wanted["event"]), {})
    if mail is None:
        return Happened("", {"timestamp": int(now.timestamp()), **usual, **wanted}, now)
    email = str(wanted.get("email", mail.to[0]["email"]))
    return Happened(mail.id, _body(mail, email, {**usual, **wanted}, now, number=now.isoformat()), now)


def fate_of(mail: Mail, email: str, plan: EventPlan) -> Fate:
    """What becomes of a mail at one recipient: always the same for the same plan."""
    named = email.partition("@")[0].partition("+")[0].lower()
    if named in list(Fate):
        return Fate(named)
    return picked(Fate, plan.rates, share_of(f"{plan.seed}:{_name(mail, email)}")) or Fate.DELIVERED


def _story(mail: Mail, email: str, plan: EventPlan) -> tuple[Fields, ...]:
    fate = fate_of(mail, email, plan)
    match fate:
        case Fate.SILENT:
            return ()
        case Fate.DROPPED:
            share = share_of(f"{plan.seed}:reason:{_name(mail, email)}")
            return ({**_ENDINGS[fate][0], "reason": DROP_REASONS[int(share * len(DROP_REASONS))]},)
        case Fate.BOUNCE | Fate.BLOCKED:
            return (_PROCESSED, *_ENDINGS[fate])
        case Fate.DEFERRED:
            return (_PROCESSED, *_ENDINGS[fate], _DELIVERED)
        case _:
            return (_PROCESSED, _DELIVERED, *_ENDINGS[fate])


def _happened(mail: Mail, email: str, fields: Fields, plan: EventPlan, now: datetime) -> Happened:
    name = f"{_name(mail, email)}:{fields['event']}"
    bare = share_of(f"{plan.seed}:bare:{name}") < plan.bare
    lost = share_of(f"{plan.seed}:loss:{name}") < plan.loss
    return Happened(mail.id, _body(mail, email, fields, now, bare=bare), now, lost=lost)


def _body(mail: Mail, email: str, fields: Fields, now: datetime, *, bare: bool = False, number: str = "0") -> Fields:
    """The keys of the service itself win over custom arguments of the same name."""
    index = mail.id.rpartition(".")[2]
    message_id = f"{mail.message_id}.recvd-local-6c9f7d8b5-x2x5z-1-{index}.0"
    event_id = base64.urlsafe_b64encode(f"{fields['event']}-{number}-{email}-{message_id}".encode()).decode()
    return {
        **({} if bare else mail.custom_args),
        "email": email,
        "timestamp": int(now.timestamp()),
        "smtp-id": mail.header("Message-ID") or f"<{mail.message_id}@geopod-ismtpd-local>",
        "sg_event_id": event_id.rstrip("="),
        "sg_message_id": message_id,
        **fields,
    }


def _name(mail: Mail, email: str) -> str:
    """What makes this mail at this recipient the same one in another run."""
    return f"{mail.delivery_id or mail.subject}:{mail.copy}:{email}"
