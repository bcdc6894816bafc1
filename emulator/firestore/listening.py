"""The Listen RPC, kept simple: each change is found by asking again, and a resumed target is sent anew."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from datetime import datetime

from google.cloud.firestore_v1 import types

from emulator.firestore.documents import timestamp
from emulator.firestore.messages import ListenResponse, Message, TargetChange
from emulator.firestore.paths import document_name, parent_database, project_of
from emulator.firestore.queries import Plan
from emulator.firestore.realm import Realm
from emulator.firestore.refusals import invalid

ListenRequest = types.ListenRequest.pb()
NO_CHANGE, ADD, REMOVE, CURRENT, RESET = range(5)
Found = dict[str, Message]


async def listen(realm: Realm, requests: AsyncIterator[bytes]) -> AsyncIterator[Message]:
    """Answer the targets that the requests add with their documents, and with what changes. Raises Refused."""
    wake, inbox = asyncio.Event(), deque[Message]()
    reader = asyncio.create_task(_read(requests, inbox, wake))
    realm.listeners.add(wake)
    targets: dict[int, Target] = {}
    try:
        while not reader.done() or inbox:
            await wake.wait()
            wake.clear()
            while inbox:
                for response in _requested(realm, targets, inbox.popleft()):
                    yield response
            for response in _news(realm, list(targets.values())):
                yield response
    finally:
        realm.listeners.discard(wake)
        reader.cancel()


async def _read(requests: AsyncIterator[bytes], inbox: deque[Message], wake: asyncio.Event) -> None:
    try:
        async for raw in requests:
            inbox.append(ListenRequest.FromString(raw))
            wake.set()
    finally:
        wake.set()


def _requested(realm: Realm, targets: "dict[int, Target]", request: Message) -> Iterator[Message]:
    """Add or remove a target."""
    if request.WhichOneof("target_change") == "remove_target":
        targets.pop(request.remove_target, None)
        yield _change(REMOVE, [request.remove_target])
        return
    added = request.add_target
    targets[added.target_id] = target = Target(realm, request.database, added)
    yield _change(ADD, [added.target_id])
    if added.WhichOneof("resume_type"):
        yield _change(RESET, [added.target_id])
    yield from target.news()
    yield _change(CURRENT, [added.target_id], realm.clock.now())
    yield _change(NO_CHANGE, [], realm.clock.now())


def _news(realm: Realm, targets: "list[Target]") -> Iterator[Message]:
    responses = [response for target in targets for response in target.news()]
    yield from responses
    if responses:
        yield _change(NO_CHANGE, [], realm.clock.now())


class Target:
    """What one target has been told so far."""

    def __init__(self, realm: Realm, database: str, message: Message) -> None:
        self._realm = realm
        self._id = message.target_id
        self._told: Found | None = None
        self._find = _finder(realm, database, message)

    def news(self) -> Iterator[Message]:
        """Yield what has changed since the last call, and at the first call everything."""
        told, found = self._told or {}, self._find()
        self._told = found
        for name in told.keys() - found.keys():
            yield self._gone(name)
        for name, document in found.items():
            if name not in told or told[name].update_time != document.update_time:
                parts = document_name(name)
                self._realm.meter.count(project_of(name), "Listen", parts.collection_id, reads=1)
                yield ListenResponse(document_change={"document": document, "target_ids": [self._id]})

    def _gone(self, name: str) -> Message:
        parts, now = document_name(name), timestamp(self._realm.clock.now())
        gone = {"document": name, "removed_target_ids": [self._id], "read_time": now}
        if self._realm.tenant(parts.database).documents.get(parts) is None:
            return ListenResponse(document_delete=gone)
        return ListenResponse(document_remove=gone)


def _finder(realm: Realm, database: str, message: Message) -> Callable[[], Found]:
    """Return what finds a target's documents."""
    match message.WhichOneof("target_type"):
        case "documents":
            names = [document_name(name) for name in message.documents.documents]
            return lambda: {
                name.text: document
                for name in names
                if (document := realm.tenant(database).documents.get(name)) is not None
            }
        case "query":
            query = message.query.structured_query
            plan = Plan.of(message.query.parent, query)
            realm.check_index(query, message.query.parent)
            owner = parent_database(message.query.parent)
            return lambda: {v.name.text: v.document() for v in plan.run(realm.tenant(owner).documents, None)[0]}
        case _:
            raise invalid("a target needs documents or a query")


def _change(kind: int, target_ids: list[int], time: datetime | None = None) -> Message:
    """Return a target change; with a time it is a state of all documents at that time."""
    change = TargetChange(target_change_type=kind, target_ids=target_ids)
    if time is not None:
        change.read_time.CopyFrom(timestamp(time))
        change.resume_token = str(time.timestamp()).encode()
    return ListenResponse(target_change=change)
