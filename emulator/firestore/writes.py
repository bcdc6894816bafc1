"""Writes: what they may say, their preconditions, and what they make of a document."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from grpc import StatusCode

from emulator.firestore.documents import time_of, timestamp
from emulator.firestore.fields import masked
from emulator.firestore.limits import check_fields, check_size
from emulator.firestore.messages import Document, Message, WriteResult
from emulator.firestore.paths import NAME_PATH, DocumentName, FieldPath, document_name, field_path
from emulator.firestore.refusals import Refused, failed_precondition, invalid
from emulator.firestore.store import Database
from emulator.firestore.transforms import apply_transform, check_transforms


@dataclass(frozen=True)
class Write:
    """One write that is well formed."""

    message: Message
    name: DocumentName
    mask: tuple[FieldPath, ...] | None  # None: the document is replaced
    transforms: Sequence[Message]

    @property
    def deletes(self) -> bool:
        """Whether it deletes the document."""
        return bool(self.message.WhichOneof("operation") == "delete")


def read_write(message: Message, database: str) -> Write:
    """Check a write of a request. Raises Refused, INVALID_ARGUMENT."""
    match message.WhichOneof("operation"):
        case "update":
            name, transforms = message.update.name, message.update_transforms
            check_fields(message.update.fields)
        case "delete":
            name, transforms = message.delete, message.update_transforms
            if transforms:
                raise invalid("a delete must not specify a update transform.")
        case "transform":
            name, transforms = message.transform.document, message.transform.field_transforms
        case _:
            raise invalid("empty write operation")
    check_transforms(transforms)
    parts = document_name(name)
    if parts.database != database:
        raise invalid(f'Document name "{name}" is not in the database "{database}" of the request.')
    return Write(message, parts, _mask(message), transforms)


def _mask(message: Message) -> tuple[FieldPath, ...] | None:
    if message.WhichOneof("operation") == "transform":
        return ()
    if not message.HasField("update_mask"):
        return None
    paths = dict.fromkeys(field_path(path) for path in message.update_mask.field_paths)
    return tuple(path for path in paths if path != NAME_PATH)


class Commit:
    """Writes applied one after the other, before they are stored: ``changes`` is what they leave of each document.

    It may keep and change the messages of the writes.
    """

    def __init__(self, database: Database, now: datetime) -> None:
        self.database = database
        self.now = now
        self.timestamp = timestamp(now)
        self.changes: dict[DocumentName, Message | None] = {}
        self._transformed: list[tuple[DocumentName, list[Message]]] = []

    def apply(self, writes: Iterable[Write]) -> list[Message]:
        """Apply the writes; return a WriteResult for each. Raises Refused; then nothing of it may be stored."""
        for write in writes:
            self._apply(write)
        kept = {name for name, document in self.changes.items() if self._same(name, document)}
        results = [self._result(name, results, kept) for name, results in self._transformed]
        for name in kept:
            del self.changes[name]
        return results

    def _apply(self, write: Write) -> None:
        name = write.name
        current = self.changes[name] if name in self.changes else self.database.get(name)
        self._check_precondition(write, current)
        if write.deletes:
            self.changes[name] = None
            self._transformed.append((name, []))
            return
        new = self._merged(write, current)
        transformed = [apply_transform(new.fields, transform, self.now) for transform in write.transforms]
        check_size(new)
        self.changes[name] = new
        self._transformed.append((name, transformed))

    def _check_precondition(self, write: Write, current: Message | None) -> None:
        condition = write.message.current_document
        match condition.WhichOneof("condition_type"):
            case "exists":
                if condition.exists and current is None:
                    raise Refused(StatusCode.NOT_FOUND, f"No document to update: {write.name.text}")
                if not condition.exists and current is not None:
                    raise Refused(StatusCode.ALREADY_EXISTS, f"Document already exists: {write.name.text}")
            case "update_time":
                self._check_update_time(condition.update_time, current)
            case _:
                pass

    def _check_update_time(self, wanted: Message, current: Message | None) -> None:
        if time_of(wanted) > self.now:
            raise invalid("The required base version is in the future.")
        stored = 0 if current is None else current.update_time.ToMicroseconds()
        if stored != wanted.ToMicroseconds():
            raise failed_precondition(
                f"the stored version ({stored}) does not match the required base version ({wanted.ToMicroseconds()})"
            )

    def _merged(self, write: Write, current: Message | None) -> Message:
        created = self.timestamp if current is None else current.create_time
        if write.mask is None:
            new = write.message.update
        else:
            new = Document(name=write.name.text) if current is None else current  # a copy of the stored one, or ours
            masked(new.fields, write.message.update.fields, write.mask)
        new.create_time.CopyFrom(created)
        new.update_time.CopyFrom(self.timestamp)
        return new

    def _same(self, name: DocumentName, document: Message | None) -> bool:
        """Whether the commit leaves the document as it was; then it keeps its update time."""
        old = self.database.get(name)
        if old is None or document is None:
            return old is document
        old.update_time.CopyFrom(document.update_time)
        # As bytes also NaN is equal to itself, and -0.0 is not 0.0.
        return bool(old.SerializeToString(deterministic=True) == document.SerializeToString(deterministic=True))

    def _result(self, name: DocumentName, transformed: list[Message], kept: set[DocumentName]) -> Message:
        document = self.database.get(name) if name in kept else self.changes[name]
        result = WriteResult(transform_results=transformed)
        if document is not None:
            result.update_time.CopyFrom(document.update_time)
        return result
