"""The link in every mail by which its reader unsubscribes or changes what comes: signed, and valid as long as its key is.

It names a user and a mailing and nothing else, and cannot be made by anybody without the key. It never expires: a mail is
read, and a provider's one-click button pressed, years after it came.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from ledgermail.errors import InvalidToken
from ledgermail.signed import Signer

FUNCTION = "preferences"  # that the link leads to, and the purpose that keeps its signature apart from any other
TOKEN_CHARS = 4000  # longer ones are not looked at: the longest user id that Firestore holds makes a shorter one


@dataclass(frozen=True)
class Subscription:
    """Whose link it is, and from which mailing."""

    user_id: str
    mailing: str


class Links:
    """Makes and reads links."""

    def __init__(self, *, function_url: str, keys: Sequence[str]) -> None:
        """`function_url` has the placeholder {function}. Raises ConfigurationError without a key."""
        base = function_url.replace("{function}", FUNCTION)
        self._page = base if urlsplit(base).path else f"{base}/"
        self._signer = Signer("TOKEN_KEY", keys, FUNCTION)

    def url(self, user_id: str, mailing: str) -> str:
        """The link of a user and a mailing, the same each time: ASCII, with nothing that HTML or a header would escape."""
        return f"{self._page}?token={self._signer.sign([user_id, mailing])}"

    def read(self, token: str) -> Subscription:
        """Whose link a token is from. Raises InvalidToken for one that we have not signed with any of the keys."""
        content = self._signer.read(token) if len(token) <= TOKEN_CHARS else None
        if not isinstance(content, list) or len(content) != 2 or not all(isinstance(part, str) for part in content):
            raise InvalidToken("token: does not name a user and a mailing")
        return Subscription(*content)
