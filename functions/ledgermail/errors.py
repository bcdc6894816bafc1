"""Everything this package raises on purpose.

    LedgermailError
    ├── ConfigurationError   what was declared cannot keep the promise; lists every problem found
    ├── InvalidId            a user, job or run id that cannot become part of a document id
    ├── InvalidToken         a token, of a link or a form, that we have not signed
    ├── InvalidForm          submitted preferences that make no sense; what is wrong, by field
    ├── InvalidDocument      a document without a field that it must have, or with one that makes no sense
    ├── NewerSchema          a document written by a newer version: not ours to touch
    ├── ContentError         the items or the template of one delivery cannot become a mail
    │   └── ContentChanged   what was frozen is not what is there now
    ├── WrongStatus          a transition asked of a status it does not start from: a fault of ours
    ├── ClaimLost            somebody else holds the delivery, or has finished it
    ├── FenceLost            another scan has moved the cursor: this one must stop
    └── LedgerUnavailable    Firestore did not answer; nothing is known to be wrong with the delivery

None is a ValueError: google-cloud-firestore raises bare ValueErrors for trouble of its own.
"""

from collections.abc import Mapping, Sequence


class LedgermailError(Exception):
    """The root: catch it to catch all of ours."""


class ConfigurationError(LedgermailError):
    """What was declared cannot keep the promise; `problems` has one line per setting, each naming it."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems)


class InvalidId(LedgermailError):
    """An id that cannot become part of a document id; the message names the field."""


class InvalidToken(LedgermailError):
    """A token that was not made by us, or was changed since."""


class InvalidForm(LedgermailError):
    """What somebody has submitted makes no sense; `problems` says what is wrong, by field."""

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{name}: {what}" for name, what in problems.items()))
        self.problems = dict(problems)


class InvalidDocument(LedgermailError):
    """A document that cannot be read as what it should be; the message names the field."""


class NewerSchema(LedgermailError):
    """A delivery with a schema_version above ours: left for the newer worker."""


class ContentError(LedgermailError):
    """A mail that cannot be made from its items and templates; the message names the template or item."""

    category = "content"  # of the delivery's failure


class ContentChanged(ContentError):
    """The items are not those whose hash was frozen: somebody has changed what must not change."""

    category = "content_changed"


class WrongStatus(LedgermailError):
    """A transition was asked of a status that it does not start from."""


class ClaimLost(LedgermailError):
    """The delivery is held, or was finished, under another claim."""


class FenceLost(LedgermailError):
    """Another scan has moved the cursor since ours was read."""


class LedgerUnavailable(LedgermailError):
    """Firestore gave no usable answer in time."""
