"""A document's versions of the last hour, and the keys of their fields."""

from bisect import bisect_right
from collections.abc import Sequence
from datetime import UTC, datetime

from emulator.firestore import fields
from emulator.firestore.messages import Document, Message, Timestamp
from emulator.firestore.paths import NAME_PATH, DocumentName, FieldPath
from emulator.firestore.values import Key, name_key, sort_key

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Version:
    """A document as one commit left it; never changed afterwards.

    It is kept as bytes, a tenth of the message's size in memory; ``raw`` None: the document was deleted.
    """

    __slots__ = ("_keys", "at", "name", "raw")

    def __init__(self, name: DocumentName, at: datetime, document: Message | None) -> None:
        self.name = name
        self.at = at
        self.raw: bytes | None = None if document is None else document.SerializeToString()
        self._keys: dict[FieldPath, Key | None] = {}

    @property
    def living(self) -> bool:
        """Whether there is a document."""
        return self.raw is not None

    def document(self) -> Message:
        """Return the document, as a message of the caller's own. Only for a living version."""
        return Document.FromString(self.raw)

    def key(self, path: FieldPath) -> Key | None:
        """Return the key of the field's value, None when there is no such field. Only for a living version."""
        try:
            return self._keys[path]
        except KeyError:
            return self.keys((path,))[0]

    def keys(self, paths: Sequence[FieldPath]) -> tuple[Key | None, ...]:
        """Return the keys of several fields."""
        unknown = [path for path in paths if path not in self._keys]
        if unknown:
            document = self.document()
            for path in unknown:
                self._keys[path] = _key(document, path)
        return tuple(self._keys[path] for path in paths)


class Record:
    """All that is known about one document name."""

    __slots__ = ("versions",)

    def __init__(self) -> None:
        self.versions: list[Version] = []  # oldest first

    def at(self, time: datetime | None) -> Version | None:
        """Return the version living at that time (now: None), if any."""
        place = len(self.versions) if time is None else bisect_right(self.versions, time, key=_time)
        version = self.versions[place - 1] if place else None
        return version if version and version.living else None

    def forget(self, before: datetime) -> None:
        """Drop the versions that no read after ``before`` can ask for."""
        place = bisect_right(self.versions, before, key=_time)
        kept = self.versions[max(place - 1, 0) :]
        self.versions = [] if len(kept) == 1 and not kept[0].living else kept


def timestamp(time: datetime) -> Message:
    """Return the time as a message."""
    since = time - EPOCH  # by hand, because FromDatetime takes ten times as long
    return Timestamp(seconds=since.days * 86400 + since.seconds, nanos=since.microseconds * 1000)


def time_of(message: Message) -> datetime:
    """Return the message's time, cut to microseconds."""
    return message.ToDatetime(tzinfo=UTC)  # type: ignore[no-any-return]


def _time(version: Version) -> datetime:
    return version.at


def _key(document: Message, path: FieldPath) -> Key | None:
    if path == NAME_PATH:
        return name_key(document.name)
    value = fields.get(document.fields, path)
    return None if value is None else sort_key(value)
