"""What SendGrid's v3 Mail Send refuses, as a table of rules: a body goes in, its ``errors`` list comes out.

The wording is the service's own where a public report or its error page shows it
(https://www.twilio.com/docs/sendgrid/api-reference/mail-send/errors and issues of the sendgrid libraries).
Names with ``;`` or ``,`` and line breaks in subject and headers are refused by the documentation without a quoted
message: there the wording is ours, in the same manner.
"""

import base64
import json
from collections.abc import Callable, Iterator
from typing import Literal, cast

from email_validator import EmailNotValidError, validate_email

from emulator.inbox.shapes import Address, Personalization, Problem, SendBody, misfits

MOST_PERSONALIZATIONS = 1000
MOST_RECIPIENTS = 1000  # to, cc and bcc of the whole request
MOST_CUSTOM_ARG_BYTES = 10_000  # per personalization, the global ones included
MOST_CATEGORIES = 10
LONGEST_CATEGORY = 255  # characters
RESERVED_HEADERS = frozenset(
    {"x-sg-id", "x-sg-eid", "received", "dkim-signature", "content-type", "content-transfer-encoding"}
    | {"to", "from", "subject", "reply-to", "cc", "bcc"}
)
_PAGE = "http://sendgrid.com/docs/API_Reference/Web_API_v3/Mail/errors.html#"
_EXAMPLE = '{"email" : "example@example.com"}  or {"email" : "example@example.com", "name" : "Example Recipient"}.'
_Recipients = Literal["to", "cc", "bcc"]
_KINDS: tuple[_Recipients, ...] = ("to", "cc", "bcc")


def problems(body: object) -> list[Problem]:
    """Every reason to answer 400 to this parsed JSON body, in the order of the rules; empty when it is accepted."""
    wrong_types = misfits(body)
    if wrong_types:
        return wrong_types
    message = cast("SendBody", body)
    return [problem for rule in RULES for problem in rule(message)]


def sender_problem(body: SendBody, verified: frozenset[str]) -> Problem | None:
    """The reason to answer 403: the from address is neither a verified address nor of a verified domain."""
    email = body["from"]["email"].lower()
    if email in verified or email.rpartition("@")[2] in verified:
        return None
    return Problem(
        "The from address does not match a verified Sender Identity. Mail cannot be sent until this error is resolved. "
        "Visit https://sendgrid.com/docs/for-developers/sending-email/sender-identity/ to see the Sender Identity "
        "requirements",
        "from",
    )


def _from(body: SendBody) -> Iterator[Problem]:
    sender = body.get("from", {})
    if not sender.get("email"):
        yield _problem(
            "The from object must be provided for every email send. It is an object that requires the email parameter, "
            f"but may also contain a name parameter.  e.g. {_EXAMPLE}",
            "from.email",
            "from",
        )
    elif not is_address(sender["email"]):
        yield _problem("The from email does not contain a valid address.", "from.email", "from")


def _reply_to(body: SendBody) -> Iterator[Problem]:
    if "reply_to" in body and not is_address(body["reply_to"].get("email", "")):
        yield _problem("The reply_to email does not contain a valid address.", "reply_to.email", "reply_to")
    for index, address in enumerate(body.get("reply_to_list", [])):
        if not is_address(address.get("email", "")):
            field = f"reply_to_list.{index}.email"
            yield _problem("The reply_to_list email does not contain a valid address.", field, "reply_to_list")


def _personalizations(body: SendBody) -> Iterator[Problem]:
    count = len(body.get("personalizations", []))
    if count == 0:
        message = "The personalizations field is required and must have at least one personalization."
        yield Problem(message, "personalizations", f"{_PAGE}-Personalizations-Errors")
    if count > MOST_PERSONALIZATIONS:
        yield _problem(
            "The personalization block is limited to 1000 personalizations per API request. You have provided "
            f"{count} personalizations. Please consider splitting this into multiple requests and resending your "
            "request.",
            "personalizations",
        )


def _recipients(body: SendBody) -> Iterator[Problem]:
    total = 0
    for field, envelope in _envelopes(body):
        if not envelope.get("to"):
            yield _problem(
                "The to array is required for all personalization objects, and must have at least one email object "
                "with a valid email address.",
                f"{field}.to",
                "personalizations.to",
            )
        for kind in _KINDS:
            addresses = envelope.get(kind, [])
            total += len(addresses)
            for index, address in enumerate(addresses):
                yield from _recipient(address, f"{field}.{kind}.{index}", kind)
    if total > MOST_RECIPIENTS:
        message = "There is a limit of 1000 total recipients (to + cc + bcc) per request."
        yield _problem(message, "personalizations", "recipient-errors")


def _recipient(address: Address, field: str, kind: _Recipients) -> Iterator[Problem]:
    if not is_address(address.get("email", "")):
        yield _problem("Does not contain a valid address.", f"{field}.email", f"personalizations.{kind}")
    if set(address.get("name", "")) & set(";,\r\n"):
        message = f"The {kind} name cannot contain ';', ',' or CRLF characters."
        yield _problem(message, f"{field}.name", f"personalizations.{kind}")


def _unique_recipients(body: SendBody) -> Iterator[Problem]:
    for field, envelope in _envelopes(body):
        seen: set[str] = set()
        everyone = [(kind, address.get("email", "")) for kind in _KINDS for address in envelope.get(kind, [])]
        for kind, email in everyone:
            if email.lower() in seen:
                yield _problem(
                    "Each email address in the personalization block should be unique between to, cc, and bcc. We "
                    f"found the first duplicate instance of [{email}] in the {field}.{kind} field.",
                    field,
                    "recipient-errors",
                )
                break
            seen.add(email.lower())


def _subject(body: SendBody) -> Iterator[Problem]:
    envelopes = body.get("personalizations", [])
    own_subjects = bool(envelopes) and all(envelope.get("subject") for envelope in envelopes)
    if not (body.get("subject") or body.get("template_id") or own_subjects):
        yield _problem(
            "The subject is required. You can get around this requirement if you use a template with a subject "
            "defined or if every personalization has a subject defined.",
            "subject",
        )
    places = [("subject", body.get("subject", ""))]
    places += [(f"{field}.subject", envelope.get("subject", "")) for field, envelope in _envelopes(body)]
    for field, subject in places:
        if _breaks_line(subject):
            yield _problem("The subject cannot contain CRLF characters.", field, "subject")


def _content(body: SendBody) -> Iterator[Problem]:
    if not body.get("content") and not body.get("template_id"):
        yield _problem(
            "Unless a valid template_id is provided, the content parameter is required. There must be at least one "
            "defined content block. We typically suggest both text/plain and text/html blocks are included, but only "
            "one block is required.",
            "content",
        )
    for index, block in enumerate(body.get("content", [])):
        if not block.get("value"):
            message = "The content value must be a string at least one character in length."
            yield _problem(message, f"content.{index}.value", "content.value")
        if not block.get("type"):
            message = "Your content type must be a string with length of at least one character."
            yield _problem(message, f"content.{index}.type", "content.type")
        elif ";" in block["type"] or _breaks_line(block["type"]):
            yield _problem("Cannot contain ';', or CRLF characters.", f"content.{index}.type", "content.type")


def _content_order(body: SendBody) -> Iterator[Problem]:
    rank = {"text/plain": 0, "text/html": 1}
    types = [block.get("type", "").lower() for block in body.get("content", [])]
    if types != sorted(types, key=lambda kind: rank.get(kind, 2)):
        yield _problem(
            "Following RFC 1341, section 7.2, if either text/html or text/plain are to be sent in your email: "
            "text/plain needs to be first, followed by text/html, followed by any other content.",
            "content",
            "content.value",
        )
    if any(types.count(kind) > 1 for kind in rank):
        yield Problem("If present, text/plain and text/html may only be provided once.", "content")


def _attachments(body: SendBody) -> Iterator[Problem]:
    for index, attachment in enumerate(body.get("attachments", [])):
        field = f"attachments.{index}"
        if not attachment.get("content"):
            message = "The attachment content must be a string at least one character in length."
            yield _problem(message, f"{field}.content", "attachments.content")
        elif not is_base64(attachment["content"]):
            message = "The attachment content must be base64 encoded."
            yield _problem(message, f"{field}.content", "attachments.content")
        if not attachment.get("filename"):
            yield _problem("filename is required.", f"{field}.filename", "attachments.filename")
        elif _breaks_line(attachment["filename"]):
            message = "The filename of your attachment cannot contain CRLF characters."
            yield _problem(message, f"{field}.filename", "attachments.filename")


def _headers(body: SendBody) -> Iterator[Problem]:
    places = [("headers", body.get("headers", {}))]
    places += [(f"{field}.headers", envelope.get("headers", {})) for field, envelope in _envelopes(body)]
    for field, name, value in ((field, name, value) for field, headers in places for name, value in headers.items()):
        if name.lower() in RESERVED_HEADERS:
            yield _problem("Header cannot be one of the reserved keys.", f"{field}.{name}", "headers")
        if not name.isascii() or not name.isprintable() or not name or set(name) & set(" :"):
            message = "Header keys cannot contain non-ASCII characters or empty spaces."
            yield _problem(message, f"{field}.{name}", "headers")
        if _breaks_line(value):
            yield _problem("The header values cannot contain CRLF characters.", f"{field}.{name}", "headers")


def _custom_args(body: SendBody) -> Iterator[Problem]:
    for field, envelope in _envelopes(body):
        together = {**body.get("custom_args", {}), **envelope.get("custom_args", {})}
        if len(json.dumps(together, ensure_ascii=False, separators=(",", ":")).encode()) > MOST_CUSTOM_ARG_BYTES:
            yield _problem(
                "The combined size of both global and personalization custom arguments may not exceed 10,000 bytes "
                "per personalization.",
                f"{field}.custom_args",
                "personalizations.custom_args",
            )


def _categories(body: SendBody) -> Iterator[Problem]:
    categories = body.get("categories", [])
    if len(categories) > MOST_CATEGORIES:
        message = "There is a limit of 10 categories for each email that is sent. You provided "
        yield _problem(f"{message}{len(categories)} categories.", "categories")
    for category in categories:
        if len(category) > LONGEST_CATEGORY:
            message = f"Each category must not be longer than 255 characters. {category} exceeds this limit"
            yield _problem(message, "categories")


RULES: tuple[Callable[[SendBody], Iterator[Problem]], ...] = (
    _from,
    _reply_to,
    _personalizations,
    _recipients,
    _unique_recipients,
    _subject,
    _content,
    _content_order,
    _attachments,
    _headers,
    _custom_args,
    _categories,
)


def _problem(message: str, field: str, anchor: str | None = None) -> Problem:
    """A problem whose help links to an anchor of the error page: the field itself unless another is named."""
    return Problem(message, field, f"{_PAGE}message.{anchor or field}")


def _envelopes(body: SendBody) -> Iterator[tuple[str, Personalization]]:
    for index, envelope in enumerate(body.get("personalizations", [])):
        yield f"personalizations.{index}", envelope


def _breaks_line(text: str) -> bool:
    return "\r" in text or "\n" in text


def is_address(email: str) -> bool:
    """Syntax only, ASCII only: unicode is documented as refused in from, and nowhere documented as accepted.

    Stricter than the service in one point: domains nobody can own (localhost, .invalid) are refused, .test is not.
    """
    try:
        validate_email(email, check_deliverability=False, allow_smtputf8=False, test_environment=True)
    except EmailNotValidError:
        return False
    return email.isascii() and "." in email.rpartition("@")[2]


def is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except ValueError:
        return False
    return True
