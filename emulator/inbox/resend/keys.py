"""Idempotency keys: which request each one stood for, whether it is under way, and what it was answered, for a day."""

import threading
from dataclasses import dataclass
from datetime import datetime, timedelta

from emulator.inbox.resend.refusals import BAD_IDEMPOTENCY_KEY, IN_PROGRESS, OTHER_PAYLOAD, Refused

LONGEST_KEY = 256  # characters
KEPT = timedelta(hours=24)


@dataclass
class _Use:
    payload: str
    until: datetime
    mail_id: str | None = None  # None: under way


class Keys:
    """All keys in use, safe to use from many threads. Without a key (None) every request is a new one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._uses: dict[str, _Use] = {}

    def claim(self, key: str | None, payload: str, now: datetime) -> str | None:
        """Begin a request: None when it is a new one, or what the same request was answered before.

        Raises Refused where the key cannot be used, stood for another payload, or is under way.
        """
        if key is None:
            return None
        if not 1 <= len(key) <= LONGEST_KEY:
            raise Refused(BAD_IDEMPOTENCY_KEY)
        with self._lock:
            known = self._uses.get(key)
            if known is None or known.until <= now:
                self._uses[key] = _Use(payload, now + KEPT)
                return None
            if known.payload != payload:
                raise Refused(OTHER_PAYLOAD)
            if known.mail_id is None:
                raise Refused(IN_PROGRESS)
            return known.mail_id

    def settle(self, key: str | None, mail_id: str) -> None:
        """The mail was taken: from now on this is the answer to the key."""
        with self._lock:
            if key in self._uses:
                self._uses[key].mail_id = mail_id

    def release(self, key: str | None) -> None:
        """The request is over. Where no mail was taken the key is free again."""
        with self._lock:
            if key in self._uses and self._uses[key].mail_id is None:
                del self._uses[key]

    def clear(self) -> None:
        """Forget every key."""
        with self._lock:
            self._uses.clear()
