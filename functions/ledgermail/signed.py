"""Tokens that nobody makes without the key, each for one purpose.

Of several keys the newest signs and all are valid, so that a key can be changed while tokens by the old one are still about.
"""

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from ledgermail.errors import ConfigurationError, InvalidToken
from ledgermail.settings import PREFIX

if TYPE_CHECKING:
    from itsdangerous import URLSafeSerializer


class Signer:
    """Signs JSON with the keys of one setting, the newest first. Without one anybody could: ConfigurationError."""

    def __init__(self, setting: str, keys: Sequence[str], purpose: str) -> None:
        """`purpose` keeps a signature apart from those by the same key for anything else."""
        if not keys or not all(keys):
            raise ConfigurationError([f"{PREFIX}{setting}: is missing"])
        self._keys = keys
        self._purpose = purpose

    def sign(self, content: object) -> str:
        """The token of this content, the same each time: ASCII, with nothing that HTML, a URL or a header would escape."""
        return str(self._serializer.dumps(content))

    def read(self, token: str) -> object:
        """The content of a token. Raises InvalidToken for one that we have not signed with any of the keys."""
        from itsdangerous import BadData

        try:
            content: object = self._serializer.loads(token)
        except (BadData, UnicodeError) as error:
            raise InvalidToken("token: is not signed by us") from error
        return content

    @cached_property
    def _serializer(self) -> "URLSafeSerializer":
        from itsdangerous import URLSafeSerializer

        how = {"key_derivation": "hmac", "digest_method": hashlib.sha256}
        return URLSafeSerializer(list(reversed(self._keys)), salt=self._purpose, signer_kwargs=how)
