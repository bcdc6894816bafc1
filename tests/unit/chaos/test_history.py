"""What became of one delivery, read from the file of a kept chaos."""

from datetime import timedelta
from pathlib import Path

import pytest

from emulator.chaos import history
from emulator.firestore.journal import Journal
from tests.samples import NOW
from tests.unit.chaos.test_watch import document, named


def test_each_commit_of_a_delivery_is_a_line_of_what_it_changed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = Journal(tmp_path / "documents")
    kept.commit(NOW, {named("deliveries/a"): document({"status": "pending", "wake_at": NOW, "attempt": 0})})
    kept.advance(timedelta(hours=1))
    kept.commit(NOW, {named("deliveries/b"): document({"status": "rejected"})})
    kept.commit(NOW, {named("deliveries/a"): document({"status": "accepted", "attempt": 0})})
    kept.commit(NOW, {named("deliveries/a"): None})
    history.main([str(tmp_path / "documents"), "a"])
    at = NOW.isoformat()
    first, second, third = capsys.readouterr().out.splitlines()
    assert first.startswith(at)
    assert "'status': 'pending'" in first
    assert second == f"{at} {{'status': 'accepted'}} without wake_at"
    assert third.startswith(f"{at} deleted")
