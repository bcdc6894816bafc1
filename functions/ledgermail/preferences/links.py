"""The link in every mail by which its reader unsubscribes or changes what comes: signed, and valid as long as its key is.

It names a user and a mailing and nothing else, and cannot be made by anybody without the key. It never expires: a mail is
read, and a provider's one-click button pressed, years after it came.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ledgermail.errors import ConfigurationError, InvalidToken

if TYPE_CHECKING:
    from itsdangerous import URLSafeSerializer

FUNCTION = "preferences"  # that the link leads to, and the purpose that keeps its signature apart from any other
TOKEN_CHARS = 4000  # longer ones are not looked at: the longest user id that Firestore holds makes a shorter one


@dataclass(frozen=True)
class Subscription:
    """Whose link it is, and from which mailing."""

    user_id: str
    mailing: str


@dataclass(frozen=True, kw_only=True)
class Links:
    """Makes and reads links. Raises ConfigurationError without a key: anybody could make one then."""

    function_url: str  # has the placeholder {function}
    keys: Sequence[str]  # the newest first: it signs, and all of them are valid

    def __post_init__(self) -> None:
        if not self.keys or not all(self.keys):
            raise ConfigurationError(["LEDGERMAIL_TOKEN_KEY: is missing"])

    def url(self, user_id: str, mailing: str) -> str:
        """The link of a user and a mailing, the same each time: ASCII, with nothing that HTML or a header would escape."""
        base = self.function_url.replace("{function}", FUNCTION)
        path = "" if urlsplit(base).path else "/"
        return f"{base}{path}?token={self._serializer.dumps([user_id, mailing])}"

    def read(self, token: str) -> Subscription:
        """Whose link a token is from. Raises InvalidToken for one that we have not signed with any of the keys."""
        from itsdangerous import BadData

        try:
            content = self._serializer.loads(token) if len(token) <= TOKEN_CHARS else None
        except (BadData, UnicodeError) as error:
            raise InvalidToken("token: is not signed by us") from error
        if not isinstance(content, list) or len(content) != 2 or not all(isinstance(part, str) for part in content):
            raise InvalidToken("token: does not name a user and a mailing")
        return Subscription(*content)

    @cached_property
    def _serializer(self) -> "URLSafeSerializer":
        from itsdangerous import URLSafeSerializer

        how = {"key_derivation": "hmac", "digest_method": hashlib.sha256}
        return URLSafeSerializer(list(reversed(self.keys)), salt=FUNCTION, signer_kwargs=how)
