"""A document's versions of the last hour, and the keys of their fields."""

from bisect import bisect_right
from datetime import UTC, datetime

from emulator.firestore import fields
from emulator.firestore.messages import Message, Timestamp
from emulator.firestore.paths import NAME_PATH, DocumentName, FieldPath
from emulator.firestore.values import Key, name_key, sort_key


class Version:
    """A document as one commit left it; never changed afterwards. ``document`` None: it was deleted."""

    __slots__ = ("_keys", "at", "document")

    def __init__(self, at: datetime, document: Message | None) -> None:
        self.at = at
        self.document = document
        self._keys: dict[FieldPath, Key | None] = {}

    def key(self, path: FieldPath) -> Key | None:
        """Return the key of the field's value, None when there is no such field. Only for a living version."""
        try:
            return self._keys[path]
        except KeyError:
            key = self._keys[path] = self._find(path)
            return key

    def _find(self, path: FieldPath) -> Key | None:
        assert self.document is not None
        if path == NAME_PATH:
            return name_key(self.document.name)
        value = fields.get(self.document.fields, path)
        return None if value is None else sort_key(value)


class Record:
    """All that is known about one document name."""

    __slots__ = ("name", "versions")

    def __init__(self, name: DocumentName) -> None:
        self.name = name
        self.versions: list[Version] = []  # oldest first

    def at(self, time: datetime | None) -> Version | None:
        """Return the version living at that time (now: None), if any."""
        place = len(self.versions) if time is None else bisect_right(self.versions, time, key=lambda v: v.at)
        if not place or self.versions[place - 1].document is None:
            return None
        return self.versions[place - 1]

    def forget(self, before: datetime) -> None:
        """Drop the versions that no read after ``before`` can ask for."""
        place = bisect_right(self.versions, before, key=lambda v: v.at)
        kept = self.versions[max(place - 1, 0) :]
        self.versions = [] if len(kept) == 1 and kept[0].document is None else kept


def timestamp(time: datetime) -> Message:
    """Return the time as a message."""
    message = Timestamp()
    message.FromDatetime(time)
    return message


def time_of(message: Message) -> datetime:
    """Return the message's time, cut to microseconds."""
    return message.ToDatetime(tzinfo=UTC)  # type: ignore[no-any-return]
