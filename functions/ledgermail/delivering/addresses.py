"""Addresses of people: which of them mail can carry, and when two of them are the same. Pure; nothing is looked up."""

import re

# Addresses in lower case that need no second look: what this takes, email_validator takes as it stands (a property test
# holds them together), but for the names below, which IANA has set aside.
PLAIN = re.compile(
    r"[a-z0-9_+-]{1,20}(\.[a-z0-9_+-]{1,20}){0,2}@([a-z0-9](-?[a-z0-9]){0,20}\.){1,3}[a-z]{2,24}", re.ASCII
)
SPECIAL = (".arpa", ".invalid", ".local", ".localhost", ".onion", ".test")


def usable_address(email: object) -> str | None:
    """The address as mail can carry it (its domain in ASCII), or None: missing, malformed, or with a non-ASCII local part,
    which SendGrid does not take. Nothing is looked up.
    """
    if not isinstance(email, str):
        return None
    if PLAIN.fullmatch(email) and not email.endswith(SPECIAL):
        return email
    from email_validator import EmailNotValidError, validate_email  # takes 5 % of a cold start to import

    try:
        return validate_email(email, check_deliverability=False).ascii_email
    except EmailNotValidError:
        return None


def spellings(email: str) -> set[str]:
    """How somebody's document may spell this address: as it stands, in small letters, with its domain in ASCII or not."""
    known = {email, email.lower()}
    if PLAIN.fullmatch(email.lower()):
        return known
    from email_validator import EmailNotValidError, validate_email

    try:
        read = validate_email(email, check_deliverability=False)
    except EmailNotValidError:
        return known
    return known | {read.normalized, read.normalized.lower(), *filter(None, [read.ascii_email])}


def same_address(one: object, other: str) -> bool:
    """Whether both name one mailbox: in any case, and however the domain is written (the provider tells it in ASCII)."""
    return isinstance(one, str) and _as_told(one) == _as_told(other)


def _as_told(email: str) -> str:
    return (usable_address(email.strip()) or email.strip()).lower()
