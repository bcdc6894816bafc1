"""The embedded Firestore on a file: what it has answered is there after a kill -9, and nothing of what it has not."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from google.cloud import firestore

from emulator.firestore import Firestore, NotOfferedError, start

PROJECT = "kept"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A file that is not there yet."""
    return tmp_path / "firestore.data"


@pytest.fixture
def server(data: Path) -> Iterator[Firestore]:
    """A Firestore that keeps its documents in the file."""
    with start("embedded", data=data) as running:
        yield running


@pytest.fixture
def db(server: Firestore) -> firestore.Client:
    """A client of it, which outlives its restarts."""
    return server.client(PROJECT)


def everything(db: firestore.Client) -> dict[str, dict[str, object]]:
    return {found.reference.path: found.to_dict() or {} for found in db.collection_group("c").stream()}


def test_what_was_answered_is_there_after_a_kill(server: Firestore, db: firestore.Client) -> None:
    batch = db.batch()
    batch.set(db.document("c/ä"), {"text": "ü", "at": firestore.SERVER_TIMESTAMP, "raw": b"\n{}\n"})
    batch.set(db.document("c/a/c/below"), {"n": 1})
    batch.set(db.document("c/empty"), {})
    batch.commit()
    db.document("c/a/c/below").update({"n": firestore.Increment(2)})
    db.document("c/gone").set({})
    db.document("c/gone").delete()
    server.client("other").document("c/theirs").set({})
    before = everything(db)
    server.kill_and_restart()
    assert everything(db) == before
    assert before["c/a/c/below"] == {"n": 3}
    assert set(everything(server.client("other"))) == {"c/theirs"}


def test_a_precondition_from_before_a_kill_still_holds_after_it(server: Firestore, db: firestore.Client) -> None:
    reference = db.document("c/d")
    written = reference.set({"n": 1}).update_time
    server.kill_and_restart()
    assert reference.get().update_time == written
    reference.update({"n": 2}, option=db.write_option(last_update_time=written))
    assert reference.get().to_dict() == {"n": 2}


def test_the_past_is_there_after_a_kill(server: Firestore, db: firestore.Client) -> None:
    db.document("c/d").set({"n": 1})
    then = db.document("c/d").get().read_time
    db.document("c/d").set({"n": 2})
    server.kill_and_restart()
    assert (db.document("c/d").get(read_time=then).to_dict() or {})["n"] == 1


def test_time_does_not_go_back_over_a_kill(server: Firestore, db: firestore.Client) -> None:
    server.advance(timedelta(days=3))
    before = db.document("c/d").get().read_time
    server.kill_and_restart()
    assert db.document("c/d").get().read_time > before


def test_what_was_reset_stays_away(server: Firestore, db: firestore.Client) -> None:
    db.document("c/d").set({})
    server.client("other").document("c/d").set({})
    server.reset(PROJECT)
    server.kill_and_restart()
    assert everything(db) == {}
    assert set(everything(server.client("other"))) == {"c/d"}


@pytest.mark.parametrize("missing", [1, 30, 10_000])
def test_a_commit_that_was_only_half_written_is_none(missing: int, data: Path) -> None:
    """It was never answered. What comes after it is whole again."""
    with start("embedded", data=data) as running:
        running.client(PROJECT).document("c/whole").set({"n": 1})
        size = data.stat().st_size
        running.client(PROJECT).document("c/half").set({"text": "x" * 10_000})
    with data.open("r+b") as file:
        file.truncate(max(size + 1, data.stat().st_size - missing))
    for number in range(2):
        with start("embedded", data=data) as running:
            db = running.client(PROJECT)
            assert set(everything(db)) == {"c/whole"} | ({"c/after"} if number else set())
            db.document("c/after").set({})


def test_without_a_file_a_restart_begins_with_nothing() -> None:
    with start("embedded") as running:
        running.client(PROJECT).document("c/d").set({})
        running.kill_and_restart()
        assert everything(running.client(PROJECT)) == {}


def test_somebody_elses_is_not_restarted(monkeypatch: pytest.MonkeyPatch, server: Firestore) -> None:
    monkeypatch.setenv("FIRESTORE_EMULATOR_HOST", server.host)
    with start() as joined, pytest.raises(NotOfferedError, match="external"):
        joined.kill_and_restart()
