"""What the local SendGrid refuses: one row a rule, each a valid body with one thing changed."""

import base64
import copy
from collections.abc import Callable
from typing import Any, cast

import pytest

from emulator.inbox.shapes import Problem, SendBody, misfits
from emulator.inbox.validation import RESERVED_HEADERS, RULES, problems, sender_problem

Body = dict[str, Any]
Change = Callable[[Body], object]
HELP = "http://sendgrid.com/docs/API_Reference/Web_API_v3/Mail/errors.html#"

VALID: Body = {
    "from": {"email": "jobs@example.com", "name": "Jobs; daily, weekly"},
    "personalizations": [{"to": [{"email": "Ann@Mail.org", "name": "Ann"}]}],
    "subject": "A new job",
    "content": [{"type": "text/plain", "value": "text"}, {"type": "text/html", "value": "<p>html</p>"}],
    "custom_args": {"delivery_id": "u_j"},
    "headers": {"Message-ID": "<u_j@example.com>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click"},
}


def changed(change: Change) -> Body:
    body = copy.deepcopy(VALID)
    change(body)
    return body


def first(body: Body) -> Body:
    """The first personalization."""
    envelope: Body = body["personalizations"][0]
    return envelope


def recipients(count: int) -> list[dict[str, str]]:
    return [{"email": f"u{number}@mail.org"} for number in range(count)]


REFUSED: list[tuple[str, Change, str | None, str]] = [
    ("no from", lambda b: b.pop("from"), "from.email", "The from object must be provided"),
    ("empty from", lambda b: b["from"].update(email=""), "from.email", "The from object must be provided"),
    ("from not an address", lambda b: b["from"].update(email="jobs"), "from.email", "does not contain a valid address"),
    (
        "unicode in from",
        lambda b: b["from"].update(email="jöbs@example.com"),
        "from.email",
        "does not contain a valid address",
    ),
    (
        "unicode domain in from",
        lambda b: b["from"].update(email="jobs@exämple.com"),
        "from.email",
        "does not contain a valid address",
    ),
    ("bad reply_to", lambda b: b.update(reply_to={"email": "no"}), "reply_to.email", "reply_to email does not contain"),
    ("bad reply_to_list", lambda b: b.update(reply_to_list=[{}]), "reply_to_list.0.email", "does not contain a valid"),
    ("no personalizations", lambda b: b.pop("personalizations"), "personalizations", "must have at least one"),
    ("empty personalizations", lambda b: b.update(personalizations=[]), "personalizations", "must have at least one"),
    ("no to", lambda b: first(b).pop("to"), "personalizations.0.to", "The to array is required"),
    ("empty to", lambda b: first(b).update(to=[]), "personalizations.0.to", "The to array is required"),
    (
        "only bcc",
        lambda b: b["personalizations"].append({"bcc": recipients(1)}),
        "personalizations.1.to",
        "The to array is required",
    ),
    (
        "invalid recipient",
        lambda b: first(b).update(to=[{"email": "no address"}]),
        "personalizations.0.to.0.email",
        "Does not contain a valid address.",
    ),
    (
        "recipient without email",
        lambda b: first(b).update(cc=[{"name": "Ann"}]),
        "personalizations.0.cc.0.email",
        "Does not contain a valid address.",
    ),
    (
        "recipient without a dot",
        lambda b: first(b).update(to=[{"email": "ann@localhost"}]),
        "personalizations.0.to.0.email",
        "Does not contain a valid address.",
    ),
    (
        "comma in name",
        lambda b: first(b).update(to=[{"email": "a@mail.org", "name": "Lee, Ann"}]),
        "personalizations.0.to.0.name",
        "';', ','",
    ),
    (
        "semicolon in name",
        lambda b: first(b).update(bcc=[{"email": "a@mail.org", "name": "a;b"}]),
        "personalizations.0.bcc.0.name",
        "';', ','",
    ),
    (
        "same address, other case",
        lambda b: first(b).update(cc=[{"email": "ANN@mail.ORG"}]),
        "personalizations.0",
        "first duplicate instance of [ANN@mail.ORG] in the personalizations.0.cc field",
    ),
    (
        "same address in to",
        lambda b: first(b).update(to=recipients(1) * 2),
        "personalizations.0",
        "in the personalizations.0.to field",
    ),
    ("no subject", lambda b: b.pop("subject"), "subject", "The subject is required"),
    ("empty subject", lambda b: b.update(subject=""), "subject", "The subject is required"),
    ("LF in subject", lambda b: b.update(subject="a\nBcc: x@mail.org"), "subject", "cannot contain CRLF"),
    ("CR in own subject", lambda b: first(b).update(subject="a\rb"), "personalizations.0.subject", "cannot contain"),
    ("no content", lambda b: b.pop("content"), "content", "the content parameter is required"),
    ("empty content", lambda b: b.update(content=[]), "content", "the content parameter is required"),
    ("empty text", lambda b: b["content"][0].update(value=""), "content.0.value", "at least one character in length"),
    ("no value", lambda b: b["content"][1].pop("value"), "content.1.value", "at least one character in length"),
    ("no type", lambda b: b["content"].append({"value": "x"}), "content.2.type", "Your content type must be"),
    (
        "charset in type",
        lambda b: b["content"].append({"type": "text/calendar; charset=utf-8", "value": "x"}),
        "content.2.type",
        "Cannot contain ';'",
    ),
    ("html first", lambda b: b["content"].reverse(), "content", "text/plain needs to be first"),
    (
        "calendar before html",
        lambda b: b["content"].insert(1, {"type": "text/calendar", "value": "x"}),
        "content",
        "text/plain needs to be first",
    ),
    ("two texts", lambda b: b["content"].insert(0, b["content"][0]), "content", "may only be provided once"),
    (
        "attachment not base64",
        lambda b: b.update(attachments=[{"content": "NOT_BASE64", "filename": "a.csv"}]),
        "attachments.0.content",
        "must be base64 encoded",
    ),
    (
        "empty attachment",
        lambda b: b.update(attachments=[{"content": "", "filename": "a.csv"}]),
        "attachments.0.content",
        "at least one character",
    ),
    (
        "nameless attachment",
        lambda b: b.update(attachments=[{"content": "YQ=="}]),
        "attachments.0.filename",
        "filename is required",
    ),
    (
        "CRLF in filename",
        lambda b: b.update(attachments=[{"content": "YQ==", "filename": "a\r\nb"}]),
        "attachments.0.filename",
        "cannot contain CRLF",
    ),
    ("space in header name", lambda b: b["headers"].update({"X Y": "1"}), "headers.X Y", "empty spaces"),
    ("unicode in header name", lambda b: b["headers"].update({"X-Ü": "1"}), "headers.X-Ü", "non-ASCII"),
    ("LF in header", lambda b: b["headers"].update({"X-A": "1\nBcc: x@mail.org"}), "headers.X-A", "CRLF"),
    (
        "CRLF in own header",
        lambda b: first(b).update(headers={"X-A": "1\r\nX-B: 2"}),
        "personalizations.0.headers.X-A",
        "CRLF",
    ),
    (
        "large custom args",
        lambda b: b["custom_args"].update(blob="x" * 10_000),
        "personalizations.0.custom_args",
        "10,000 bytes",
    ),
    (
        "large custom args in bytes",
        lambda b: b["custom_args"].update(blob="ü" * 5_000),
        "personalizations.0.custom_args",
        "10,000 bytes",
    ),
    (
        "large custom args together",
        lambda b: (b["custom_args"].update(a="x" * 5_000), first(b).update(custom_args={"b": "x" * 5_000})),
        "personalizations.0.custom_args",
        "10,000 bytes",
    ),
    ("eleven categories", lambda b: b.update(categories=list("abcdefghijk")), "categories", "You provided 11"),
    ("long category", lambda b: b.update(categories=["x" * 256]), "categories", "255 characters"),
    ("from a list", lambda b: b.update({"from": []}), "from", "Expected: object, given: array."),
    ("subject a number", lambda b: b.update(subject=7), "subject", "Expected: string, given: integer."),
    ("subject null", lambda b: b.update(subject=None), "subject", "Expected: string, given: null."),
    ("to an object", lambda b: first(b).update(to={}), "personalizations.0.to", "Expected: array, given: object."),
    ("number in custom args", lambda b: b["custom_args"].update(job=7), None, "Bad Request"),
    ("custom args a list", lambda b: b.update(custom_args=[]), None, "Bad Request"),
    ("number in own custom args", lambda b: first(b).update(custom_args={"job": 7}), None, "Bad Request"),
    ("number in headers", lambda b: b["headers"].update({"X-Job": 7}), None, "Bad Request"),
    ("flag in own headers", lambda b: first(b).update(headers={"X-Job": True}), None, "Bad Request"),
]


@pytest.mark.parametrize(("change", "field", "message"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_a_broken_rule_is_named_with_its_field_and_nothing_else_is(
    change: Change, field: str | None, message: str
) -> None:
    found = problems(changed(change))
    assert [problem.field for problem in found] == [field]
    assert message in found[0].message


def test_every_rule_has_a_row() -> None:
    bodies = [cast("SendBody", body) for body in (changed(row[1]) for row in REFUSED) if not misfits(body)]
    assert {rule for body in bodies for rule in RULES if list(rule(body))} == set(RULES)


ACCEPTED: list[tuple[str, Change]] = [
    ("as it is", lambda b: b),
    ("text only", lambda b: b["content"].pop()),
    ("html only", lambda b: b["content"].pop(0)),
    ("a calendar last", lambda b: b["content"].append({"type": "text/calendar", "value": "x"})),
    ("subjects of their own", lambda b: (b.pop("subject"), first(b).update(subject="mine"))),
    ("a template instead", lambda b: (b.pop("subject"), b.pop("content"), b.update(template_id="d-1"))),
    ("the same address in two envelopes", lambda b: b["personalizations"].append({"to": [{"email": "ann@mail.org"}]})),
    ("a thousand recipients", lambda b: b.update(personalizations=[{"to": recipients(1000)}])),
    ("a thousand personalizations", lambda b: b.update(personalizations=[{"to": [a]} for a in recipients(1000)])),
    ("custom args of 10,000 bytes", lambda b: b.update(custom_args={"a": "x" * (10_000 - len('{"a":""}'))})),
    ("unicode subject", lambda b: b.update(subject="Привет, Zoë 🎉")),
    ("an xn-- recipient", lambda b: first(b).update(to=[{"email": "ann@xn--exmple-cua.com"}])),
    ("a test domain", lambda b: first(b).update(to=[{"email": "ann+jobs@mail.test"}])),
    ("scheduled", lambda b: b.update(send_at=1, batch_id="x", asm={"group_id": 1})),
    ("an attachment", lambda b: b.update(attachments=[{"content": base64.b64encode(b"a").decode(), "filename": "a"}])),
]


@pytest.mark.parametrize("change", [row[1] for row in ACCEPTED], ids=[row[0] for row in ACCEPTED])
def test_what_the_service_takes_is_taken(change: Change) -> None:
    assert problems(changed(change)) == []


@pytest.mark.parametrize("name", sorted(RESERVED_HEADERS))
def test_a_reserved_header_is_refused_in_any_case(name: str) -> None:
    [problem] = problems(changed(lambda b: b["headers"].update({name.title(): "x"})))
    assert problem.message == "Header cannot be one of the reserved keys."


def test_a_thousand_and_one_is_too_many() -> None:
    [alone] = problems(changed(lambda b: b.update(personalizations=[{"to": recipients(1001)}])))
    assert "limit of 1000 total recipients" in alone.message
    both = problems(changed(lambda b: b.update(personalizations=[{"to": [a]} for a in recipients(1001)])))
    assert "You have provided 1001 personalizations." in both[0].message


@pytest.mark.parametrize("body", [[], None, "text", 7])
def test_a_body_that_is_no_object_is_refused(body: object) -> None:
    assert "Expected: object" in problems(body)[0].message


def test_all_problems_of_a_body_are_named_at_once_each_with_its_help() -> None:
    assert [(problem.field, problem.help) for problem in problems({})] == [
        ("from.email", f"{HELP}message.from"),
        ("personalizations", f"{HELP}-Personalizations-Errors"),
        ("subject", f"{HELP}message.subject"),
        ("content", f"{HELP}message.content"),
    ]


@pytest.mark.parametrize(
    ("sender", "accepted"),
    [
        ("a@example.com", True),
        ("A@EXAMPLE.com", True),
        ("me@else.org", True),
        ("you@else.org", False),
        ("a@sub.example.com", False),
        ("a@notexample.com", False),
    ],
)
def test_only_a_verified_address_or_domain_may_send(sender: str, accepted: bool) -> None:
    body = cast("SendBody", changed(lambda b: b["from"].update(email=sender)))
    found = sender_problem(body, frozenset({"example.com", "me@else.org"}))
    assert (found is None) is accepted
    assert accepted or (isinstance(found, Problem) and "verified Sender Identity" in found.message)
