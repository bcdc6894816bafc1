"""Listening: a document, a query, and what changes."""

from queue import Queue
from typing import Any

from google.cloud.firestore import Client, FieldFilter

WAIT_SECONDS = 60


def test_a_listener_hears_of_what_is_there_and_of_each_change(client: Client) -> None:
    heard: Queue[list[tuple[str, str]]] = Queue()

    def on_snapshot(_: Any, changes: Any, __: Any) -> None:
        heard.put([(change.type.name, change.document.id) for change in changes])

    client.document("c/a").set({"open": True})
    query = client.collection("c").where(filter=FieldFilter("open", "==", True))
    watch = query.on_snapshot(on_snapshot)
    assert heard.get(timeout=WAIT_SECONDS) == [("ADDED", "a")]
    client.document("c/other").set({"open": False})
    client.document("c/b").set({"open": True})
    assert heard.get(timeout=WAIT_SECONDS) == [("ADDED", "b")]
    client.document("c/a").update({"note": "x"})
    assert heard.get(timeout=WAIT_SECONDS) == [("MODIFIED", "a")]
    client.document("c/a").update({"open": False})
    assert heard.get(timeout=WAIT_SECONDS) == [("REMOVED", "a")]
    client.document("c/b").delete()
    assert heard.get(timeout=WAIT_SECONDS) == [("REMOVED", "b")]
    watch.unsubscribe()  # type: ignore[no-untyped-call]


def test_a_document_can_be_listened_to_before_it_is_there(client: Client) -> None:
    heard: Queue[list[dict[str, Any]]] = Queue()
    watch = client.document("c/d").on_snapshot(lambda snapshots, *_: heard.put([s.to_dict() for s in snapshots]))
    assert heard.get(timeout=WAIT_SECONDS) == []
    client.document("c/d").set({"n": 1})
    assert heard.get(timeout=WAIT_SECONDS) == [{"n": 1}]
    watch.unsubscribe()  # type: ignore[no-untyped-call]
